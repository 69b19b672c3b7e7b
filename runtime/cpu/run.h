/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CPU_RUN_H
#define RT_CPU_RUN_H
/* A program on the CPU: what the backend keeps for it. */
#include "runtime/backend/backend.h"
#include "runtime/memory/arena.h"
#include "runtime/cpu/cpu.h"

struct rt_cpu_state {
	struct rt_cpu cpu;
	struct rt_arena arena;
	struct rt_ddp *ddp; /* NULL: one rank */
	int ddp_status;	    /* first failure of a reduction in this step */
	struct gt_err ddp_err;
	/* of the update under way */
	bool overflow; /* a loss was not finite */
	bool reduced;  /* losses has the means over all ranks */
	struct rt_losses losses;
};
int rt_cpu_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m, struct gt_err *err);
int rt_cpu_eval(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err);
void rt_cpu_run_call(struct rt_program *p, int i, struct rt_run *run);
#endif
