/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/compat/require.h"

enum answer { NO, YES, UNKNOWN };

static int broken(struct gt_err *err, const char *condition)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
			    "\"%.100s\" is not a condition of NVIDIA_REQUIRE_CUDA: expected cuda, driver, arch or brand, an "
			    "operator and a value",
			    condition);
}

static bool holds(int order, const char *op)
{
	if (!strcmp(op, "="))
		return !order;
	if (!strcmp(op, "!="))
		return order;
	if (!strcmp(op, "<"))
		return order < 0;
	if (!strcmp(op, "<="))
		return order <= 0;
	return !strcmp(op, ">") ? order > 0 : order >= 0;
}

/* Evaluates one condition. Returns YES, NO, UNKNOWN or -EINVAL. */
static int judge(const char *condition, const struct pr_require_facts *facts, struct gt_err *err)
{
	const struct {
		const char *key, *value;
	} known[] = {{"cuda", facts->cuda}, {"driver", facts->driver}, {"arch", facts->arch}, {"brand", facts->brand}};
	size_t key = strcspn(condition, "=!<>"), ops = strspn(condition + key, "=!<>");
	const char *value = condition + key + ops;
	gt_autofree char *op = gt_xstrndup(condition + key, ops);

	if ((ops != 1 && (ops != 2 || op[1] != '=' || op[0] == '=')) || (ops == 1 && *op == '!') || !*value)
		return broken(err, condition);
	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++) {
		bool words = i == 3;

		if (strlen(known[i].key) != key || strncmp(known[i].key, condition, key))
			continue;
		if (words ? strcmp(op, "=") && strcmp(op, "!=") : !isdigit((unsigned char)*value))
			return broken(err, condition);
		if (!known[i].value)
			return UNKNOWN;
		return holds(words ? strcasecmp(known[i].value, value) : gt_version_cmp(known[i].value, value), op);
	}
	return broken(err, condition);
}

/* Evaluates comma-joined conditions. *ret_why is the first one that fails. */
static int judge_all(const char *alternative, const struct pr_require_facts *facts, char **ret_why, struct gt_err *err)
{
	int all = YES;

	gt_each_word(one, alternative, ",") {
		int r = judge(one, facts, err);

		if (r < 0)
			return r;
		if (r == NO && all != NO)
			*ret_why = gt_xstrdup(one);
		all = r == NO || all == NO ? NO : r == UNKNOWN ? UNKNOWN : all;
	}
	return all;
}

int pr_require(const char *expression, const struct pr_require_facts *facts, char **ret_why, bool *ret_unknown,
	       struct gt_err *err)
{
	gt_autofree char *first = NULL;
	int best = NO, n = 0;

	gt_each_word(alternative, expression, " \t") {
		gt_autofree char *why = NULL;
		int r = judge_all(alternative, facts, &why, err);

		if (r < 0)
			return r;
		best = r == YES || best == YES ? YES : r == UNKNOWN ? UNKNOWN : best;
		if (!first)
			first = gt_take(why);
		n++;
	}
	*ret_unknown = n && best == UNKNOWN;
	if (n && best == NO)
		*ret_why = gt_take(first);
	return !n || best == YES;
}
