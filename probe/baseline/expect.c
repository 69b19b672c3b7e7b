/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/parse.h"
#include "probe/baseline/baseline.h"
#include "probe/baseline/baseline_priv.h"

/* ---- comparison with expectations ----------------------------------------------------------------------------- */

struct expectation {
	char *path, *value;
	const char *op;
};

static int parse_expectation(char *line, struct expectation *ret)
{
	static const char *const operators[] = {">=", "<=", "!=", "=", ">", "<"};
	char *at = strpbrk(line, "<>=!");

	*ret = (struct expectation){0};
	for (size_t i = 0; at && i < GT_ARRAY_SIZE(operators) && !ret->op; i++)
		if (gt_starts_with(at, operators[i]))
			ret->op = operators[i];
	if (!ret->op)
		return -EINVAL;
	ret->value = gt_strip(at + strlen(ret->op));
	*at = '\0';
	ret->path = gt_strip(line);
	return *ret->path && *ret->value && !strpbrk(ret->path, " \t") ? 0 : -EINVAL;
}

/* Returns 1 if the expectation is met, 0 if not, -EINVAL if the two values cannot be ordered. */
static int is_met(const struct pr_value *v, const struct expectation *e)
{
	double x = strtod(v->text, NULL), y;
	uint64_t bytes;

	if (!strcmp(e->op, "=") || !strcmp(e->op, "!="))
		return pr_glob(e->value, v->text) == (*e->op == '=');
	if (gt_parse_double(e->value, &y) < 0) {
		if (gt_parse_size(e->value, &bytes) < 0) {
			int order = gt_version_cmp(v->text, e->value);

			if (!strchr("0123456789", *v->text) || !strchr("0123456789", *e->value))
				return -EINVAL;
			return *e->op == '>' ? order > 0 || (e->op[1] && !order) : order < 0 || (e->op[1] && !order);
		}
		y = (double)bytes;
	}
	if (!v->number) {
		int order = gt_version_cmp(v->text, e->value);

		return *e->op == '>' ? order > 0 || (e->op[1] && !order) : order < 0 || (e->op[1] && !order);
	}
	return *e->op == '>' ? x > y || (e->op[1] && x == y) : x < y || (e->op[1] && x == y);
}

/*
 * Returns whether the list is part of the report's format. If a host has no GPU, "gpus[*].name" is a missing device,
 * while "gpsu" is a mistake in the file.
 */
static bool is_known_list(const struct pr_values *v, const char *path)
{
	gt_autofree char *list = gt_xstrndup(path, strcspn(path, "["));

	return strchr(path, '[') && pr_values_find(v, list);
}

static int expect(struct pr_comparison *c, const struct expectation *e, const char *where, unsigned line,
		  struct gt_err *err)
{
	gt_autofree char *expected =
		gt_xasprintf("%s%s%s", strcmp(e->op, "=") ? e->op : "", strcmp(e->op, "=") ? " " : "", e->value);
	enum pr_grade g = pr_is_hardware(e->path) || pr_glob("gpus*", e->path) ? PR_GRADE_CRITICAL : PR_GRADE_WARNING;
	size_t n_matched = 0;

	for (size_t i = 0; i < c->here.n; i++) {
		const struct pr_value *v = &c->here.v[i];
		int met;

		if (!pr_glob(e->path, v->path) || (strchr(e->path, '*') && v->count))
			continue;
		n_matched++;
		c->compared++;
		met = v->state ? 0 : is_met(v, e);
		if (met < 0)
			return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
					    "%s:%u: %s is '%s', which cannot be ordered relative to '%s'", where, line,
					    v->path, v->text, e->value);
		if (!met)
			pr_baseline_differ(c, v->state ? PR_GRADE_UNKNOWN : g, v->path, v->text, expected);
	}
	if (!n_matched && !is_known_list(&c->here, e->path))
		return gt_fail_exit(
			err, GT_EXIT_USAGE, EINVAL,
			"%s:%u: reports have no value '%s'; gpuprobe --json lists them under \"host\"", where,
			line, e->path);
	if (!n_matched)
		pr_baseline_differ(c, g, e->path, NULL, expected);
	return 0;
}

struct ini {
	struct pr_comparison *c;
	struct gt_strv *allow;
	const char *name;
	enum { TOP, EXPECT, ALLOW } section;
	bool apply;           /* second pass, because [allow] may follow [expect] */
	struct gt_strv named; /* paths that an expectation names */
};

static int take_line(struct ini *ini, char *line, unsigned number, struct gt_err *err)
{
	gt_autofree char *whole = gt_xstrdup(line);
	struct expectation e;

	if (!*line || *line == '#')
		return 0;
	if (*line == '[') {
		ini->section = !strcmp(line, "[expect]") ? EXPECT : !strcmp(line, "[allow]") ? ALLOW : TOP;
		return ini->section ? 0
				    : gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
						   "%s:%u: expected [expect] or [allow], not %.80s", ini->name,
						   number, line);
	}
	if (ini->section == ALLOW && !strpbrk(line, " \t=")) {
		if (!ini->apply)
			gt_strv_add(ini->allow, line);
		return 0;
	}
	if (ini->section != EXPECT || parse_expectation(line, &e) < 0)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s:%u: expected %s, not '%.80s'", ini->name, number,
				    ini->section == ALLOW    ? "a path pattern"
				    : ini->section == EXPECT ? "PATH OPERATOR VALUE with one of = != >= <= > <"
							     : "a section, [expect] or [allow]",
				    whole);
	gt_strv_add(&ini->named, e.path);
	return ini->apply ? expect(ini->c, &e, ini->name, number, err) : 0;
}

static int take_lines(struct ini *ini, const char *text, struct gt_err *err)
{
	unsigned number = 1;
	int r = 0;

	ini->section = TOP;
	for (text += strcspn(text, "\n"); r >= 0 && *text; text += strcspn(text, "\n")) {
		gt_autofree char *line = gt_xstrndup(text + 1, strcspn(text + 1, "\n"));

		text++;
		r = take_line(ini, gt_strip(line), ++number, err);
	}
	return r;
}

static bool is_named(const struct ini *ini, const char *path)
{
	for (size_t i = 0; i < ini->named.n; i++)
		if (pr_glob(ini->named.v[i], path))
			return true;
	return false;
}

int pr_baseline_expect(const json_t *report, const char *text, const char *name, const struct gt_strv *allow,
		       json_t **ret, struct gt_err *err)
{
	struct pr_comparison c;
	gt_auto_strv all = {0};
	gt_auto_json *doc = NULL;
	struct ini ini = {.c = &c, .allow = &all, .name = name};
	int r;

	gt_strv_add_all(&all, allow);
	pr_baseline_start(&c, report, &all);
	r = take_lines(&ini, text, err);
	ini.apply = true;
	if (r >= 0)
		r = take_lines(&ini, text, err);
	for (size_t i = 0; r >= 0 && i < c.here.n;
	     i++) { /* a failed check counts as a difference unless it is expected */
		const char *path = c.here.v[i].path;
		enum pr_grade g = gt_starts_with(path, "check.") ? pr_grade_of_check(c.here.v[i].text) : PR_GRADE_SAME;

		if ((g == PR_GRADE_WARNING || g == PR_GRADE_CRITICAL) && !is_named(&ini, path))
			pr_baseline_differ(&c, g, c.here.v[i].path, c.here.v[i].text, "pass");
	}
	gt_strv_clear(&ini.named);
	doc = pr_baseline_finish(&c, "expectations");
	if (r >= 0)
		*ret = gt_take(doc);
	return r;
}
