/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PROGRAM_H
#define RT_PROGRAM_H
/* A compiled program, shared by exec/ and the backends. */
#include "lib/json.h"
#include "runtime/ddp/ddp.h"
#include "runtime/ddp/pipeline.h"
#include "runtime/pass/pass.h"

/*
 * Largest number of consecutive skipped updates. By then the scale has dropped from 65536 to 2^-9, so it does not cause
 * the infinite loss.
 */
#define RT_MOST_SKIPPED	24

/* Steps that fill caches and make the product library compile its kernels. They are not profiled. */
#define RT_FIRST_STEPS	2

/* State of the loss scaler. */
struct rt_scale {
	bool on;
	float scale;
	int64_t tracker; /* consecutive updates without a skip */
	int skipped;	 /* consecutive skipped updates */
	int64_t total;	 /* skipped updates since compilation */
};
struct rt_event {
	int shape, call; /* call -1: copy of the inputs */
	int kernel;	 /* 0: the call itself; otherwise 1 + the index of a kernel that it launched (struct rt_kernel) */
	int64_t step;
	double start, end; /* seconds, monotonic */
};
/* Kernels that ran on a device, by name and launching op. */
struct rt_kernel {
	char *name;
	const struct rt_call *call; /* first call that launched it; NULL: none */
	int64_t launches;     /* number of launches in profiled steps */
	double seconds, moved;	    /* sums over profiled steps; moved: bytes of copies, of fills, and counted by a launcher */
};
/* Results of the calls of RT_PHASE_GRADIENT. */
struct rt_gradients {
	/* Sums of squares of the gradients times grad_scale: [of parameters that tensor parallel ranks split][of which data
	 * parallel ranks have a piece each]. [0][0] becomes the sum over all. */
	double squares[2][2];
	const struct rt_node *not_finite; /* first gradient that is not finite, or NULL */
};
struct rt_run {
	bool eval; /* evaluation: no gradients */
	bool profiled;
	bool update;	  /* this batch is the last of its update */
	bool no_weight;	  /* all batches of the update on all ranks have weight 0, so nothing is updated */
	float loss_scale; /* factor of the first gradients, applied by losses */
	float grad_scale; /* factor of gradients in updates: undoes the loss scale, clips */
	struct rt_gradients *gradients;
	const struct rt_optimizer *optimizer;
	const struct rt_shard *shard; /* sharded update; NULL: this rank updates everything */
	int64_t step; /* number of the step, from 1 */
	/* constants of this step's update; grad_scale is the field above */
	struct rt_adamw adamw;
	struct rt_sgd sgd;
	uint64_t seed;
	int64_t batch; /* number of the batch, from 0; selects its random numbers */
	double entered_s; /* time of the call of the step, before its inputs were checked */
};
struct rt_backend;
struct rt_program {
	struct rt_options opt;
	struct rt_plan plan;	/* shape of the current batch; the pointers are those of shapes[shape] */
	struct rt_plan *shapes; /* one plan per batch shape, all in one arena */
	int n_shapes, shape;
	const struct rt_backend *backend;
	void *state;	     /* backend's private state */
	int threads;	     /* CPU threads */
	char *base, *window; /* tensor memory: the arena, and the window that ranks share */
	char *note; /* note of rt_set_note() */
	char *pruned; /* layers that lost units (rt_graph_pruned_text()); NULL: none */
	bool constants_move; /* constants (rt_node.constant) have other addresses in another shape */
	bool stale; /* run-once calls must run again, because parameters may have changed */
	int64_t step;
	/* the current update */
	int batches;	     /* batches so far */
	double weight;	     /* weight of the next batch */
	double weights;	     /* sum of the weights of the batches so far */
	double weighted_loss; /* sum of weight times loss */
	struct rt_scale scale;
	struct rt_event *events; /* options.trace: ring of the last RT_TRACE_EVENTS */
	int64_t n_events;	 /* events recorded since compilation */
	struct rt_kernel *kernels;
	int n_kernels;
	const struct rt_call *anomaly; /* options.anomaly: the call that wrote a non-finite value */
	const struct rt_node *anomaly_node;
	struct rt_ranks ranks; /* multi-rank state */
	struct rt_pipeline *pipeline; /* NULL: the program computes the whole model */
};

/*
 * Sets the number of threads of the OpenMP team for parallel regions of libraries, until the end of the scope
 * (rt_auto_omp).
 */
static inline struct rt_omp rt_run_enter(const struct rt_program *p)
{
	return rt_cpu_enter(&(struct rt_cpu){ .threads = p->threads });
}

/* ---- shared by the backends; defined in run.c ---- */
/* Sets the address of every tensor of every shape, in p->base or p->window. */
void rt_run_place(struct rt_program *p);
uint64_t rt_run_arena_bytes(const struct rt_program *p); /* size of the arena for the largest shape */
/* Returns the bytes that the current plan needs outside the arena: windows, and the memory of compression. */
uint64_t rt_run_shared_bytes(const struct rt_program *p);
/* Writes the initial values of parameter or buffer n to w. */
void rt_run_init_param(const struct rt_node *n, float *w, uint64_t seed, int threads);
/* Copy the elements of n as float, with the backend's get() and put(). */
int rt_run_read(const struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_run_write(struct rt_program *p, struct rt_node *n, const float *in, struct gt_err *err);
/* Prepares the backend for another step number and loss scale, after all parameters were replaced. */
int rt_run_restart(struct rt_program *p, struct gt_err *err);
/*
 * options.poison: fills with NaN the tensors that call i writes first, or all tensors whose values live for one batch
 * only. evaluates: no step follows.
 */
void rt_run_poison(struct rt_program *p, int i, bool evaluates);
void rt_run_poison_all(struct rt_program *p);
/* options.anomaly: sets p->anomaly to call c if it wrote a non-finite value. */
void rt_run_watch(struct rt_program *p, const struct rt_call *c);
/* Runs the forward pass again call by call and returns the first node that is not finite, or NULL. */
const struct rt_node *rt_run_find_nonfinite(struct rt_program *p);
/* Return -EDOM with the message that the loss, or gradient `bad`, is not finite. */
int rt_run_bad_loss(struct rt_program *p, double loss, int64_t step, struct gt_err *err);
int rt_run_bad_gradient(const char *bad, int64_t step, struct gt_err *err);
/* Adds the loss of the batch to the weighted mean of the current update. */
void rt_run_count_loss(struct rt_program *p, struct rt_metrics *m);
/* options.trace: records an event. */
void rt_run_record_event(struct rt_program *p, const struct rt_event *e);
#endif
