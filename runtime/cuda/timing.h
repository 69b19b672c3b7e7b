/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_TIMING_H
#define RT_CUDA_TIMING_H
/*
 * Measures when each call of a step ran on the device: by CUPTI (cupti.h), which records every kernel, or else by
 * events around each call. Nothing waits before the step is enqueued. Programs that are not timed do none of this, and
 * their captured graphs contain no events.
 */
#include "runtime/cuda/driver.h"
#include "runtime/backend/program.h"

struct rt_timing;
struct rt_timing *rt_timing_new(struct rt_cuda *dev, int calls); /* calls: the most in a step */
void rt_timing_free(struct rt_timing *t);
/* Starts a timed step. Work enqueued before is excluded; the device must be idle. */
int rt_timing_start(struct rt_timing *t, struct gt_err *err);
int rt_timing_begin(struct rt_timing *t, int call, cu_stream stream, struct gt_err *err);
int rt_timing_end(struct rt_timing *t, cu_stream stream, struct gt_err *err);
/* Between begin and end: adds bytes to the next launch of a kernel. */
void rt_timing_moves(struct rt_timing *t, const char *kernel, double bytes);
/* Waits for the device. Sets the seconds of calls (struct rt_call) and kernels (struct rt_kernel) in profiled steps,
 * and p's events. t0: start of the step. */
int rt_timing_collect(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, double t0, struct gt_err *err);
/* "timed_by": { "how": "CUPTI 26" or "events", "why": reason against CUPTI } */
void rt_timing_report(const struct rt_timing *t, json_t *doc);
#endif
