/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"

int gt_parse_u64(const char *s, uint64_t *ret)
{
	char *end;
	unsigned long long v;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = v;
	return 0;
}

int gt_parse_i64(const char *s, int64_t *ret)
{
	bool negative = *s == '-';
	uint64_t v;
	int r = gt_parse_u64(s + negative, &v);

	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX + negative)
		return -ERANGE;
	*ret = negative ? (int64_t)(0 - v) : (int64_t)v;
	return 0;
}

int gt_parse_hex(const char *s, uint64_t *ret)
{
	char *end;
	unsigned long long v;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	if (!isxdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 16);
	if (*end)
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = v;
	return 0;
}

int gt_parse_double(const char *s, double *ret)
{
	static locale_t c_locale;
	char *end;
	double v;

	if (!c_locale)
		c_locale = newlocale(LC_ALL_MASK, "C", 0);
	if (!*s || isspace((unsigned char)*s))
		return -EINVAL;
	v = c_locale ? strtod_l(s, &end, c_locale) : strtod(s, &end);
	if (end == s || *end)
		return -EINVAL;
	if (!isfinite(v))
		return -ERANGE;
	*ret = v;
	return 0;
}

int gt_parse_size(const char *s, uint64_t *ret_bytes)
{
	static const char units[] = "KMGTPE";
	size_t digits = strspn(s, "0123456789");
	gt_autofree char *number = gt_xstrndup(s, digits);
	const char *unit = s + digits, *at;
	unsigned shift = 0;
	uint64_t v;
	int r;

	r = gt_parse_u64(number, &v);
	if (r < 0)
		return r;
	if (*unit && *unit != 'B') {
		at = strchr(units, toupper((unsigned char)*unit));
		if (!at)
			return -EINVAL;
		shift = 10 * (unsigned)(at - units + 1);
		unit++;
		if (*unit == 'i')
			unit++;
	}
	if (*unit == 'B')
		unit++;
	if (*unit)
		return -EINVAL;
	if (shift && v > UINT64_MAX >> shift)
		return -ERANGE;
	*ret_bytes = v << shift;
	return 0;
}

int gt_version_cmp(const char *a, const char *b)
{
	while (*a || *b) {
		unsigned long x = strtoul(a, (char **)&a, 10), y = strtoul(b, (char **)&b, 10);

		if (x != y)
			return x < y ? -1 : 1;
		if (*a && *a != '.')
			a = "";
		if (*b && *b != '.')
			b = "";
		a += *a == '.';
		b += *b == '.';
	}
	return 0;
}

static void set_grow(struct gt_set *s, size_t words)
{
	if (words <= s->nw)
		return;
	s->w = gt_xrealloc(s->w, words * sizeof(*s->w));
	memset(s->w + s->nw, 0, (words - s->nw) * sizeof(*s->w));
	s->nw = words;
}

void gt_set_add(struct gt_set *s, unsigned bit)
{
	set_grow(s, bit / 64 + 1);
	s->w[bit / 64] |= UINT64_C(1) << bit % 64;
}

void gt_set_del(struct gt_set *s, unsigned bit)
{
	if (bit / 64 < s->nw)
		s->w[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

bool gt_set_has(const struct gt_set *s, unsigned bit)
{
	return bit / 64 < s->nw && s->w[bit / 64] >> bit % 64 & 1;
}

unsigned gt_set_count(const struct gt_set *s)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->nw; i++)
		n += (unsigned)__builtin_popcountll(s->w[i]);
	return n;
}

int gt_set_next(const struct gt_set *s, int after)
{
	size_t bit = (size_t)(after + 1);

	for (size_t i = bit / 64; i < s->nw; i++) {
		uint64_t w = s->w[i];

		if (i == bit / 64)
			w &= ~UINT64_C(0) << bit % 64;
		if (w)
			return (int)(i * 64 + (size_t)__builtin_ctzll(w));
	}
	return -1;
}

void gt_set_copy(struct gt_set *dst, const struct gt_set *src)
{
	struct gt_set copy = { 0 };

	set_grow(&copy, src->nw);
	if (src->nw)
		memcpy(copy.w, src->w, src->nw * sizeof(*src->w));
	gt_set_clear(dst);
	*dst = copy;
}

void gt_set_and(struct gt_set *dst, const struct gt_set *src)
{
	for (size_t i = 0; i < dst->nw; i++)
		dst->w[i] &= i < src->nw ? src->w[i] : 0;
}

void gt_set_or(struct gt_set *dst, const struct gt_set *src)
{
	set_grow(dst, src->nw);
	for (size_t i = 0; i < src->nw; i++)
		dst->w[i] |= src->w[i];
}

bool gt_set_equal(const struct gt_set *a, const struct gt_set *b)
{
	for (size_t i = 0; i < GT_MAX(a->nw, b->nw); i++)
		if ((i < a->nw ? a->w[i] : 0) != (i < b->nw ? b->w[i] : 0))
			return false;
	return true;
}

char *gt_set_format(const struct gt_set *s)
{
	struct gt_buf b = { 0 };

	for (int i = gt_set_next(s, -1); i >= 0;) {
		int last = i;

		while (gt_set_has(s, (unsigned)last + 1))
			last++;
		gt_buf_printf(&b, last > i ? "%s%d-%d" : "%s%d", b.len ? "," : "", i, last);
		i = gt_set_next(s, last);
	}
	return gt_buf_take(&b);
}

void gt_set_clear(struct gt_set *s)
{
	free(s->w);
	*s = (struct gt_set){ 0 };
}

static int number_at(const char **s, unsigned *ret)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	v = strtoul(*s, &end, 10);
	if (v >= GT_SET_MAX)
		return -ERANGE;
	*s = end;
	*ret = (unsigned)v;
	return 0;
}

/* Parses one range of the kernel's list format: N, N-M or N-M:USED/GROUP (the first USED of every GROUP). */
static int add_range(const char **s, struct gt_set *set)
{
	unsigned lo, hi, used = 1, group = 1;
	int r;

	r = number_at(s, &lo);
	if (r < 0)
		return r;
	hi = lo;
	if (**s == '-') {
		(*s)++;
		r = number_at(s, &hi);
		if (r < 0)
			return r;
	}
	if (**s == ':') {
		(*s)++;
		r = number_at(s, &used);
		if (r < 0)
			return r;
		if (*(*s)++ != '/')
			return -EINVAL;
		r = number_at(s, &group);
		if (r < 0)
			return r;
	}
	if (hi < lo || !group || used > group)
		return -EINVAL;
	for (unsigned i = lo; i <= hi; i++)
		if ((i - lo) % group < used)
			gt_set_add(set, i);
	return 0;
}

int gt_parse_cpulist(const char *s, struct gt_set *ret)
{
	gt_auto_set set = { 0 };
	int r;

	while (*s && *s != '\n') {
		r = add_range(&s, &set);
		if (r < 0)
			return r;
		if (*s == ',' && isdigit((unsigned char)s[1]))
			s++;
		else if (*s && *s != '\n')
			return -EINVAL;
	}
	if (*s == '\n' && s[1])
		return -EINVAL;
	gt_set_clear(ret);
	*ret = set;
	set = (struct gt_set){ 0 };
	return 0;
}

int gt_parse_cpumask(const char *s, struct gt_set *ret)
{
	gt_auto_set set = { 0 };
	size_t len = strcspn(s, "\n");
	unsigned bit = 0;

	if (!len || s[len + (s[len] == '\n')])
		return -EINVAL;
	for (size_t i = len; i-- > 0;) {
		int digit;

		if (s[i] == ',')
			continue;
		if (!isxdigit((unsigned char)s[i]))
			return -EINVAL;
		digit = isdigit((unsigned char)s[i]) ? s[i] - '0' : tolower((unsigned char)s[i]) - 'a' + 10;
		if (digit && bit + 4 > GT_SET_MAX)
			return -ERANGE;
		for (int k = 0; k < 4; k++)
			if (digit >> k & 1)
				gt_set_add(&set, bit + (unsigned)k);
		bit += 4;
	}
	gt_set_clear(ret);
	*ret = set;
	set = (struct gt_set){ 0 };
	return 0;
}
