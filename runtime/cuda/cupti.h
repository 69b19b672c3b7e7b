/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_CUPTI_H
#define RT_CUDA_CUPTI_H
/*
 * Records which kernels, copies and fills ran on the device, by CUPTI's Activity API. Each record has times of the
 * device's clock and the call that launched it. Only one tracer can exist in a process, because CUPTI allows one
 * profiler.
 */
#include <stdint.h>
#include "lib/err.h"

struct rt_cupti_record {
	int call;	  /* argument of rt_cupti_begin(); -1: none */
	uint32_t stream;
	const char *name; /* the kernel's name, or "copy to the device" …; valid as long as the tracer */
	uint64_t start, end; /* ns, CUPTI's clock */
	uint64_t bytes;	  /* size of a copy or fill */
};
struct rt_cupti;
/* driver: CUDA version of the driver, from rt_cuda_driver_version(). -ENOENT: no library. -EPERM: not permitted.
 * -EBUSY: another profiler uses the device. -ENOSYS, -EIO: CUPTI's own error. */
int rt_cupti_open(int driver, struct rt_cupti **ret, struct gt_err *err);
void rt_cupti_close(struct rt_cupti *c);
unsigned rt_cupti_version(const struct rt_cupti *c);
/* Launches of this thread between begin and end belong to `call`, which is >= 0. */
int rt_cupti_begin(struct rt_cupti *c, int call, struct gt_err *err);
int rt_cupti_end(struct rt_cupti *c, struct gt_err *err);
/* Discards the records since the last call. The device must be idle. */
int rt_cupti_drop(struct rt_cupti *c, struct gt_err *err);
/* Returns the records since the last call, sorted by start. The device must be idle. *ret_now is CUPTI's clock at
 * gt_now_s() == *ret_at. The records are valid until the next call. -EOVERFLOW: CUPTI lost records. */
int rt_cupti_take(struct rt_cupti *c, const struct rt_cupti_record **ret, size_t *ret_n, uint64_t *ret_now, double *ret_at,
		  struct gt_err *err);
#endif
