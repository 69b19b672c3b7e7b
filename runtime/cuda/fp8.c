/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding to 8 bits with scales in device memory. pass/fp8.c emits the calls. */
#include <math.h>
#include "runtime/cuda/kernel/fp8.h"
#include "runtime/cuda/launch.h"

#define THREADS 256

void rt_fp8_open(struct rt_program *p)
{
	struct rt_engine *e = p->state;

	for (int i = 0; i < p->plan.ir.n_calls; i++)
		if (rt_is(p->plan.ir.calls[i], RT_OP_SCALES8))
			e->s->scales = p->plan.ir.calls[i]->in[0];
	e->fp8_history = p->opt.precision.fp8.history;
	e->fp8_factor = ldexpf(1, -p->opt.precision.fp8.margin);
}

static cu_ptr slot_at(const struct rt_engine *e, int slot, int word)
{
	return rt_at(e->s->scales) + sizeof(float) * (cu_ptr)(slot * (RT_FP8_HEAD + e->fp8_history) + word);
}

cu_ptr rt_fp8_inverse(const struct rt_engine *e, const struct rt_node *n)
{
	return n->dtype == RT_E4M3 || n->dtype == RT_E5M2 ? slot_at(e, n->slot, RT_FP8_INVERSE) : 0;
}

/* Computes the largest absolute value of x only; y and t are not written. */
static void record_amax(struct rt_engine *e, const struct rt_node *x, cu_ptr slot, unsigned gx, unsigned gy, int64_t rows,
			int64_t cols)
{
	struct gt_err err = {0};
	cu_ptr none = 0, from = rt_at(x);
	int e5m2 = 0, record = 1;

	if (!e->r)
		rt_launch_result(e,
				 rt_engine_check(e, e->dev->d.fill_async(slot + RT_FP8_AMAX * sizeof(float), 0, sizeof(float),
									 e->stream), "cuMemsetD8Async", &err), &err);
	RT_LAUNCH(e, typed(RT_K_cast8, x), gx, gy, THREADS, 1, 0, &none, &none, &from, &slot, &rows, &cols, &e5m2,
		  &record);
}

static void run_cast8(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	int64_t rows = rt_rows(x), cols = rt_cols(x);
	unsigned gx = (unsigned)((cols + RT_FP8_TILE - 1) / RT_FP8_TILE), gy = (unsigned)((rows + RT_FP8_TILE - 1) / RT_FP8_TILE);
	int e5m2 = (c->out[0] ? c->out[0] : c->out[1])->dtype == RT_E5M2, record = !e->eval, history = e->fp8_history;
	float most = e5m2 ? RT_FP8_MOST_E5M2 : RT_FP8_MOST_E4M3, factor = e->fp8_factor;
	cu_ptr y = rt_at(c->out[0]), t = rt_at(c->out[1]), from = rt_at(x), slot = slot_at(e, c->attr.slot, 0);

	if (e->initial_scales) {
		record_amax(e, x, slot, gx, gy, rows, cols);
		RT_LAUNCH(e, RT_K_fp8_begin, 1, 1, 32, 1, 0, &slot, &history, &most, &factor);
	}
	RT_LAUNCH(e, typed(RT_K_cast8, x), gx, gy, THREADS, 1, 0, &y, &t, &from, &slot, &rows, &cols, &e5m2, &record);
}

const struct rt_cuda_kernel rt_cuda_cast8 = { .run = run_cast8 };

static void run_scales8(struct rt_engine *e, const struct rt_call *c)
{
	cu_ptr table = rt_at(e->s->scales);
	int history = e->fp8_history;
	float factor = e->fp8_factor;

	if (!e->eval && !e->initial_scales)
		RT_LAUNCH(e, RT_K_fp8_renew, c->in[0]->shape.d[0], 1, 32, 1, 0, &table, &history, &factor);
}

const struct rt_cuda_kernel rt_cuda_scales8 = { .run = run_scales8 };
