/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/train/evaluate.h"
#include "bench/train/train_data.h"

#define HELD_OUT_BATCHES	16

/* Adds the loss of one row of n logits, and 1 to the accuracy if its largest logit is that of the target. */
static void add_row(struct bn_score *s, const float *x, int64_t n, int32_t target)
{
	double sum = 0;
	int64_t best = 0;

	for (int64_t i = 1; i < n; i++)
		best = x[i] > x[best] ? i : best;
	for (int64_t i = 0; i < n; i++)
		sum += exp((double)x[i] - (double)x[best]);
	s->loss += log(sum) + (double)x[best] - (double)x[target];
	s->accuracy += best == target;
}

int bn_evaluate(const struct bn_model *m, const struct bn_train_options *o, struct rt_program *const *programs, float **logits,
		int n, struct bn_score *ret, int64_t *ret_rows, struct gt_err *err)
{
	const struct rt_shape *shape = rt_program_output_shape(programs[0], 0);
	int64_t classes = shape->d[shape->n - 1], rows = rt_shape_elements(shape) / classes;
	gt_auto(rt_loader) *l = NULL;
	int r = bn_train_data_part(m, o, RT_PART_HELD_OUT, o->batch, &l, err);

	for (int k = 0; k < n; k++)
		ret[k] = (struct bn_score){ 0 };
	for (int i = 0; !r && i < HELD_OUT_BATCHES; i++) {
		struct rt_batch b;

		r = rt_loader_next(l, &b, err);
		for (int k = 0; !r && k < n; k++) {
			r = rt_run(programs[k], (const void *[]){ b.x, NULL }, &logits[k], err);
			for (int64_t row = 0; !r && row < rows; row++)
				add_row(&ret[k], logits[k] + row * classes, classes, b.y[row]);
		}
	}
	*ret_rows = rows * HELD_OUT_BATCHES;
	for (int k = 0; k < n; k++) {
		ret[k].loss /= (double)*ret_rows;
		ret[k].accuracy /= (double)*ret_rows;
	}
	return r;
}
