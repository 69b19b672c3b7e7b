/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what the kernel stores for a text written to a parameter: proc_get_long of kernel/sysctl.c and the loops
 * around it, equal from 6.1 to 6.18. tests/peers writes such texts and reads the results. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "sysctl/sysctl.h"

#define BLANKS	" \t\n"		/* bytes that may follow a number */
#define SPACES	BLANKS "\v\f\r" /* bytes that may precede a number */
#define LONGEST 20		/* characters; a longer number is refused whatever its value */

struct number {
	bool negative;
	uint64_t abs;
};

/* Reads a number like C (0x10, 010), without a leading +. *p moves past it. */
static int read_number(const char **p, struct number *ret)
{
	const char *s = *p + (**p == '-');
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && isxdigit((unsigned char)s[2]);
	uint64_t v;
	char *end;

	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, hex ? 16 : *s == '0' ? 8 : 10);
	if (end - *p > LONGEST || !strchr(BLANKS, *end))
		return -EINVAL;
	if (errno)
		return -ERANGE;
	*ret = (struct number){ **p == '-' && v, v };
	*p = end;
	return 0;
}

static bool in_range(const struct sc_key *k, struct number v)
{
	if (v.negative)
		return k->min < 0 && v.abs <= 0 - (uint64_t)k->min;
	return v.abs <= k->max && (k->min < 0 || v.abs >= (uint64_t)k->min);
}

static int refuse(const struct sc_key *k, const char *word, int r, struct gt_err *err)
{
	int n = (int)strcspn(word, BLANKS);

	if (r == -ERANGE)
		return gt_fail(err, ERANGE, "%s takes %ld to %lu, not %.*s", k->name, k->min, k->max, GT_MIN(n, 40), word);
	return gt_fail(err, EINVAL, "%s takes whole numbers, not '%.*s'", k->name, GT_MIN(n, 40), word);
}

static int read_numbers(const struct sc_key *k, const char **text, struct gt_buf *b, struct gt_err *err)
{
	for (unsigned n = 0; n < k->fields; n++) {
		const char *word = *text += strspn(*text, SPACES);
		struct number v;
		int r;

		if (!*word && n) /* the other numbers stay unchanged */
			break;
		r = read_number(text, &v);
		if (!r && (!in_range(k, v) || (k->type == SC_UNSIGNED && *word == '-')))
			r = -ERANGE;
		if (r < 0)
			return refuse(k, word, r, err);
		gt_buf_printf(b, "%s%s%lu", n ? " " : "", v.negative ? "-" : "", v.abs);
	}
	*text += strspn(*text, SPACES);
	return 0;
}

int sc_read_value(const char *key, const char *text, char **ret, const char **ret_rest, struct gt_err *err)
{
	const struct sc_key *k = sc_key_find(key);
	gt_auto_buf b = { 0 };
	const char *rest = text;
	int r = 0;

	if (k) {
		r = read_numbers(k, &rest, &b, err);
	} else {
		gt_buf_puts(&b, text);
		rest += strlen(text);
	}
	if (r < 0)
		return r;
	*ret = gt_buf_take(&b);
	if (ret_rest)
		*ret_rest = rest;
	return 0;
}

char *sc_taken(const char *key, const char *text)
{
	char *taken;

	return sc_read_value(key, text, &taken, NULL, NULL) < 0 ? gt_xstrdup(text) : taken;
}

bool sc_takes_nonzero(const char *key, const char *text)
{
	gt_autofree char *taken = NULL;

	return sc_read_value(key, text, &taken, NULL, NULL) >= 0 && strcmp(taken, "0");
}

/* Returns the next word of *p, or NULL; *p moves past it. The caller frees it. */
static char *next_word(const char **p)
{
	const char *start = *p + strspn(*p, BLANKS);
	size_t n = strcspn(start, BLANKS);

	*p = start + n;
	return n ? gt_xstrndup(start, n) : NULL;
}

static bool same_word(const char *a, const char *b)
{
	struct number x, y;

	return !strcmp(a, b) ||
	       (!read_number(&a, &x) && !read_number(&b, &y) && x.abs == y.abs && x.negative == y.negative);
}

bool sc_value_equal(const char *key, const char *a, const char *b)
{
	gt_autofree char *taken_a = sc_taken(key, a), *taken_b = sc_taken(key, b);
	const char *p = taken_a, *q = taken_b;

	for (;;) {
		gt_autofree char *x = next_word(&p), *y = next_word(&q);

		if (!x || !y)
			return !x && !y;
		if (!same_word(x, y))
			return false;
	}
}

static unsigned count_words(const char *text)
{
	unsigned n = 0;

	for (char *word; (word = next_word(&text)); n++)
		free(word);
	return n;
}

int sc_check_value(const char *key, const char *value, struct gt_err *err)
{
	const struct sc_key *k = sc_key_find(key);
	gt_autofree char *taken = NULL;
	const char *p = value, *q;
	int r;

	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t')
			return gt_fail(err, EINVAL, "%s: the value contains a control character", key);
	if (!k)
		return 0;
	r = sc_read_value(key, value, &taken, NULL, err);
	if (r < 0)
		return r;
	if (count_words(value) != k->fields)
		return gt_fail(err, EINVAL, "%s takes %u number%s, not %u", key, k->fields, k->fields == 1 ? "" : "s",
			       count_words(value));
	q = taken;
	for (unsigned n = 0; n < k->fields; n++) {
		gt_autofree char *word = next_word(&p), *decimal = next_word(&q);

		if (strcmp(word, decimal))
			return gt_fail(err, EINVAL, "%s: the kernel reads '%s' as %s: write that", key, word, decimal);
	}
	return 0;
}
