/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_RESIDUAL_CUH
#define RT_CUDA_RESIDUAL_CUH
/*
 * What compression lost of earlier gradients: rt_ddp_set_unit() and rt_ddp_settle() of runtime/ddp/ddp.c on the device, where the
 * loss scale and the fate of an update are known without the host. One thread each.
 */
#include "common.cuh"
#include "runtime/cuda/kernel/residual.h"
#include "runtime/cuda/kernel/update.h"

/* Floats from the first place to the one that counts, and to the one that is written. */
RT_DEVICE int64_t kept_before(struct rt_coding_kept kept, int64_t stride)
{
	return kept.which ? stride : 0;
}

RT_DEVICE int64_t kept_after(struct rt_coding_kept kept, int64_t stride)
{
	return kept.which ? 0 : stride;
}

RT_DEVICE double kept_unit(const struct rt_update_step *h)
{
	return 1 / (double)h->grad_scale;
}

/* Before the first bucket of an update. */
RT_KERNEL rt_kept_begin(struct rt_coding_kept *kept, const struct rt_update_step *h)
{
	kept->of_lost = kept->unit > 0 ? (float)(kept_unit(h) / kept->unit) : 1;
}

/* Behind the last, once it is known whether the update is done; norm: of the gradients, or null. two: places. */
RT_KERNEL rt_kept_settle(struct rt_coding_kept *kept, const struct rt_update_step *h, const float *norm, const float *loss, int two)
{
	if (!isfinite(*loss) || (norm && !isfinite(norm[0])))
		return;
	kept->unit = kept_unit(h);
	kept->which ^= two;
}
#endif
