/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CPU_RUN_H
#define RT_CPU_RUN_H
/* A program's state in the CPU backend. */
#include "runtime/backend/backend.h"
#include "runtime/cpu/cpu.h"
#include "runtime/ddp/groups.h"
#include "runtime/memory/arena.h"

struct rt_cpu_state {
	struct rt_cpu cpu;
	struct rt_arena arena;
	struct rt_ddp *ddp; /* NULL: one rank */
	struct rt_groups *groups; /* NULL: no call is a collective of a group */
	int ddp_status;	    /* first error of a collective in this step */
	struct gt_err ddp_err;
	/* current update */
	bool overflow; /* a loss was not finite */
	bool reduced;  /* `losses` contains the means over all ranks */
	struct rt_losses losses;
	double pipeline_loss; /* sum of the weighted losses of the last stage */
};
extern const struct rt_backend rt_backend_cpu;
int rt_cpu_step(struct rt_program *p, const void *const *inputs, struct rt_run *run, struct rt_metrics *m, struct gt_err *err);
int rt_cpu_eval(struct rt_program *p, const void *const *inputs, struct rt_run *run, double *ret_loss, struct gt_err *err);
void rt_cpu_run_call(struct rt_program *p, int i, struct rt_run *run);
#endif
