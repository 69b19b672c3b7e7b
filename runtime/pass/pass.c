/* SPDX-License-Identifier: Apache-2.0 */
/* The list of passes. */
#include "runtime/pass/pass.h"

const struct rt_pass *const rt_passes[] = {
	&rt_pass_prune, &rt_pass_tensor, &rt_pass_sequence, &rt_pass_pipeline, &rt_pass_infer, &rt_pass_batchnorm,
	&rt_pass_fuse, &rt_pass_mask, &rt_pass_qat, &rt_pass_quantize, &rt_pass_fuse_int8, &rt_pass_autodiff,
	&rt_pass_replicate, &rt_pass_gelu, &rt_pass_pixels, &rt_pass_amp, &rt_pass_checkpoint, &rt_pass_accumulate,
	&rt_pass_stages, &rt_pass_gradients, &rt_pass_update, &rt_pass_fp8, &rt_pass_narrow, &rt_pass_pad, &rt_pass_winograd,
	&rt_pass_shard, &rt_pass_bucket, &rt_pass_schedule, &rt_pass_memplan, NULL,
};

bool rt_plan_is_output(const struct rt_plan *p, const struct rt_node *n)
{
	for (int i = 0; i < p->n_outputs; i++)
		if (p->outputs[i] == n)
			return true;
	return false;
}

bool rt_plan_trains(const struct rt_plan *p)
{
	return p->opt->optimizer.kind != RT_NO_OPTIMIZER || p->opt->debug.keep_gradients;
}
