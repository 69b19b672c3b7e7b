/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_ENGINE_H
#define RT_CUDA_ENGINE_H
/*
 * A program on a CUDA device. The plan, the calls and their order are the CPU's; here are the memory (one allocation), the
 * launches, and the captured graphs that a step replays: forward, and backward with the update. The host waits for the loss
 * alone, while the backward pass runs, and when clipping without a loss scaler for the norm, while the update runs; inputs are
 * copied from pinned memory on a stream of their own meanwhile.
 */
#include "runtime/exec/program.h"

struct rt_engine;

/* Before the passes: open the device and its libraries. */
int rt_engine_open(struct rt_program *p, struct gt_err *err);
/* Lowers the options' memory limit to what the card has free, less what is left to the driver and its libraries. */
int rt_engine_limit_memory(struct rt_program *p, struct gt_err *err);
/* Of the device, for the plan that p has now: the plan's arena and what the engine adds. */
uint64_t rt_engine_plan_bytes(const struct rt_program *p);
/* Behind the passes: allocate, start the parameters, choose algorithms by timing, capture the step. -ENOSYS names the first
 * op, type or shape that the device has no kernel for; -ENOMEM says how much was wanted and is free. */
int rt_engine_build(struct rt_program *p, struct gt_err *err);
void rt_engine_free(struct rt_engine *e);

/* One batch, and the update if it is the last of one; advances p->step. */
int rt_engine_step(struct rt_program *p, const void *const *inputs, const struct rt_run *run, struct rt_metrics *ret,
		   struct gt_err *err);
int rt_engine_wait(struct rt_program *p, struct gt_err *err);
/* rt_pin(), rt_unpin() */
int rt_engine_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
void rt_engine_unpin(struct rt_program *p, const void *base);
int rt_engine_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err);
/* Elements of n as float, from or to the device; waits for it. */
int rt_engine_read(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_engine_write(struct rt_program *p, struct rt_node *n, const float *in, struct gt_err *err);
/* The same as they are, rt_node_bytes(n) of them; a parameter's copy in a low type follows. */
int rt_engine_get(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err);
int rt_engine_put(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err);
/* What the program says of the loss scale and of its updates will change: waits, and the next step tells the device. */
int rt_engine_forget_scale(struct rt_program *p, struct gt_err *err);
/* Other parameters: compression lost nothing of their gradients. Waits. */
int rt_engine_forget_lost(struct rt_program *p, struct gt_err *err);
/* Adds what is particular to the device. */
void rt_engine_report(const struct rt_program *p, json_t *doc);
uint64_t rt_engine_bytes(const struct rt_engine *e); /* allocated on the device */
/* Memory that a call wants while it runs: struct rt_plan, scratch. What fails here, rt_engine_build says. */
size_t rt_engine_scratch(struct rt_engine *e, const struct rt_call *c);
#endif
