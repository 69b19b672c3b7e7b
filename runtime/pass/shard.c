/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sharded update (ZeRO stage 1): each rank of a node updates its piece of every parameter and writes the new values
 * to the other ranks. It keeps the optimizer state of that piece only. Parameters and state are in the window that the
 * ranks map. Nothing is copied, and a checkpoint can read the pieces of all ranks. If no whole gradient is needed, a
 * rank adds the gradients of its piece in the same pass over memory (cpu/op_update.c).
 */
#include "runtime/graph/update.h"
#include "runtime/pass/bucket.h"
#include "runtime/pass/pass.h"

static void cut(struct rt_node *state, int64_t unit, int team)
{
	int64_t units = (rt_shape_elements(&state->shape) + unit - 1) / unit;

	state->whole = state->shape;
	state->piece_unit = unit;
	state->shape = RT_SHAPE((units + team - 1) / team * unit);
}

static int shard(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	uint64_t all = 0, piece = 0;
	char full_size[32], piece_size[32];

	if (!p->ranks || !p->ranks->team)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (c->phase != RT_PHASE_UPDATE)
			continue;
		for (int k = 1; k < RT_MAX_IO; k++) {
			if (!c->out[k])
				continue;
			all += rt_node_bytes(c->out[k]);
			/* scales: one per unit of the parameter */
			cut(c->out[k], rt_shape_elements(&c->out[k]->shape) == rt_shape_elements(&c->out[0]->shape) ?
					       RT_PIECE_UNIT : 1, p->ranks->team);
			piece += rt_node_bytes(c->out[k]);
		}
	}
	gt_format_bytes(full_size, sizeof(full_size), all);
	gt_format_bytes(piece_size, sizeof(piece_size), piece);
	gt_buf_printf(did, "each rank updates 1/%d of the parameters and keeps %s of %s of optimizer state",
		      p->ranks->team, piece_size, full_size);
	return 0;
}

const struct rt_pass rt_pass_shard = { .name = "shard", .run = shard };
