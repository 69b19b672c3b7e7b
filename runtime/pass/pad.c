/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vocabulary such as 50257 gives the output projection and its two backward products a side whose rows do not start on 16
 * bytes, and such products leave the fast path of the tensor cores (cuBLAS documentation, "Tensor Core Usage"). They are made
 * with the next multiple of 64 instead: the weight and its gradient have room for the rows that are missing, which are zeros
 * and stay zeros. The softmax looks at the vocabulary alone and writes zero gradients behind it, so that these rows win nothing
 * and move nothing. They belong to no shape: updates, norms, checkpoints and counted flops are the model's.
 */
#include "runtime/pass/rewrite.h"

#define FAST_BYTES  16
#define SIDE_FACTOR 64

static bool by_tensor_cores(const struct rt_plan *p, const struct rt_call *c)
{
	return c->in[0]->dtype != RT_F32 || p->opt->precision.tf32;
}

/* A parameter, or its copy in a low type: one that is computed, or comes with the batch, has anything behind its rows. */
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
		c->attr.room = c->in[1]->room = room;
		if (c->out[2])
			c->out[2]->room = room;
		gt_buf_printf(did, "%s of %lld rows multiplied as %lld, %.2f %% more work", c->in[1]->name, (long long)rows,
			      (long long)room, 100.0 * (double)(room - rows) / (double)rows);
	}
	return 0;
}

const struct rt_pass rt_pass_pad = { .name = "pad", .run = pad };
