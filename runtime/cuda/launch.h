/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_LAUNCH_H
#define RT_CUDA_LAUNCH_H
/* Internals of the engine, shared by the launchers of the ops. After the first failure, launches do nothing, and the
 * engine reports that failure. */
#include "lib/json.h"
#include "runtime/backend/backend.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/dnn.h"
#include "runtime/transport/comm.h"

/* Calls that one kernel executes together: the updates of consecutive tensors. */
struct update_group {
	int first, n; /* calls */
	cu_ptr tensors, chunks;
	int n_chunks;
	bool has_8bit; /* includes 8-bit moments */
};

/*
 * State of one batch shape. Its calls are forward [0,n_forward), backward with early updates [n_forward,n_backward),
 * calls that need all gradients [n_backward,n_measure), and then the remaining updates. The captured graphs differ: the
 * first batch of an update assigns gradients, the others add, and the last one updates. In a program that does not
 * train, forward[1] omits the run-once calls.
 */
struct rt_engine_shape {
	int n_forward, n_backward, n_measure;
	struct update_group *groups;
	int n_groups;
	/* Collectives of the tensor parallel ranks, and the bytes that they send: [backward]. */
	int group_calls[2];
	double group_bytes[2];
	const struct rt_node *scales; /* table of the scales of 8-bit tensors, or NULL; kernel/fp8.cuh */
	void *forward[2];     /* [adds] */
	void *backward[2][2]; /* [adds][updates] */
	void *early[2];	      /* instead of backward[adds][true], while gradients are sent uncompressed */
	void *update;
};

struct rt_engine {
	struct rt_cuda *dev;
	struct rt_blas *blas;
	struct rt_dnn *dnn; /* opened at the first convolution or attention */
	struct { /* launch_attention.c */
		enum rt_attention_by by;
		bool absent;	  /* cuDNN could not be opened */
		struct gt_err why; /* why cuDNN is not used; "": it is */
		int own[2], dnn[2]; /* [backward]: number of calls of the built program */
		int too_large[2];   /* cuDNN plans that were not timed because of their workspace */
	} attention;
	cu_stream stream, copy;
	cu_ptr base;
	size_t bytes;
	struct rt_memory memory;
	size_t least_free; /* lowest free memory of the device since it was opened */
	bool tf32;   /* precision.tf32 of struct rt_options */
	bool tuning; /* during the first, eager run, which times the products */
	bool infers; /* a program that does not train */
	bool eval;   /* evaluation: forward pass only */
	bool exact;  /* the same bits in each run */
	unsigned runs; /* number of forward passes; selects one of two input buffers */
	bool initial_scales; /* this is the first step or an earlier evaluation: 8-bit scales come from the present values */
	bool scaled; /* the table contains scales, after the first step that needs them */
	int fp8_history;
	float fp8_factor; /* 2^-margin */
	double moves; /* bytes of the next launch, for reports */
	int r;	     /* error of the first failed launch */
	struct gt_err err;

	/* inputs: host -> pinned -> staging (copy stream) -> planned address (compute stream) */
	struct {
		struct {
			const char *base;
			size_t bytes;
		} *list; /* locked memory of the caller, copied directly */
		int n;
		int64_t direct, copied; /* inputs copied from locked memory, and by way of pinned memory */
	} inputs;
	char *pinned[2];
	cu_ptr staging[2];
	size_t input_bytes;
	cu_event copied[2], loss_ready;
	float *loss; /* pinned */

	struct rt_update_step *steps; /* pinned, two */
	cu_ptr step;
	struct rt_engine_shape *shapes, *s; /* all shapes, and the current one */
	int n_shapes;
	/* With ranks, gradients are in buckets. A separate stream reduces them during the backward pass. */
	struct rt_nccl *nccl;
	struct rt_nccl *tensor; /* the ranks that split the model; NULL: none */
	struct rt_stages *stages; /* stages.c; NULL: the program computes the whole model */
	int batch; /* index of the current batch in its update */
	cu_stream reduce;
	cu_event *ready, *reduced; /* events of each bucket */
	cu_event idle;
	bool spins; /* each rank has its own CPU and may busy-wait */
	struct rt_compress_buffers {
		cu_ptr out, in, back, sum, part, scale, state, residual, end; /* state to end: error feedback, or 0 */
	} compress; /* buffers of compressed gradients */
	struct rt_lowrank_bucket *lowrank; /* buckets of PowerSGD: lowrank.c */
	bool plain;	/* gradients are sent uncompressed for now */
	int n_buckets;
	cu_ptr window, loss_mean;
	cu_ptr maps;  /* maps of 8-bit moments: struct rt_update_maps */
	cu_ptr found; /* an int: nonzero if a tensor has a non-finite element */
	cu_ptr step_loss; /* address of the loss that updates read: rt_engine_loss() */

	cu_ptr norm; /* two floats, then a double for each chunk: its sum of squares; kernel/update.cuh */
	float *norm_out; /* pinned */
	struct { /* scaler.c; only with the loss scaler */
		cu_ptr state;
		bool there; /* the device has the program's state */
		struct rt_scaler_state *seen; /* pinned, two */
		unsigned enqueued, settled; /* number of the newest update, and of the newest one whose result the host has */
		double norm; /* gradient norm of update `settled` */
		bool skipped;
	} scaler;
	cu_event norm_ready;

	int64_t group_calls; /* of all steps */
	double group_bytes;

	double capture_s;
	struct rt_timing *timing; /* NULL without the options profile and trace */
	struct rt_user_kernels *user; /* launch_user.c */
	/* Time that the host spent in steps without waiting. */
	double host_s;
	int64_t host_steps;
};

static inline struct rt_engine *rt_engine_of(const struct rt_program *p)
{
	return p->state;
}

struct rt_cuda_kernel {
	/* Launches the call's kernels. NULL: one launch does all calls of the op (replay.c). */
	void (*run)(struct rt_engine *e, const struct rt_call *c);
	/* Returns the scratch memory of the call in bytes. NULL: none. */
	size_t (*scratch)(struct rt_engine *e, const struct rt_call *c);
	/* Returns why the device cannot run this call, or NULL. */
	const char *(*refuses)(const struct rt_engine *e, const struct rt_call *c);
	int update; /* kernel of an optimizer op that updates all tensors of a group, enum rt_kernel_id */
};
/* kernel of each op; NULL: no CUDA kernel */
extern const struct rt_cuda_kernel *const rt_cuda_kernels[RT_N_OPS];
#define RT_CUDA_BOTH(X, ID, name)  X(ID, name)
#define RT_CUDA_CPU(X, ID, name)
#define RT_CUDA_CUDA(X, ID, name)  X(ID, name)
#define RT_CUDA_RANKS(X, ID, name)
#define RT_CUDA_EXTERN(ID, name)   extern const struct rt_cuda_kernel rt_cuda_##name;
#define RT_CUDA_DECLARE(ID, name, kernels) RT_CUDA_##kernels(RT_CUDA_EXTERN, ID, name)
RT_OPS(RT_CUDA_DECLARE)
/* Returns why the device cannot run this call, or NULL. */
const char *rt_launch_refuses(const struct rt_engine *e, const struct rt_call *c);

void rt_launch(struct rt_engine *e, int kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by, size_t shared,
	       void **args);
#define RT_LAUNCH(e, kernel, gx, gy, bx, by, shared, ...)                                                              \
	rt_launch(e, kernel, (unsigned)(gx), (unsigned)(gy), (unsigned)(bx), (unsigned)(by), shared,                   \
		  (void *[]){ __VA_ARGS__ })
void rt_launch_on(struct rt_engine *e, cu_stream stream, int kernel, unsigned gx, unsigned bx, void **args);
/* Fails the engine unless r is 0. */
void rt_launch_result(struct rt_engine *e, int r, const struct gt_err *err);

/* Returns the address of the inverse scale of 8-bit tensor n, or 0 for other types. */
cu_ptr rt_fp8_inverse(const struct rt_engine *e, const struct rt_node *n);
void rt_fp8_open(struct rt_program *p);
/* memory.c: build the tables of the current shape, allocate all memory after checking that it fits, read the device's
 * free memory, report it. */
void rt_engine_find_groups(struct rt_program *p);
int rt_engine_allocate(struct rt_program *p, struct gt_err *err);
int rt_engine_read_memory(struct rt_engine *e, struct gt_err *err);
json_t *rt_engine_memory_report(const struct rt_engine *e);
/* parameters.c: clears the persistent memory and writes the start values of parameters and buffers. */
int rt_engine_start_parameters(struct rt_program *p, struct gt_err *err);
/* Makes `shape` the current shape. */
void rt_engine_use(struct rt_program *p, int shape);

/* Runs calls [from, to) in order. timed: records the time of each between two events. watched: checks the outputs of
 * each call. -EDOM without a message: p->anomaly is the first call with a non-finite output. */
struct rt_launch_how {
	bool timed, watched, no_updates, no_once;
	bool mean_loss; /* average the loss over the ranks after the calls */
};
int rt_launch_calls(struct rt_program *p, int from, int to, struct rt_launch_how how, struct gt_err *err);

/* inputs.c: copies a batch to the device through pinned[slot] and staging[slot]. On return the caller may reuse its
 * memory. */
int rt_inputs_load(struct rt_program *p, const void *const *inputs, int slot, struct gt_err *err);
void rt_inputs_free(struct rt_engine *e);

/*
 * compress.c: compressed buckets. In order: device memory in bytes, allocation, clearing the error feedback, whether the
 * gradients of `step` are compressed, number of error feedback buffers, start of the reductions of an update, its end,
 * reduction of a bucket, bytes sent by a rank per step. begin: before the first bucket. settle: once it is known
 * whether the update takes place (as rt_ddp_set_unit() and rt_ddp_settle()).
 */
uint64_t rt_compress_bytes(const struct rt_program *p);
int rt_compress_open(struct rt_program *p, struct gt_err *err);
int rt_compress_clear(struct rt_program *p, struct gt_err *err);
bool rt_compress_active(const struct rt_program *p, int64_t step);
int rt_compress_copies(const struct rt_program *p);
void rt_compress_begin(struct rt_engine *e);
void rt_compress_settle(struct rt_program *p);
int rt_compress_reduce(struct rt_program *p, int bucket, struct gt_err *err);
double rt_compress_sent_bytes(const struct rt_program *p);

/* scaler.c: begin before a batch, check after its forward pass, judge between the norm and the updates, end after the
 * updates. */
int rt_scaler_begin(struct rt_program *p, const struct rt_run *run, struct gt_err *err);
void rt_scaler_check(struct rt_program *p);
void rt_scaler_judge(struct rt_engine *e);
int rt_scaler_end(struct rt_program *p, struct gt_err *err);
/* Called when the device has finished that update: copies its result into the program. */
void rt_scaler_settle(struct rt_program *p, unsigned update);

/* lowrank.c: the same for PowerSGD. base: rt_lowrank_bytes() of memory. start_q: the initial Q. sent_floats: P and Q
 * together. */
uint64_t rt_lowrank_bytes(const struct rt_program *p);
int rt_lowrank_open(struct rt_program *p, cu_ptr base, struct gt_err *err);
int rt_lowrank_start_q(struct rt_program *p, struct gt_err *err);
int rt_lowrank_reduce(struct rt_program *p, int bucket, struct gt_err *err);
double rt_lowrank_sent_floats(const struct rt_program *p, int bucket);

/* await.c: wait for an event. With ranks, the wait fails if a rank ends or does not arrive. */
int rt_engine_await(struct rt_engine *e, cu_event event, struct gt_err *err);
int rt_engine_drain(struct rt_engine *e, struct gt_err *err); /* waits for everything enqueued */
/* Called before the end: aborts collectives that wait for missing ranks. */
void rt_engine_release(struct rt_engine *e);
/* Makes stream `to` wait for the present end of stream `from`. */
int rt_engine_follow(struct rt_engine *e, cu_event event, cu_stream from, cu_stream to, struct gt_err *err);

/*
 * comms.c: the communicators of the program's groups of ranks. rt_comms_norm_share() returns the factor of a parameter's
 * squares in the norm of all gradients, which is a sum over the tensor parallel ranks. rt_comms_arrive() announces that
 * this rank has enqueued its collectives; stages run ahead of each other and announce nothing. rt_comms_watch() is
 * rt_nccl_watch() for all groups. rt_comms_count() counts
 * the collectives of the current shape; rt_comms_ran() adds those of a forward or backward pass to the report.
 */
struct rt_comm *rt_comms_any(const struct rt_program *p); /* one of the groups; NULL: one rank */
int rt_comms_open(struct rt_program *p, struct gt_err *err);
void rt_comms_close(struct rt_engine *e);
void rt_comms_abort(struct rt_engine *e);
int rt_comms_call(struct rt_engine *e, const struct rt_call *c, struct gt_err *err);
float rt_comms_norm_share(const struct rt_program *p, const struct rt_node *param);
void rt_comms_arrive(struct rt_engine *e);
int rt_comms_watch(struct rt_engine *e, double waited_s, struct gt_err *err);
void rt_comms_count(struct rt_program *p);
void rt_comms_ran(struct rt_engine *e, bool backward);
void rt_comms_report(const struct rt_program *p, json_t *doc);

/*
 * stages.c: a stage of a pipeline. In order: communicators and streams, device memory in bytes and its allocation, the calls
 * of graph/op_stage.c. rt_stages_meet() waits for the backward passes of all stages and fails if a loss is not finite;
 * rt_stages_loss() returns the loss of the update afterwards.
 */
int rt_stages_open(struct rt_program *p, struct gt_err *err);
uint64_t rt_stages_bytes(const struct rt_program *p);
int rt_stages_allocate(struct rt_program *p, struct gt_err *err);
void rt_stages_close(struct rt_engine *e);
void rt_stages_abort(struct rt_engine *e);
#define RT_STAGES_COMMS	5
int rt_stages_list(const struct rt_engine *e, struct rt_nccl *ret[RT_STAGES_COMMS]); /* returns the number of communicators */
int rt_stages_join(struct rt_engine *e, struct gt_err *err); /* makes the program's stream wait for all messages */
struct rt_nccl *rt_stages_group(const struct rt_engine *e); /* all stages, or NULL */
int rt_stages_call(struct rt_program *p, const struct rt_call *c, struct gt_err *err);
int rt_stages_meet(struct rt_program *p, const struct rt_run *run, struct gt_err *err);
int rt_stages_loss(struct rt_program *p, double *ret, struct gt_err *err);

#define RT_ENGINE_ALIGN	256
static inline uint64_t rt_engine_aligned(uint64_t bytes)
{
	return (bytes + RT_ENGINE_ALIGN - 1) / RT_ENGINE_ALIGN * RT_ENGINE_ALIGN;
}

static inline int rt_engine_check(const struct rt_engine *e, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(e->dev, code, what, err);
}

/* Returns the communicator of a dimension (enum rt_dim), or NULL. */
static inline struct rt_nccl *rt_engine_group(const struct rt_engine *e, int dim)
{
	return dim == RT_DIM_TENSOR ? e->tensor : dim == RT_DIM_DATA ? e->nccl : NULL;
}

static inline bool rt_engine_has_ranks(const struct rt_engine *e)
{
	return e->nccl || e->tensor || e->stages;
}

/*
 * Returns whether algorithms are chosen by timing, now or by an earlier program on disk. Tensor parallel ranks take the
 * library's first choice: they all compute the layers that are not split, and must get the same bits. Each rank has its own
 * times, and ranks of other hosts have another disk.
 */
static inline bool rt_engine_chooses(const struct rt_engine *e)
{
	return !e->exact && !e->tensor;
}

static inline bool rt_engine_times_products(const struct rt_engine *e)
{
	return e->tuning && rt_engine_chooses(e);
}

/* Returns the address of the loss that decides about the update: with ranks, their mean. */
static inline cu_ptr rt_engine_loss(const struct rt_program *p)
{
	if (!p->plan.loss)
		return 0;
	return rt_engine_of(p)->nccl && !p->plan.stage ? rt_engine_of(p)->loss_mean : (cu_ptr)(uintptr_t)p->plan.loss->data;
}

static inline cu_ptr rt_at(const struct rt_node *n)
{
	return n ? (cu_ptr)(uintptr_t)n->data : 0;
}

/* ---- helpers for launchers ---- */
#define RT_THREADS	256
#define RT_COLUMN_PARTS 64 /* parts of a column sum */

static inline bool narrow(const struct rt_node *n)
{
	return n->dtype == RT_BF16 || n->dtype == RT_F16;
}

/* The kernels for f32, bf16 and f16 have consecutive ids. */
static inline int typed(int kernel, const struct rt_node *n)
{
	return kernel + (n->dtype == RT_BF16 ? 1 : n->dtype == RT_F16 ? 2 : 0);
}

/* Conversion kernels from f32 to a reduced-precision type, and back. */
static inline int narrowing(enum rt_dtype low)
{
	return low == RT_BF16 ? RT_K_narrow_bf16 : RT_K_narrow_f16;
}

static inline int widening(enum rt_dtype low)
{
	return low == RT_BF16 ? RT_K_widen_bf16 : RT_K_widen_f16;
}

static inline int width(const struct rt_node *n) /* elements per 16 bytes */
{
	return narrow(n) ? 8 : 4;
}

static inline unsigned grid(const struct rt_engine *e, int64_t items)
{
	return (unsigned)GT_MAX(1, GT_MIN((items + RT_THREADS - 1) / RT_THREADS, (int64_t)e->dev->sms * 16));
}

static inline bool accumulates(const struct rt_call *c, int slot)
{
	return c->attr.accumulate >> slot & 1;
}

static inline cu_ptr scratch(const struct rt_call *c)
{
	return rt_at(c->out[RT_MAX_IO - 1]);
}

/* Records that the next launch reads or writes n `times` times, for the report of a profiled step. Needed for ops with
 * several kernels, because none of them has the op's bytes. Reading before adding counts too. */
static inline void rt_moves(struct rt_engine *e, const struct rt_node *n, int times)
{
	e->moves += n ? (double)rt_node_bytes(n) * times : 0;
}

/* Enqueues a product. Returns false, with nothing done, if the library cannot do its epilogue together with the product. */
bool rt_launch_gemm(struct rt_engine *e, const struct rt_gemm *g, const struct rt_gemm_args *a);
/* out (cols) = or += column sums of x (rows,cols) with stride ld in elements. part: memory for RT_COLUMN_PARTS rows. */
void rt_column_sums(struct rt_engine *e, cu_ptr out, cu_ptr x, const struct rt_node *type, int64_t ld, int64_t rows, int64_t cols,
		    bool add, cu_ptr part);
/* y (rows,cols) = act(x + bias). y may be x. */
void rt_bias_act(struct rt_engine *e, const struct rt_node *type, int64_t rows, int64_t cols, int kind, cu_ptr x, cu_ptr bias,
		 cu_ptr pre, cu_ptr y);
/* launch_attention.c: reports which kernels were chosen */
void rt_launch_attention_report(const struct rt_engine *e, json_t *doc);
/* launch_user.c: loads the images of the current shape, once per engine */
int rt_launch_user_open(struct rt_program *p, struct gt_err *err);
void rt_launch_user_close(struct rt_engine *e);
#endif
