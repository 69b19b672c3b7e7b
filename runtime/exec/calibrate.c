/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of activations for static INT8 products. */
#include <errno.h>
#include <string.h>
#include "runtime/exec/program.h"
#include "runtime/math/histogram.h"

void rt_ranges_free(struct rt_ranges *r)
{
	if (!r)
		return;
	for (int i = 0; i < r->n; i++)
		free(r->range[i].name);
	free(r->range);
	free(r);
}

static int add_range(struct rt_ranges *to, const struct rt_node *n, enum rt_calibration method, double percentile,
		     struct gt_err *err)
{
	const struct rt_histogram *h = n->data;
	struct rt_range *r = &to->range[to->n];

	if (!(h->total > 0) && h->bad == 0)
		return gt_fail(err, EINVAL, "no batch was run: a calibration needs at least one");
	if (h->bad > 0)
		return gt_fail(err, EDOM, "%s: %.0f values are not finite", n->name, (double)h->bad);
	rt_histogram_range(h, method, percentile, &r->lo, &r->hi);
	r->name = gt_xstrdup(n->name);
	to->n++;
	return 0;
}

int rt_calibrate(const struct rt_program *p, enum rt_calibration method, double percentile, struct rt_ranges **ret,
		 struct gt_err *err)
{
	gt_auto(rt_ranges) *to = gt_xcalloc(1, sizeof(*to));

	if (p->opt.precision.int8 != RT_INT8_OBSERVE)
		return gt_fail(err, EINVAL, "the program does not observe its activations");
	if (method < RT_CALIBRATE_MINMAX || method > RT_CALIBRATE_ENTROPY)
		return gt_fail(err, EINVAL, "calibration method %d: 0 to %d are supported", (int)method, RT_CALIBRATE_ENTROPY);
	if (method == RT_CALIBRATE_PERCENTILE && !(percentile > 50 && percentile <= 100))
		return gt_fail(err, EINVAL, "a percentile of %g: it must be above 50 and at most 100", percentile);
	to->range = gt_xcalloc((size_t)p->plan.ir.n_calls + 1, sizeof(*to->range));
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		int r = c->op->observes ? add_range(to, c->out[0], method, percentile, err) : 0;

		if (r)
			return r;
	}
	*ret = gt_take(to);
	return 0;
}
