/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_TIMING_H
#define RT_CUDA_TIMING_H
/*
 * When each call of a step ran on the device: by CUPTI (cupti.h), which sees every kernel, or where that cannot be had by events
 * round each call. Nothing waits before the step is enqueued. A program that is not timed has none of this, and its captured
 * graphs no events.
 */
#include "runtime/cuda/driver.h"
#include "runtime/backend/program.h"

struct rt_timing;
struct rt_timing *rt_timing_new(struct rt_cuda *dev, int calls); /* at most so many in a step */
void rt_timing_free(struct rt_timing *t);
/* What ran before, and left the device idle, is of no step that is timed. */
int rt_timing_start(struct rt_timing *t, struct gt_err *err);
int rt_timing_begin(struct rt_timing *t, int call, cu_stream stream, struct gt_err *err);
int rt_timing_end(struct rt_timing *t, cu_stream stream, struct gt_err *err);
/* Between them: a kernel that is launched counts so many bytes as its own. */
void rt_timing_moves(struct rt_timing *t, const char *kernel, double bytes);
/* Wait for them; seconds of calls (struct rt_call) and kernels (struct rt_kernel) in steps that are profiled, and p's events.
 * t0: when the step began. */
int rt_timing_collect(struct rt_timing *t, struct rt_program *p, const struct rt_run *run, double t0, struct gt_err *err);
/* "timed_by": { "how": "CUPTI 26" or "events", "why": why not by CUPTI } */
void rt_timing_report(const struct rt_timing *t, json_t *doc);
#endif
