/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_DDP_PIPELINE_H
#define RT_DDP_PIPELINE_H
/* Messages between the stages of a pipeline. */
#include "lib/json.h"
#include "runtime/pass/pipeline.h"
#include "runtime/runtime.h"

struct rt_pipeline;
/* The stage and the options must outlive the pipeline. Collective over the stages. */
int rt_pipeline_new(const struct rt_options *opt, const struct rt_stage *stage, struct rt_pipeline **ret, struct gt_err *err);
void rt_pipeline_free(struct rt_pipeline *l);
uint64_t rt_pipeline_bytes(const struct rt_pipeline *l); /* size of the pipeline's window */
/* Send or receive a tensor through queue `queue`. */
int rt_pipeline_send(struct rt_pipeline *l, int queue, const void *data, struct gt_err *err);
int rt_pipeline_receive(struct rt_pipeline *l, int queue, void *data, struct gt_err *err);
/* Returns the bytes that a call sends to another stage. */
double rt_pipeline_call_bytes(const struct rt_stage *s, const struct rt_call *c);
/* Send or receive any number of bytes, in chunks. */
int rt_pipeline_give(struct rt_pipeline *l, int to, const void *data, uint64_t bytes, struct gt_err *err);
int rt_pipeline_take(struct rt_pipeline *l, int from, void *data, uint64_t bytes, struct gt_err *err);
/* x (n) += x of the other stage. out, in: the queues of chunks to and from it. */
int rt_pipeline_add(struct rt_pipeline *l, int out, int in, float *x, int64_t n, struct gt_err *err);
/* Counts bytes that a backend sent itself. */
void rt_pipeline_count(struct rt_pipeline *l, double bytes);
/* Sets *x to the last stage's *x, or to the sum over all stages. Waits for all stages. */
int rt_pipeline_last(struct rt_pipeline *l, double *x, struct gt_err *err);
int rt_pipeline_sum(struct rt_pipeline *l, double *x, struct gt_err *err);
/* Marks the start of the first batch of an update, and the end of the last backward pass of all stages. counted: the
 * update is part of the report. */
void rt_pipeline_begin(struct rt_pipeline *l);
void rt_pipeline_end(struct rt_pipeline *l, bool counted);
/*
 * { "stages", "stage", "schedule", "microbatches", "in_flight", "window_bytes", "work_share": of this stage,
 *   "updates": counted, "span_s": from the first batch to the end of the backward passes, mean per update,
 *   "waited_s": part of it in which this stage waited for others and copied messages, "sent_bytes": per update }
 */
json_t *rt_pipeline_report(const struct rt_pipeline *l);
#endif
