/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
/* A compiled program, as exec/ and the backends share it. */
#include "lib/json.h"
#include "runtime/ddp/ddp.h"
#include "runtime/pass/pass.h"

/* So many updates in a row may be skipped: 65536 has then become 2^-9, and the scale is not what makes the loss infinite. */
#define RT_MOST_SKIPPED	24

/* Steps that fill caches and make the product library compile its kernels: they are not profiled. */
#define RT_FIRST_STEPS	2

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
	int kernel;	 /* 0: the call itself; else the row after it, of those that it launched (struct rt_kernel) */
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
struct rt_backend;
struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;	/* of the batch shape in use: the same pointers as shapes[shape] */
	struct rt_plan *shapes; /* one plan per batch shape, all in one arena */
	int n_shapes, shape;
	const struct rt_backend *backend;
	void *state;	     /* the backend's own */
	int threads;	     /* of the CPU */
	char *base, *window; /* where tensors lie: the arena, and the window that ranks share */
	char *note; /* rt_set_note() */
	bool stale; /* parameters may have changed since the calls that run once ran */
	int64_t step;
	/* the update under way */
	int batches;	     /* of it so far */
	double weight;	     /* of the next batch */
	double weights;	     /* of those so far */
	double weighted_loss; /* theirs, times their weights */
	struct rt_scale scale;
	struct rt_event *events; /* options.trace: the last RT_TRACE_EVENTS */
	int64_t n_events;	 /* so far */
	struct rt_kernel *kernels;
	int n_kernels;
	const struct rt_call *anomaly; /* options.anomaly: what wrote something that is not finite */
	const struct rt_node *anomaly_node;
	struct rt_ranks ranks; /* how they work together */
};

/* The OpenMP team size of the program, for the libraries' own regions, until the end of the scope: rt_auto_omp. */
static inline struct rt_omp rt_run_enter(const struct rt_program *p)
{
	return rt_cpu_enter(&(struct rt_cpu){ .threads = p->threads });
}

/* ---- shared by the backends: run.c ---- */
/* Every tensor of every shape gets its address in p->base or p->window. */
void rt_run_place(struct rt_program *p);
uint64_t rt_run_arena_bytes(const struct rt_program *p); /* of the largest shape */
/* Start values of parameter or buffer n into w. */
void rt_run_init_param(const struct rt_node *n, float *w, uint64_t seed, int threads);
/* Elements of n as float, by the backend's get() and put(). */
int rt_run_read(const struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_run_write(struct rt_program *p, struct rt_node *n, const float *in, struct gt_err *err);
/* options.poison: what call i writes first, and everything that lives for one batch, becomes NaN. evaluates: no step follows. */
void rt_run_poison(struct rt_program *p, int i, bool evaluates);
void rt_run_poison_all(struct rt_program *p);
/* options.anomaly: sets p->anomaly to the call if it wrote something that is not finite. */
void rt_run_watch(struct rt_program *p, const struct rt_call *c);
/* First node that is not finite when the forward pass is run again call by call; NULL if all are. */
const struct rt_node *rt_run_find_nonfinite(struct rt_program *p);
/* -EDOM and the sentence: the loss, or gradient `bad`, is not finite. */
int rt_run_bad_loss(struct rt_program *p, double loss, int64_t step, struct gt_err *err);
int rt_run_bad_gradient(const char *bad, int64_t step, struct gt_err *err);
/* Adds the loss of the batch to the weighted mean of the update under way. */
void rt_run_count_loss(struct rt_program *p, struct rt_metrics *m);
/* options.trace */
void rt_run_note(struct rt_program *p, const struct rt_event *e);
#endif
