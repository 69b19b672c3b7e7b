/* SPDX-License-Identifier: Apache-2.0 */
/* The list of passes, and the moves that they share. */
#include <string.h>
#include "runtime/pass/pass.h"

const struct rt_pass *const rt_passes[] = {
	&rt_pass_prune, &rt_pass_infer, &rt_pass_batchnorm, &rt_pass_fuse, &rt_pass_autodiff, &rt_pass_gelu, &rt_pass_pixels,
	&rt_pass_amp, &rt_pass_checkpoint, &rt_pass_accumulate, &rt_pass_gradients, &rt_pass_update, &rt_pass_fp8, &rt_pass_narrow,
	&rt_pass_pad, &rt_pass_winograd, &rt_pass_shard, &rt_pass_bucket, &rt_pass_memplan, NULL,
};

void rt_plan_remove(struct rt_plan *p, int i)
{
	free(p->ir.calls[i]);
	memmove(p->ir.calls + i, p->ir.calls + i + 1, (size_t)(p->ir.n_calls - i - 1) * sizeof(*p->ir.calls));
	p->ir.n_calls--;
}

void rt_plan_insert(struct rt_plan *p, int i, struct rt_call *c)
{
	struct rt_call *slot = rt_ir_call(&p->ir, c->op->id, NULL);

	free(slot);
	memmove(p->ir.calls + i + 1, p->ir.calls + i, (size_t)(p->ir.n_calls - 1 - i) * sizeof(*p->ir.calls));
	p->ir.calls[i] = c;
}

int rt_plan_uses(const struct rt_plan *p, const struct rt_node *n)
{
	int uses = n == p->loss;

	for (int i = 0; i < p->ir.n_calls; i++)
		uses += rt_reads(p->ir.calls[i], n);
	return uses;
}

bool rt_plan_trains(const struct rt_plan *p)
{
	return p->opt->optimizer.kind != RT_NO_OPTIMIZER || p->opt->debug.keep_gradients;
}
