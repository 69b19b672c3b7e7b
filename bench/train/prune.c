/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/train/prune.h"
#include "lib/parse.h"

#define STEPS	16 /* number of steps of the gradual schedule */

static const char *const unit_names[RT_UNIT_KINDS] = {
	[RT_UNIT_HEADS] = "heads", [RT_UNIT_NEURONS] = "neurons", [RT_UNIT_CHANNELS] = "channels",
};

const char *bn_unit_name(enum rt_unit_kind kind)
{
	return unit_names[kind];
}

/* Parses "heads:1". Returns false if it is something else. */
static bool parse_units(const char *text, struct bn_pruning *p)
{
	const char *colon = strchr(text, ':');

	for (int k = 0; colon && k < RT_UNIT_KINDS; k++)
		if (strlen(unit_names[k]) == (size_t)(colon - text) && gt_starts_with(text, unit_names[k]))
			return !(p->remove[k] > 0) && gt_parse_double(colon + 1, &p->remove[k]) >= 0 && p->remove[k] > 0 &&
			       (p->remove[k] < 1 || p->remove[k] == floor(p->remove[k]));
	return false;
}

static bool parse_list(const char *text, struct bn_pruning *p)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *save = NULL;

	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (!parse_units(word, p))
			return false;
		p->structured = true;
	}
	return p->structured;
}

int bn_prune_parse(const char *text, struct bn_pruning *ret, struct gt_err *err)
{
	struct bn_pruning p = { .how = RT_UNSTRUCTURED };

	if (gt_streq(text, "2:4"))
		p.how = RT_2_OF_4;
	else if (text && !parse_list(text, &p) && (gt_parse_double(text, &p.fraction) < 0 || !(p.fraction > 0 && p.fraction < 1)))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--prune %s: it takes a fraction of the weights such as 0.5, or 2:4, or units of each layer "
				    "such as heads:1,neurons:0.5", text);
	p.use = text && !p.structured;
	*ret = p;
	return 0;
}

int bn_prune_check_units(const struct bn_pruning *p, const struct rt_graph *g, struct gt_err *err)
{
	gt_auto(rt_units) *units = NULL;
	int r = rt_graph_units(g, &units, err);

	for (int k = 0; !r && k < RT_UNIT_KINDS; k++)
		r = p->remove[k] > 0 ? gt_fail_as(err, GT_EXIT_USAGE, rt_check_units(units, k, p->remove[k], err)) : 0;
	return r;
}

int bn_prune(const struct bn_pruning *p, struct rt_program *program, uint64_t done, uint64_t total, struct gt_err *err)
{
	uint64_t begin = total / 4, end = GT_MAX(3 * total / 4, begin + 1), every = GT_MAX((end - begin) / STEPS, 1);
	double left;

	if (!p->use || done < begin || done > end || ((done - begin) % every && done != end))
		return 0;
	if (p->how == RT_2_OF_4)
		return gt_fail_as(err, GT_EXIT_USAGE, rt_prune(program, RT_2_OF_4, 0, err));
	left = pow(1 - (double)(done - begin) / (double)(end - begin), 3);
	return rt_prune(program, RT_UNSTRUCTURED, p->fraction + (p->start - p->fraction) * left, err);
}
