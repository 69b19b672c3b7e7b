/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pads the vocabulary for matrix products. With a size such as 50257, rows of the output projection and its two backward
 * products are not aligned to 16 bytes. Such products cannot use the fast path of the tensor cores (cuBLAS
 * documentation, "Tensor Core Usage"). They are computed with the next multiple of 64 instead: the weight and its
 * gradient are allocated with extra rows, which are and stay zero.
 * The softmax uses only the vocabulary and writes zero gradients after it, so the extra rows change no result. They are
 * not part of any shape: updates, norms, checkpoints and counted flops are those of the model.
 */
#include "runtime/pass/rewrite.h"

#define FAST_BYTES  16
#define SIDE_FACTOR 64

static bool by_tensor_cores(const struct rt_plan *p, const struct rt_call *c)
{
	return c->in[0]->dtype != RT_F32 || p->opt->precision.tf32;
}

/* Returns whether w is a parameter or its reduced-precision copy. The rows after other tensors contain arbitrary values. */
static bool keeps_zeros(const struct rt_node *w)
{
	return w->role == RT_ROLE_PARAM || w->role == RT_ROLE_STATE;
}

static int pad(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	if (!p->target->wide_rows || p->opt->debug.no_pad)
		return 0;
	for (int i = rt_next(p, 0, RT_OP_LINEAR_CROSS_ENTROPY); i >= 0; i = rt_next(p, i + 1, RT_OP_LINEAR_CROSS_ENTROPY)) {
		struct rt_call *c = p->ir.calls[i];
		int64_t rows, room;

		if (!by_tensor_cores(p, c) || !keeps_zeros(c->in[1]))
			continue;
		rows = c->in[1]->shape.d[0];
		if (rows * (int64_t)rt_dtype_bytes(c->in[0]->dtype) % FAST_BYTES == 0)
			continue;
		room = (rows + SIDE_FACTOR - 1) / SIDE_FACTOR * SIDE_FACTOR;
		c->attr.padded_cols = c->in[1]->padded_rows = room;
		if (c->out[2])
			c->out[2]->padded_rows = room;
		gt_buf_printf(did, "%s: %lld rows padded to %lld, %.2f %% more work", c->in[1]->name, (long long)rows,
			      (long long)room, 100.0 * (double)(room - rows) / (double)rows);
	}
	return 0;
}

const struct rt_pass rt_pass_pad = { .name = "pad", .run = pad };
