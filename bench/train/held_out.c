/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/train/run.h"

#define HELD_OUT_BATCHES	4

/* Computes the loss on held-out batches, the same ones each time, weighted by tokens. All data parallel ranks have the
 * same parameters, so the first one does it, with the ranks that split its model. */
int bn_train_held_out(struct bn_training *r, double *ret, struct gt_err *err)
{
	gt_auto(rt_loader) *l = NULL;
	double sum = 0, weights = 0;
	int status;

	*ret = NAN;
	if (!r->data.train || r->data_rank > 0)
		return 0;
	status = bn_train_data_part(r->model, &r->o, RT_PART_HELD_OUT, r->rows, &l, err);
	if (status)
		return status;
	for (uint64_t i = 0; i < HELD_OUT_BATCHES; i++) {
		struct rt_batch b;
		double loss, weight;

		status = rt_loader_next(l, &b, err);
		if (status)
			return status;
		if (r->o.documents)
			rt_use_shape(r->program, b.length);
		status = rt_eval(r->program, (const void *[]){ b.x, b.y }, &loss, err);
		if (status)
			return status;
		weight = r->o.documents ? (double)b.tokens : 1;
		weights += weight;
		sum += loss * weight;
	}
	*ret = sum / weights;
	return 0;
}
