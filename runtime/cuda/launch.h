/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_LAUNCH_H
#define RT_CUDA_LAUNCH_H
/* Inside the engine: what the launchers of the ops share. After the first failure every launch does nothing; the engine
 * reports that failure. */
#include "runtime/cuda/blas.h"
#include "runtime/cuda/engine.h"

/* Calls that one kernel does together: the updates of all tensors that stand side by side. */
struct update_group {
	int first, n; /* calls */
	cu_ptr tensors, chunks;
	int n_chunks;
};

struct rt_engine {
	struct rt_cuda *dev;
	struct rt_blas *blas;
	cu_stream stream, copy;
	cu_ptr base;
	size_t bytes;
	bool tf32;   /* struct rt_options */
	bool tuning; /* the first, eager run: products are timed */
	bool eval;   /* the loss alone */
	int r;	     /* of the first launch that failed */
	struct gt_err err;

	/* inputs: host -> pinned -> staging (copy stream) -> where the plan has them (compute stream) */
	char *pinned[2];
	cu_ptr staging[2];
	size_t input_bytes;
	cu_event copied[2], loss_ready;
	float *loss; /* pinned */

	struct rt_update_step *steps; /* pinned, two */
	cu_ptr step;
	struct update_group *groups;
	int n_groups;
	/* With ranks: gradients lie in buckets, which their own stream reduces while the backward pass goes on. */
	struct rt_nccl *nccl;
	cu_stream reduce;
	cu_event *ready, *reduced; /* per bucket */
	int n_buckets;
	cu_ptr window, loss_mean;

	cu_ptr norm; /* two floats, then one partial sum of squares for each chunk; kernel/update.cuh */
	float *norm_out; /* pinned */
	cu_event norm_ready;

	/* The calls are forward [0,n_forward), backward with what may be updated early [n_forward,n_backward), what looks at all
	 * gradients [n_backward,n_measure), and the updates behind it. Captured: the first batch of an update assigns gradients,
	 * the others add; the last one updates. */
	int n_forward, n_backward, n_measure;
	void *forward[2];     /* [adds] */
	void *backward[2][2]; /* [adds][updates] */
	void *update;
	double capture_s;
};

typedef void rt_launcher(struct rt_engine *e, const struct rt_call *c);
extern rt_launcher *const rt_launchers[RT_N_OPS];
/* NULL, or why the device cannot run this call. */
const char *rt_launch_refuses(const struct rt_engine *e, const struct rt_call *c);

void rt_launch(struct rt_engine *e, int kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by, size_t shared,
	       void **args);
#define RT_LAUNCH(e, kernel, gx, gy, bx, by, shared, ...)                                                              \
	rt_launch(e, kernel, (unsigned)(gx), (unsigned)(gy), (unsigned)(bx), (unsigned)(by), shared,                   \
		  (void *[]){ __VA_ARGS__ })
/* Fails the engine unless r is 0. */
void rt_launch_result(struct rt_engine *e, int r, const struct gt_err *err);

/* Calls [from, to) one after the other; timed: each between two events, into its seconds. */
struct rt_launch_how {
	bool timed, no_updates;
};
int rt_launch_calls(struct rt_program *p, int from, int to, struct rt_launch_how how, struct gt_err *err);

#define RT_ENGINE_ALIGN	256
static inline uint64_t rt_engine_aligned(uint64_t bytes)
{
	return (bytes + RT_ENGINE_ALIGN - 1) / RT_ENGINE_ALIGN * RT_ENGINE_ALIGN;
}

static inline int rt_engine_check(const struct rt_engine *e, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(e->dev, code, what, err);
}

static inline bool rt_is_update(const struct rt_call *c)
{
	return c->op->id == RT_OP_SGD || c->op->id == RT_OP_ADAMW;
}

/* The loss that decides: the mean over the ranks. */
static inline cu_ptr rt_engine_loss(const struct rt_program *p)
{
	return p->cuda->nccl ? p->cuda->loss_mean : (cu_ptr)(uintptr_t)p->plan.loss->data;
}

static inline cu_ptr rt_at(const struct rt_node *n)
{
	return n ? (cu_ptr)(uintptr_t)n->data : 0;
}
#endif
