/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
#include "runtime/comm/ddp.h"
#include "runtime/cpu/cpu.h"
#include "runtime/exec/arena.h"
#include "runtime/pass/pass.h"

/* The loss scaler's state. */
struct rt_scale {
	bool on;
	float scale;
	int64_t tracker; /* updates in a row that were not skipped */
	int skipped;	 /* in a row */
};
struct rt_event {
	int call;
	int64_t step;
	double start, end; /* seconds, monotonic */
};
struct rt_engine;
struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;
	struct rt_arena arena;
	struct rt_cpu cpu;
	bool stale; /* parameters may have changed since the calls that run once ran */
	int64_t step;
	int64_t steps_profiled;
	/* the update under way */
	int batches;	     /* of it so far */
	double weight;	     /* of the next batch */
	double weights;	     /* of those so far */
	double weighted_loss; /* theirs, times their weights */
	bool reduced;	     /* losses has what all ranks' come to */
	struct rt_losses losses;
	bool overflow;	     /* a loss was not finite */
	struct rt_scale scale;
	struct rt_event *events; /* options.trace: the last RT_TRACE_EVENTS */
	int64_t n_events;	 /* so far */
	const struct rt_call *anomaly; /* options.anomaly: what wrote something that is not finite */
	const struct rt_node *anomaly_node;
	struct rt_ddp *ddp;  /* NULL: one rank */
	int ddp_status;	     /* first failure of a reduction in this step */
	struct gt_err ddp_err;
	json_t *passes;
	struct rt_engine *cuda; /* NULL: the CPU runs the program */
	unsigned cuda_runs;
};
/* From graph to a program without memory, by the options that p has now; may be done again. */
int rt_program_plan(struct rt_program *p, const struct rt_graph *g, const struct rt_node *loss, struct gt_err *err);
/* See that the plan fits: choose the checkpointing for options.fit_bytes, and refuse what the machine cannot hold. */
int rt_program_fit(struct rt_program *p, const struct rt_graph *g, const struct rt_node *loss, struct gt_err *err);
void rt_program_init_params(struct rt_program *p);
/* Start values of parameter n into w. */
void rt_program_init_param(const struct rt_node *n, float *w, uint64_t seed, int threads);
/* First node that is not finite when the forward pass is run again call by call; NULL if all are. */
const struct rt_node *rt_program_find_nonfinite(struct rt_program *p);
#endif
