/* SPDX-License-Identifier: Apache-2.0 */
/* Removes calls that no output depends on. */
#include "runtime/pass/rewrite.h"

static int prune(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	bool *needed = gt_xcalloc((size_t)p->ir.n_nodes, sizeof(*needed));
	int dropped = 0;

	for (int i = 0; i < p->n_outputs; i++)
		needed[p->outputs[i]->id] = true;
	for (int i = p->ir.n_calls - 1; i >= 0; i--) {
		struct rt_call *c = p->ir.calls[i];
		bool live = false;

		for (int k = 0; k < RT_MAX_IO; k++)
			live |= c->out[k] && needed[c->out[k]->id];
		for (int k = 0; live && k < RT_MAX_IO; k++)
			if (c->in[k])
				needed[c->in[k]->id] = true;
		if (!live) {
			rt_plan_remove(p, i);
			dropped++;
		}
	}
	free(needed);
	if (dropped)
		gt_buf_printf(did, "removed %d calls that %s not depend on", dropped,
			      p->loss && p->n_outputs == 1 ? "the loss does" : "the outputs do");
	return 0;
}

const struct rt_pass rt_pass_prune = { .name = "prune", .run = prune };
