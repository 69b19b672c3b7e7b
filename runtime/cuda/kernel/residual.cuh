/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_RESIDUAL_CUH
#define RT_CUDA_RESIDUAL_CUH
/*
 * Error feedback of compressed gradients: rt_ddp_set_unit() and rt_ddp_settle() of runtime/ddp/reduce.c on the device,
 * where the loss scale and the result of an update are known without the host. One thread each.
 */
#include "common.cuh"
#include "runtime/cuda/kernel/residual.h"
#include "runtime/cuda/kernel/update.h"

/* Return the offset in floats of the current copy, and of the copy to write. */
RT_DEVICE int64_t residual_current(struct rt_residual_state state, int64_t stride)
{
	return state.which ? stride : 0;
}

RT_DEVICE int64_t residual_next(struct rt_residual_state state, int64_t stride)
{
	return state.which ? 0 : stride;
}

RT_DEVICE double residual_unit(const struct rt_update_step *h)
{
	return 1 / (double)h->grad_scale;
}

/* Called before the first bucket of an update. */
RT_KERNEL rt_kept_begin(struct rt_residual_state *state, const struct rt_update_step *h)
{
	state->factor = state->unit > 0 ? (float)(residual_unit(h) / state->unit) : 1;
}

/* Called after the last bucket, when it is known whether the update takes place. norm: of the gradients, or null. two:
 * there are two copies. */
RT_KERNEL rt_kept_settle(struct rt_residual_state *state, const struct rt_update_step *h, const float *norm, const float *loss,
			 int two)
{
	if (!isfinite(*loss) || (norm && !isfinite(norm[0])))
		return;
	state->unit = residual_unit(h);
	state->which ^= two;
}
#endif
