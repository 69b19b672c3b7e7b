/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_CUPTI_H
#define RT_CUDA_CUPTI_H
/*
 * What ran on the device and when, by CUPTI's Activity API: each kernel, copy and fill with the card's own clock, and which call
 * launched it. One tracer at a time in a process; CUPTI itself allows one profiler.
 */
#include <stdint.h>
#include "lib/err.h"

struct rt_cupti_record {
	int call;	  /* what was said to rt_cupti_begin; -1: none */
	uint32_t stream;
	const char *name; /* the kernel's, or "copy to the device" …; lives as long as the tracer */
	uint64_t start, end; /* ns, CUPTI's clock */
	uint64_t bytes;	  /* of copies and fills */
};
struct rt_cupti;
/* driver: the CUDA version that it carries, as rt_cuda_driver_version() says it.
 * -ENOENT: no library; -EPERM: not allowed here; -EBUSY: another profiler has the device; -ENOSYS, -EIO: what CUPTI says. */
int rt_cupti_open(int driver, struct rt_cupti **ret, struct gt_err *err);
void rt_cupti_close(struct rt_cupti *c);
unsigned rt_cupti_version(const struct rt_cupti *c);
/* What this thread launches between them belongs to `call`, 0 or more. */
int rt_cupti_begin(struct rt_cupti *c, int call, struct gt_err *err);
int rt_cupti_end(struct rt_cupti *c, struct gt_err *err);
/* All that has run since the last time is forgotten; the device is idle. */
int rt_cupti_drop(struct rt_cupti *c, struct gt_err *err);
/* All that has run since then, by start; the device is idle. *ret_now is CUPTI's clock when gt_now_s() was *ret_at. The records
 * are valid until the next call. -EOVERFLOW: CUPTI had no room for some. */
int rt_cupti_take(struct rt_cupti *c, const struct rt_cupti_record **ret, size_t *ret_n, uint64_t *ret_now, double *ret_at,
		  struct gt_err *err);
#endif
