/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices this build and this machine have. */
#include <stdio.h>
#include "runtime/cuda/cuda.h"
#include "runtime/runtime.h"

int rt_backends(struct rt_backend_info ret[RT_BACKENDS])
{
	struct rt_cuda *cuda = NULL;
	struct gt_err err = { 0 };

	ret[0] = (struct rt_backend_info){ .device = RT_CPU, .name = "cpu", .available = true };
	ret[1] = (struct rt_backend_info){ .device = RT_CUDA, .name = "cuda" };
	if (rt_cuda_open(&cuda, &err) < 0) {
		snprintf(ret[1].reason, sizeof(ret[1].reason), "%.511s", err.msg);
	} else {
		ret[1].available = true;
		rt_cuda_close(cuda);
	}
	return RT_BACKENDS;
}
