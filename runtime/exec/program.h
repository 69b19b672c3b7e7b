/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
#include "runtime/cpu/cpu.h"
#include "runtime/ddp/ddp.h"
#include "runtime/cpu/arena.h"
#include "runtime/pass/pass.h"

/* So many updates in a row may be skipped: 65536 has then become 2^-9, and the scale is not what makes the loss infinite. */
#define RT_MOST_SKIPPED	24

/* The loss scaler's state. */
struct rt_scale {
	bool on;
	float scale;
	int64_t tracker; /* updates in a row that were not skipped */
	int skipped;	 /* in a row */
	int64_t total;	 /* skipped in all */
};
struct rt_event {
	int shape, call; /* call -1: none, a copy of inputs */
	int kernel;	 /* 0: the call itself; else the row behind it, of those that it launched (struct rt_kernel) */
	int64_t step;
	double start, end; /* seconds, monotonic */
};
/* What ran on a device, by name and by the op that launched it. */
struct rt_kernel {
	char *name;
	const struct rt_call *call; /* the first that launched it; NULL: none */
	int64_t launches;	    /* in profiled steps */
	double seconds, moved;	    /* theirs; moved: bytes of copies and fills, and those that a launcher counts */
};
struct rt_engine;
struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;	/* of the batch shape in use: the same pointers as shapes[shape] */
	struct rt_plan *shapes; /* one plan per batch shape, all in one arena */
	int n_shapes, shape;
	struct rt_arena arena;
	struct rt_cpu cpu;
	char *note; /* rt_set_note() */
	bool stale; /* parameters may have changed since the calls that run once ran */
	int64_t step;
	/* the update under way */
	int batches;	     /* of it so far */
	double weight;	     /* of the next batch */
	double weights;	     /* of those so far */
	double weighted_loss; /* theirs, times their weights */
	bool reduced;	     /* losses has what all ranks' come to */
	struct rt_losses losses;
	bool overflow;	     /* a loss was not finite */
	struct rt_scale scale;
	struct rt_event *events; /* options.debug.trace: the last RT_TRACE_EVENTS */
	int64_t n_events;	 /* so far */
	struct rt_kernel *kernels;
	int n_kernels;
	const struct rt_call *anomaly; /* options.debug.anomaly: what wrote something that is not finite */
	const struct rt_node *anomaly_node;
	struct rt_ranks ranks; /* how they work together */
	struct rt_ddp *ddp;  /* NULL: one rank */
	int ddp_status;	     /* first failure of a reduction in this step */
	struct gt_err ddp_err;
	struct rt_engine *cuda; /* NULL: the CPU runs the program */
	unsigned cuda_runs;
};
/* From graph to a program without memory, by the options that p has now; may be done again. */
int rt_program_plan(struct rt_program *p, const struct rt_graph *g, const struct rt_node *loss, struct gt_err *err);
/* See that the plan fits: choose the checkpointing for options.memory.fit_bytes, and refuse what the machine cannot hold. */
int rt_program_fit(struct rt_program *p, const struct rt_graph *g, const struct rt_node *loss, struct gt_err *err);
/* All plans of a program, the first one in use; and the memory that holds each of them. */
int rt_program_plan_shapes(struct rt_program *p, const struct rt_graph *const *g, struct rt_node *const *loss, int n,
			   struct gt_err *err);
uint64_t rt_program_arena_bytes(const struct rt_program *p);
void rt_plan_clear(struct rt_plan *plan);
void rt_program_init_params(struct rt_program *p);
/* Start values of parameter n into w. */
void rt_program_init_param(const struct rt_node *n, float *w, uint64_t seed, int threads);
/* First node that is not finite when the forward pass is run again call by call; NULL if all are. */
const struct rt_node *rt_program_find_nonfinite(struct rt_program *p);
#endif
