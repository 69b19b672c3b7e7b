/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include "bench/train/prune.h"
#include "lib/parse.h"

#define STEPS	16 /* number of steps of the gradual schedule */

int bn_prune_parse(const char *text, struct bn_pruning *ret, struct gt_err *err)
{
	struct bn_pruning p = { .use = text != NULL, .how = RT_UNSTRUCTURED };

	if (gt_streq(text, "2:4"))
		p.how = RT_2_OF_4;
	else if (text && (gt_parse_double(text, &p.fraction) < 0 || !(p.fraction > 0 && p.fraction < 1)))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "--prune %s: it takes a fraction of the weights between 0 and 1, such as 0.5, or 2:4", text);
	*ret = p;
	return 0;
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
