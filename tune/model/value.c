/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"

static char *squeeze(const char *line)
{
	gt_auto_buf b = { 0 };

	for (const char *p = line; *p;) {
		size_t n = strcspn(p, " \t");

		if (n && b.len)
			gt_buf_puts(&b, " ");
		gt_buf_add(&b, p, n);
		p += n;
		p += strspn(p, " \t");
	}
	return gt_buf_take(&b);
}

int tn_value_read(struct gt_fsroot *fs, const char *path, char **ret)
{
	gt_autofree char *line = NULL;
	const char *open, *close;
	int r = tn_setting_read(fs, path, &line);

	if (r < 0)
		return r;
	open = strchr(line, '[');
	close = open ? strchr(open, ']') : NULL;
	*ret = close ? gt_xstrndup(open + 1, (size_t)(close - open - 1)) : squeeze(line);
	return 0;
}

bool tn_value_equal(const char *a, const char *b)
{
	gt_autofree char *x = a ? squeeze(a) : NULL, *y = b ? squeeze(b) : NULL;
	int64_t i, j;

	return x && y && (!strcmp(x, y) || (!gt_parse_i64(x, &i) && !gt_parse_i64(y, &j) && i == j));
}

int tn_value_number(const char *s, int64_t *ret)
{
	int r = gt_parse_i64(s, ret);

	if (r != -ERANGE || *s == '-')
		return r;
	*ret = INT64_MAX;
	return 0;
}

struct numbers {
	const char *text[8]; /* text of each number; keeps numbers that exceed int64_t */
	int64_t value[8];
	size_t n; /* 0: no list of numbers */
};

/* Cuts text, which has single blanks, into m. */
static void read_numbers(char *text, struct numbers *m)
{
	for (char *one; (one = strsep(&text, " ")); m->n++) {
		if (m->n == GT_ARRAY_SIZE(m->text) || tn_value_number(one, &m->value[m->n]) < 0) {
			m->n = 0;
			return;
		}
		m->text[m->n] = one;
	}
}

static bool reaches(enum tn_op op, int64_t a, int64_t b)
{
	return op == TN_RAISE ? a >= b : a <= b;
}

bool tn_value_reaches(enum tn_op op, const char *a, const char *b)
{
	gt_autofree char *left = a ? squeeze(a) : NULL, *right = b ? squeeze(b) : NULL;
	struct numbers l = { 0 }, r = { 0 };
	bool all;

	read_numbers(left, &l);
	read_numbers(right, &r);
	all = op != TN_SET && l.n && l.n == r.n;
	for (size_t i = 0; all && i < l.n; i++)
		all = reaches(op, l.value[i], r.value[i]);
	return all;
}

char *tn_value_further(enum tn_op op, const char *a, const char *b)
{
	gt_autofree char *left = a ? squeeze(a) : NULL, *right = b ? squeeze(b) : NULL;
	struct numbers l = { 0 }, r = { 0 };
	gt_auto_buf both = { 0 };

	read_numbers(left, &l);
	read_numbers(right, &r);
	if (op == TN_SET || !l.n || l.n != r.n)
		return NULL;
	for (size_t i = 0; i < l.n; i++)
		gt_buf_printf(&both, "%s%s", i ? " " : "", reaches(op, l.value[i], r.value[i]) ? l.text[i] : r.text[i]);
	return gt_buf_take(&both);
}

bool tn_offers(const char *line, const char *word)
{
	for (const char *p = line; p && *p;) {
		size_t n = strcspn(p, " []");

		if (n == strlen(word) && !strncmp(p, word, n))
			return true;
		p += n ? n : 1;
	}
	return false;
}
