/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_LAUNCH_H
#define RT_CUDA_LAUNCH_H
/* Inside the engine: what the launchers of the ops share. After the first failure every launch does nothing; the engine
 * reports that failure. */
#include "lib/json.h"
#include "runtime/backend/backend.h"
#include "runtime/cuda/blas.h"
#include "runtime/cuda/dnn.h"

/* Calls that one kernel does together: the updates of all tensors that stand side by side. */
struct update_group {
	int first, n; /* calls */
	cu_ptr tensors, chunks;
	int n_chunks;
	bool eight; /* moments of 8 bits among them */
};

/* What each shape of a batch has of its own: its calls are forward [0,n_forward), backward with what may be updated early
 * [n_forward,n_backward), what looks at all gradients [n_backward,n_measure), and the updates behind it. Captured: the first batch
 * of an update assigns gradients, the others add; the last one updates. Of a program that does not train, forward[1] leaves out
 * what is made once. */
struct rt_engine_shape {
	int n_forward, n_backward, n_measure;
	struct update_group *groups;
	int n_groups;
	const struct rt_node *scales; /* table of those of 8-bit tensors, or NULL; kernel/fp8.cuh */
	void *forward[2];     /* [adds] */
	void *backward[2][2]; /* [adds][updates] */
	void *early[2];	      /* instead of backward[adds][true], while gradients travel as they are */
	void *update;
};

struct rt_engine {
	struct rt_cuda *dev;
	struct rt_blas *blas;
	struct rt_dnn *dnn; /* opened for the first convolution or attention */
	struct { /* launch_attention.c */
		enum rt_attention_by by;
		bool absent;	  /* cuDNN could not be opened */
		struct gt_err why; /* it is not taken at all */
		int own[2], dnn[2]; /* [backward]: calls of the program, once it is built */
		int too_large[2];   /* cuDNN's plans that are not timed: they want too much workspace */
	} attention;
	cu_stream stream, copy;
	cu_ptr base;
	size_t bytes;
	struct rt_memory memory;
	size_t least_free; /* of the card, since it was opened */
	bool tf32;   /* struct rt_options */
	bool tuning; /* the first, eager run: products are timed */
	bool infers; /* a program that does not train: the loss alone is all there is */
	bool eval;   /* the loss alone */
	bool exact;  /* the same bits in each run */
	unsigned runs; /* forward passes so far: which of two places takes the inputs */
	bool begins; /* scales of 8-bit tensors by what they hold now: the first step, and evaluations before it */
	bool scaled; /* there were such steps: the table holds scales */
	int fp8_history;
	float fp8_factor; /* 2^-margin */
	double moves; /* bytes that the next launch counts for itself */
	int r;	     /* of the first launch that failed */
	struct gt_err err;

	/* inputs: host -> pinned -> staging (copy stream) -> where the plan has them (compute stream) */
	struct {
		struct {
			const char *base;
			size_t bytes;
		} *list; /* memory of the caller's whose pages are locked: copied from straight */
		int n;
		int64_t direct, copied; /* inputs: from there; from other memory, by way of pinned */
	} inputs;
	char *pinned[2];
	cu_ptr staging[2];
	size_t input_bytes;
	cu_event copied[2], loss_ready;
	float *loss; /* pinned */

	struct rt_update_step *steps; /* pinned, two */
	cu_ptr step;
	struct rt_engine_shape *shapes, *s; /* all; the one in use */
	int n_shapes;
	/* With ranks: gradients lie in buckets, which their own stream reduces while the backward pass goes on. */
	struct rt_nccl *nccl;
	cu_stream reduce;
	cu_event *ready, *reduced; /* per bucket */
	cu_event idle;
	bool spins; /* ranks have CPUs of their own to wait on */
	struct rt_coding_buffers {
		cu_ptr out, in, back, sum, part, scale, kept, lost, end; /* kept to end: of earlier updates, or 0 */
	} coding; /* of gradients that travel coded */
	struct rt_lowrank_bucket *lowrank; /* by PowerSGD: lowrank.c */
	bool plain;	/* for now they travel as they are */
	int n_buckets;
	cu_ptr window, loss_mean;
	cu_ptr maps;  /* of 8-bit moments: struct rt_update_maps */
	cu_ptr found; /* an int: is anything of a tensor not finite? */
	cu_ptr loss_seen; /* by updates: what rt_engine_loss says */

	cu_ptr norm; /* two floats, then for each chunk a double, its sum of squares; kernel/update.cuh */
	float *norm_out; /* pinned */
	struct { /* scaler.c; with the loss scaler alone */
		cu_ptr state;
		bool there; /* the device has what the program says */
		struct rt_scaler_state *seen; /* pinned, two */
		unsigned enqueued, settled; /* updates: the newest, and the newest that the host knows of */
		double norm; /* of that one */
		bool skipped;
	} scaler;
	cu_event norm_ready;

	double capture_s;
	struct rt_timing *timing; /* with profile or trace */
	struct rt_user_kernels *user; /* launch_user.c */
	/* What the host did itself in steps, without waiting. */
	double host_s;
	int64_t host_steps;
};

static inline struct rt_engine *rt_engine_of(const struct rt_program *p)
{
	return p->state;
}

struct rt_cuda_kernel {
	/* Launches the call's kernels; NULL: one launch does all calls of the op (replay.c). */
	void (*run)(struct rt_engine *e, const struct rt_call *c);
	/* Bytes that the call wants while it runs; NULL: none. */
	size_t (*scratch)(struct rt_engine *e, const struct rt_call *c);
	/* NULL, or why the device cannot run this call. */
	const char *(*refuses)(const struct rt_engine *e, const struct rt_call *c);
	int update; /* of an optimizer: the kernel that updates all tensors of a group, enum rt_kernel_id */
};
/* By op; NULL: the device has no kernel for it. */
extern const struct rt_cuda_kernel *const rt_cuda_kernels[RT_N_OPS];
#define RT_CUDA_BOTH(X, ID, name)  X(ID, name)
#define RT_CUDA_CUDA(X, ID, name)  X(ID, name)
#define RT_CUDA_RANKS(X, ID, name)
#define RT_CUDA_EXTERN(ID, name)   extern const struct rt_cuda_kernel rt_cuda_##name;
#define RT_CUDA_DECLARE(ID, name, kernels) RT_CUDA_##kernels(RT_CUDA_EXTERN, ID, name)
RT_OPS(RT_CUDA_DECLARE)
/* NULL, or why the device cannot run this call. */
const char *rt_launch_refuses(const struct rt_engine *e, const struct rt_call *c);

void rt_launch(struct rt_engine *e, int kernel, unsigned gx, unsigned gy, unsigned bx, unsigned by, size_t shared,
	       void **args);
#define RT_LAUNCH(e, kernel, gx, gy, bx, by, shared, ...)                                                              \
	rt_launch(e, kernel, (unsigned)(gx), (unsigned)(gy), (unsigned)(bx), (unsigned)(by), shared,                   \
		  (void *[]){ __VA_ARGS__ })
void rt_launch_on(struct rt_engine *e, cu_stream stream, int kernel, unsigned gx, unsigned bx, void **args);
/* Fails the engine unless r is 0. */
void rt_launch_result(struct rt_engine *e, int r, const struct gt_err *err);

/* Address of the float that 8-bit tensor n is multiplied by; 0 if it is none. */
cu_ptr rt_fp8_inverse(const struct rt_engine *e, const struct rt_node *n);
void rt_fp8_open(struct rt_program *p);
/* memory.c: the tables of the shape in use; all memory, once the plan is known to fit; what the card has free now; what the
 * report says of it. */
void rt_engine_find_groups(struct rt_program *p);
int rt_engine_allocate(struct rt_program *p, struct gt_err *err);
int rt_engine_read_memory(struct rt_engine *e, struct gt_err *err);
json_t *rt_engine_memory_report(const struct rt_engine *e);
/* Shape `shape` is the one in use. */
void rt_engine_use(struct rt_program *p, int shape);

/* Calls [from, to) one after the other; timed: each between two events, into its seconds; watched: what each writes is looked
 * at, and -EDOM without a sentence says that p->anomaly has who wrote something that is not finite. */
struct rt_launch_how {
	bool timed, watched, no_updates, no_once;
	bool mean_loss; /* behind them, with ranks */
};
int rt_launch_calls(struct rt_program *p, int from, int to, struct rt_launch_how how, struct gt_err *err);

/* inputs.c: a batch to the device, by pinned[slot] and staging[slot]; the caller's memory is his own again. */
int rt_inputs_load(struct rt_program *p, const void *const *inputs, int slot, struct gt_err *err);
void rt_inputs_free(struct rt_engine *e);

/* coding.c: buckets coded on their way; bytes that it wants on the device, to have them, nothing lost so far, whether step's
 * gradients are coded, a bucket's reduction, what a rank sends in a step. What is lost is kept at so many places; begin: before
 * the first bucket, settle: once it is known whether the update is done (rt_ddp_set_unit() and rt_ddp_settle() of the CPU). */
uint64_t rt_coding_bytes(const struct rt_program *p);
int rt_coding_open(struct rt_program *p, struct gt_err *err);
int rt_coding_forget(struct rt_program *p, struct gt_err *err);
bool rt_coding_now(const struct rt_program *p, int64_t step);
int rt_coding_places(const struct rt_program *p);
void rt_coding_begin(struct rt_engine *e);
void rt_coding_settle(struct rt_program *p);
int rt_coding_reduce(struct rt_program *p, int bucket, struct gt_err *err);
double rt_coding_sent_bytes(const struct rt_program *p);

/* scaler.c: before a batch, behind its forward pass; between the norm and the updates, and behind them. */
int rt_scaler_begin(struct rt_program *p, const struct rt_run *run, struct gt_err *err);
void rt_scaler_check(struct rt_program *p);
void rt_scaler_judge(struct rt_engine *e);
int rt_scaler_end(struct rt_program *p, struct gt_err *err);
/* The device is past that update: the program knows what became of it. */
void rt_scaler_settle(struct rt_program *p, unsigned update);

/* lowrank.c: the same for PowerSGD; base: of rt_lowrank_bytes(); Q as it starts; P and Q together. */
uint64_t rt_lowrank_bytes(const struct rt_program *p);
int rt_lowrank_open(struct rt_program *p, cu_ptr base, struct gt_err *err);
int rt_lowrank_start_q(struct rt_program *p, struct gt_err *err);
int rt_lowrank_reduce(struct rt_program *p, int bucket, struct gt_err *err);
double rt_lowrank_sent_floats(const struct rt_program *p, int bucket);

/* await.c: wait for the device; with ranks, no longer than all of them live and come. */
int rt_engine_await(struct rt_engine *e, cu_event event, struct gt_err *err);
int rt_engine_drain(struct rt_engine *e, struct gt_err *err); /* all that is enqueued */
/* Before the end: what waits for ranks that will not come is ended. */
void rt_engine_release(struct rt_engine *e);
/* Where this stream has come to is there for the other. */
int rt_engine_follow(struct rt_engine *e, cu_event event, cu_stream from, cu_stream to, struct gt_err *err);

#define RT_ENGINE_ALIGN	256
static inline uint64_t rt_engine_aligned(uint64_t bytes)
{
	return (bytes + RT_ENGINE_ALIGN - 1) / RT_ENGINE_ALIGN * RT_ENGINE_ALIGN;
}

static inline int rt_engine_check(const struct rt_engine *e, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(e->dev, code, what, err);
}

/* The loss that decides: the mean over the ranks. */
static inline cu_ptr rt_engine_loss(const struct rt_program *p)
{
	if (!p->plan.loss)
		return 0;
	return rt_engine_of(p)->nccl ? rt_engine_of(p)->loss_mean : (cu_ptr)(uintptr_t)p->plan.loss->data;
}

static inline cu_ptr rt_at(const struct rt_node *n)
{
	return n ? (cu_ptr)(uintptr_t)n->data : 0;
}

/* ---- for launchers ---- */
#define RT_THREADS	256
#define RT_COLUMN_PARTS	64 /* of a column sum */

static inline bool narrow(const struct rt_node *n)
{
	return n->dtype == RT_BF16 || n->dtype == RT_F16;
}

/* Kernels of all three types stand side by side. */
static inline int typed(int kernel, const struct rt_node *n)
{
	return kernel + (n->dtype == RT_BF16 ? 1 : n->dtype == RT_F16 ? 2 : 0);
}

/* From floats to a low type, and back. */
static inline int narrowing(enum rt_dtype low)
{
	return low == RT_BF16 ? RT_K_narrow_bf16 : RT_K_narrow_f16;
}

static inline int widening(enum rt_dtype low)
{
	return low == RT_BF16 ? RT_K_widen_bf16 : RT_K_widen_f16;
}

static inline int width(const struct rt_node *n) /* elements in 16 bytes */
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

/* The next launch reads or writes n so many times, for the report of a profiled step: of an op of several kernels none has the op's
 * bytes. Reading before adding counts too. */
static inline void rt_moves(struct rt_engine *e, const struct rt_node *n, int times)
{
	e->moves += n ? (double)rt_node_bytes(n) * times : 0;
}

/* A product; false if the library cannot do its epilogue in one go, and then nothing is done. */
bool rt_launch_gemm(struct rt_engine *e, const struct rt_gemm *g, const struct rt_gemm_args *a);
/* out (cols) = or += column sums of x (rows,cols), ld elements apart; part: RT_COLUMN_PARTS rows */
void rt_column_sums(struct rt_engine *e, cu_ptr out, cu_ptr x, const struct rt_node *type, int64_t ld, int64_t rows, int64_t cols,
		    bool add, cu_ptr part);
/* y (rows,cols) = act(x + bias), either of x and y may be the other */
void rt_bias_act(struct rt_engine *e, const struct rt_node *type, int64_t rows, int64_t cols, int kind, cu_ptr x, cu_ptr bias,
		 cu_ptr pre, cu_ptr y);
/* launch_attention.c: which kernels were chosen */
void rt_launch_attention_report(const struct rt_engine *e, json_t *doc);
/* launch_user.c: the images of the shape in use, once per engine */
int rt_launch_user_open(struct rt_program *p, struct gt_err *err);
void rt_launch_user_close(struct rt_engine *e);
#endif
