/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_ENGINE_H
#define RT_CUDA_ENGINE_H
/*
 * A program on a CUDA device. The plan, the calls and their order are the same as on the CPU. The engine adds the
 * memory (one allocation), the launches, and the captured graphs that a step replays: forward, and backward with the
 * update. The host waits only for the loss, while the backward pass runs. When clipping without a loss scaler, it also
 * waits for the norm, while the update runs. Inputs are copied from pinned memory on a separate stream meanwhile. The
 * functions implement struct rt_backend.
 */
#include "runtime/backend/backend.h"

extern const struct rt_backend rt_backend_cuda;
int rt_engine_open(struct rt_program *p, struct gt_err *err);
/* Lowers the memory limit of the options to the free memory of the device minus a reserve for the driver and its
 * libraries. */
void rt_engine_limit_memory(struct rt_program *p);
/* Returns the size of the plan's arena and of the engine's own memory. */
uint64_t rt_engine_plan_bytes(const struct rt_program *p);
/* Allocates the memory, initialises the parameters, chooses algorithms by timing and captures the step. */
int rt_engine_build(struct rt_program *p, struct gt_err *err);
void rt_engine_free(struct rt_program *p);

int rt_engine_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *ret,
		   struct gt_err *err);
int rt_engine_wait(struct rt_program *p, struct gt_err *err);
int rt_engine_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
void rt_engine_unpin(struct rt_program *p, const void *base);
int rt_engine_eval(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err);
void rt_engine_run_call(struct rt_program *p, int i, struct rt_run *run);
/* They wait for the device. rt_engine_put() also updates the reduced-precision copy of a parameter. */
int rt_engine_get(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err);
int rt_engine_put(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err);
void rt_engine_fill(struct rt_program *p, void *at, int byte, size_t bytes);
bool rt_engine_finite(struct rt_program *p, const struct rt_node *n);
/* Waits for the device. The next step sends the scale and the number of updates to the device again. */
int rt_engine_forget_scale(struct rt_program *p, struct gt_err *err);
/* Waits for the device and clears the error feedback of compression. */
int rt_engine_clear_residual(struct rt_program *p, struct gt_err *err);
void rt_engine_report(const struct rt_program *p, json_t *doc);
uint64_t rt_engine_bytes(const struct rt_program *p);
size_t rt_engine_scratch(void *engine, const struct rt_call *c);
#endif
