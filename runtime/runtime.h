/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_RUNTIME_H
#define RT_RUNTIME_H
/*
 * The training runtime: a small graph compiler.
 *
 * A model is declared once as a static graph of tensors (rt_input, rt_param and the ops below). rt_compile turns the graph
 * into a flat program: fusion, automatic differentiation, placement of the optimizer's updates and a memory plan, all before
 * the first step. rt_step replays the program: it allocates nothing, decides nothing and, from the third on, faults no page. The
 * product library and the OpenMP runtime allocate with malloc in each call; rt_keep_heap() keeps that memory in the process.
 *
 *   struct rt_graph *g = rt_graph_new();
 *   struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(256, 784)), *y = rt_input(g, "y", RT_I32, RT_SHAPE(256));
 *   struct rt_node *w = rt_param(g, "w", RT_SHAPE(10, 784), RT_INIT_NORMAL(0.02f));
 *   struct rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, NULL), y);
 *   rt_compile(g, loss, &(struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.01 } }, &p, &err);
 *   rt_step(p, (const void *[]){ pixels, labels }, &metrics, &err);
 *
 * Building never fails half-way: an op that does not fit returns NULL, the graph keeps the first sentence (node and both
 * shapes), ops on NULL return NULL, and rt_compile reports it.
 *
 * Tensors are row-major and contiguous. Shapes are written outermost first: (B,T,C).
 * One program is used by one thread at a time; it runs OpenMP teams itself.
 */
#include <jansson.h>
#include "lib/base.h"
#ifdef __cplusplus
#include <initializer_list>
#endif

RT_API_BEGIN

/* Tensors that a model declares are RT_F32 or RT_I32; the others are made by passes. */
enum rt_dtype { RT_F32, RT_I32, RT_BF16, RT_F16, RT_U8, RT_E4M3, RT_E5M2 };
const char *rt_dtype_name(enum rt_dtype dtype);
size_t rt_dtype_bytes(enum rt_dtype dtype);

#define RT_MAX_DIMS	4
struct rt_shape {
	int n;
	int64_t d[RT_MAX_DIMS];
};
/* RT_SHAPE(256, 784) */
#ifdef __cplusplus
extern "C++" {
inline rt_shape rt_make_shape(std::initializer_list<int64_t> sizes)
{
	rt_shape s{};

	for (int64_t size : sizes)
		s.d[s.n++] = size;
	return s;
}
}
#define RT_SHAPE(...) rt_make_shape({ __VA_ARGS__ })
#define RT_INIT(kind, scale) (rt_init{ kind, scale })
#else
#define RT_SHAPE(...)                                                                                                  \
	((struct rt_shape){ .n = (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), .d = { __VA_ARGS__ } })
#define RT_INIT(kind, scale) ((struct rt_init){ kind, scale })
#endif
int64_t rt_shape_elements(const struct rt_shape *s);
/* "(256,784)"; returns buf. */
const char *rt_shape_format(const struct rt_shape *s, char *buf, size_t size);

/* How a parameter starts. Every element is a function of (seed, parameter, index) alone. */
enum rt_init_kind { RT_INIT_ZERO, RT_INIT_ONE, RT_INIT_NORMAL_STD, RT_INIT_UNIFORM_BOUND };
struct rt_init {
	enum rt_init_kind kind;
	float scale; /* standard deviation, or bound of the symmetric uniform */
};
#define RT_INIT_ZEROS	   RT_INIT(RT_INIT_ZERO, 0)
#define RT_INIT_ONES	   RT_INIT(RT_INIT_ONE, 0)
#define RT_INIT_NORMAL(s)  RT_INIT(RT_INIT_NORMAL_STD, (s))
#define RT_INIT_UNIFORM(b) RT_INIT(RT_INIT_UNIFORM_BOUND, (b))

/* ---- the graph ---- */
struct rt_graph;
struct rt_node; /* a tensor; owned by its graph */
struct rt_graph *rt_graph_new(void);
void rt_graph_free(struct rt_graph *g);
GT_DEFINE_AUTO(rt_graph, rt_graph_free);
/* 0, or what went wrong first while building. */
int rt_graph_error(const struct rt_graph *g, struct gt_err *err);
const struct rt_shape *rt_node_shape(const struct rt_node *n);
const char *rt_node_name(const struct rt_node *n);

/* Names must be unique among inputs and parameters. Results of ops are named after the op and may be renamed. */
struct rt_node *rt_input(struct rt_graph *g, const char *name, enum rt_dtype dtype, struct rt_shape shape);
struct rt_node *rt_param(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init);
/* What the model keeps beside its parameters and no gradient changes: a batchnorm's running statistics. */
struct rt_node *rt_buffer(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init);
struct rt_node *rt_name(struct rt_node *n, const char *name); /* returns n; NULL stays NULL */

/* y (…,N) = x (…,K) w(N,K)^T + b (N); b may be NULL. */
struct rt_node *rt_linear(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b);
/* y (B,T,C) = table (V,C)[ids (B,T)] + positions (P,C)[t], P >= T; positions may be NULL. ids outside 0..V-1 are refused by
 * rt_step. */
struct rt_node *rt_embedding(struct rt_graph *g, struct rt_node *ids, struct rt_node *table, struct rt_node *positions);
/* y = (x - mean) / sqrt(var + eps) * gain (C) + bias (C) over the last dimension of x (…,C). */
struct rt_node *rt_layernorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias, float eps);
/* y (B,T,C) = softmax(q k^T / sqrt(C/heads), causal) v per head, with qkv (B,T,3C) = q | k | v side by side.
 * The (B,heads,T,T) scores never exist. */
struct rt_node *rt_attention(struct rt_graph *g, struct rt_node *qkv, int heads);
/* The tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
struct rt_node *rt_gelu(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_gelu_erf(struct rt_graph *g, struct rt_node *x); /* 0.5 x (1 + erf(x / sqrt(2))) */
struct rt_node *rt_relu(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_silu(struct rt_graph *g, struct rt_node *x); /* x / (1 + e^-x) */
struct rt_node *rt_tanh(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_sigmoid(struct rt_graph *g, struct rt_node *x);
/* a + b. b has the shape of a, or of a without its first dimensions: it is then added to every part of a. */
struct rt_node *rt_add(struct rt_graph *g, struct rt_node *a, struct rt_node *b);
struct rt_node *rt_mul(struct rt_graph *g, struct rt_node *a, struct rt_node *b); /* a * b, same shapes */
struct rt_node *rt_affine(struct rt_graph *g, struct rt_node *x, float scale, float offset); /* scale x + offset */
/* Each element is zero with probability rate, else x / (1 - rate); in rt_eval it is x. Which ones is a function of the seed,
 * the dropout, the step and the element. 0 <= rate < 1. */
struct rt_node *rt_dropout(struct rt_graph *g, struct rt_node *x, float rate);
struct rt_node *rt_softmax(struct rt_graph *g, struct rt_node *x); /* over the last dimension */
/* Rotary position embedding: x (B,T,W), whose first `heads` heads of `depth` columns are rotated by their position t. Elements i
 * and i + depth/2 of a head turn by t base^(-2i/depth), base is 10000 in most models; later columns are copied. Of qkv (B,T,3C) for
 * rt_attention(), twice its heads rotate q and k. */
struct rt_node *rt_rope(struct rt_graph *g, struct rt_node *x, int heads, int depth, float base);
/* y = x / sqrt(mean(x^2) + eps) * gain (C) over the last dimension of x (…,C). */
struct rt_node *rt_rmsnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, float eps);
/* One dimension (from 0) less; a tensor of one dimension becomes (1). The gradient of a maximum goes to its first place. */
enum rt_reduction { RT_SUM, RT_MEAN, RT_MAX };
struct rt_node *rt_reduce(struct rt_graph *g, struct rt_node *x, enum rt_reduction how, int dimension);
/* The same elements in another shape. */
struct rt_node *rt_reshape(struct rt_graph *g, struct rt_node *x, struct rt_shape shape);
/* y (…,M,N) = op(a) op(b) for each of the leading dimensions, which are the same; op(a) is (M,K), op(b) is (K,N), and
 * ta, tb say that the operand is stored the other way round. */
struct rt_node *rt_matmul(struct rt_graph *g, struct rt_node *a, bool ta, struct rt_node *b, bool tb);
/* As rt_attention, every query seeing every key. */
struct rt_node *rt_attention_full(struct rt_graph *g, struct rt_node *qkv, int heads);

/* ---- images: (N,H,W,C), channels innermost ---- */
struct rt_conv2d {
	int stride; /* 0 means 1 */
	int pad;    /* zeros on each side */
	int groups; /* 0 means 1 */
};
/* y (N,OH,OW,O) = x (N,H,W,C) * w (O,C/groups,KH,KW) + b (O), OH = (H + 2 pad - KH) / stride + 1; b may be NULL. Weights are
 * in torch's order. */
struct rt_node *rt_conv2d(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b, struct rt_conv2d how);
/* y = (x - mean) / sqrt(var + eps) * gain (C) + bias (C) per channel, over all but the last dimension of x (…,C). rt_step
 * takes the batch's mean and variance, and moves running_mean and running_var (C) towards them by `momentum` (torch: 0.1)
 * once the loss is known to be finite; rt_eval takes the running ones. */
struct rt_node *rt_batchnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias,
			     struct rt_node *running_mean, struct rt_node *running_var, float eps, float momentum);
/* Windows of window x window; padding is never the maximum, and counts as zeros in the average. pad <= window / 2. */
struct rt_node *rt_max_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad);
struct rt_node *rt_avg_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad);
/* Zeros before and after the last dimension. */
struct rt_node *rt_pad(struct rt_graph *g, struct rt_node *x, int before, int after);

/*
 * An op of your own, of f32 tensors: one const struct, which must outlive its graphs; runtime/example/user_gelu.c is one. It runs
 * on RT_CPU, and on RT_CUDA where it says how (struct rt_user_cuda); rt_compile for a device that it does not know refuses it
 * (-ENOSYS).
 * shapes[i] is that of input i, shapes[inputs] that of the result. The functions may run OpenMP teams of `threads`. arg is what
 * rt_user() was given for this very node: what the op is made with beside its inputs. The library passes it on and looks at nothing
 * behind it; it must outlive the programs. The same op may be in a graph many times, each time with another.
 */
#define RT_USER_INPUTS	4
#define RT_USER_KERNELS 16
/* One run of it on a device. Tensors are f32, contiguous, at multiples of 256 bytes, whatever type the program's other tensors are
 * of. Addresses are the device's, of the size of its pointers: &run->y is what a kernel's pointer is passed by. */
struct rt_user_run {
	const struct rt_shape *shapes;
	void *arg;
	uint64_t in[RT_USER_INPUTS], y;
	uint64_t dy, dx[RT_USER_INPUTS]; /* backward; dx[i] is 0 where nobody wants it */
	uint64_t scratch;
	int multiprocessors;
	void *stream; /* the CUstream, cudaStream_t, that it runs on: for who calls other libraries */
};
/*
 * How it runs on RT_CUDA: kernels in an image, which the library loads when a program is compiled, and functions that launch them
 * by rt_user_launch(); no header and no library of CUDA's is needed, and where there is no card nobody misses one.
 * forward and backward return 0, or a negative errno with its sentence, which ends the compilation. They are called when a program
 * is compiled: what they enqueue on run->stream is captured and replayed in every step. (They are called in a step where calls are
 * made one by one: with poison, profile, trace or anomaly, and to find what is not finite.) So they enqueue, and neither wait nor
 * allocate; for the same shapes and arg it is always the same.
 */
struct rt_user_cuda {
	const void *image; /* as cuModuleLoadData takes it: cubin, fatbin, or PTX as text; NULL: none */
	const char *const *kernels; /* their names in it, then NULL */
	size_t (*scratch_bytes)(const struct rt_shape *shapes, bool backward, void *arg); /* memory while it runs; NULL: none */
	int (*forward)(const struct rt_user_run *run, struct gt_err *err);
	int (*backward)(const struct rt_user_run *run, struct gt_err *err); /* assigns dx; NULL: where the op has none */
};
/* Kernel number `kernel` of the op's list; args: where each of its parameters lies. */
int rt_user_launch(const struct rt_user_run *run, int kernel, const unsigned blocks[3], const unsigned threads[3],
		   size_t shared_bytes, void **args, struct gt_err *err);
struct rt_user_op {
	const char *name;
	int inputs; /* 1 to RT_USER_INPUTS */
	/* The result's shape, or a negative errno with its sentence. NULL: that of the first input. */
	int (*shape)(const struct rt_shape *shapes, struct rt_shape *ret, void *arg, struct gt_err *err);
	void (*forward)(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg);
	/* Assign dx[i] of each input from dy; dx[i] is NULL where nobody wants it. NULL: the op has no gradient, and training
	 * parameters that lead to it is refused (-EINVAL). */
	void (*backward)(const float *const *in, const float *y, const float *dy, float *const *dx,
			 const struct rt_shape *shapes, int threads, void *arg);
	/* the plain definition */
	void (*reference)(const double *const *in, double *y, const struct rt_shape *shapes, void *arg);
	const struct rt_user_cuda *cuda; /* NULL: it runs on the CPU alone */
};
struct rt_node *rt_user(struct rt_graph *g, const struct rt_user_op *op, struct rt_node *const *in, void *arg);

/* Losses: scalars (1), where rt_compile starts. */
#define RT_IGNORE	(-100) /* a target that does not count, as in torch */
/* mean over rows of -log softmax(logits (…,V))[targets (…)], without the rows whose target is RT_IGNORE (padding). Fused with
 * the linear that makes the logits. */
struct rt_node *rt_cross_entropy(struct rt_graph *g, struct rt_node *logits, struct rt_node *targets);
/* The logits of a cross_entropy: what the model predicts. NULL: loss is the result of another op. */
struct rt_node *rt_logits(const struct rt_node *loss);
/* sum of a * b over all elements: any output against given weights, for gradient checks. */
struct rt_node *rt_dot(struct rt_graph *g, struct rt_node *a, struct rt_node *b);

/* The loss by each op's plain definition, in double, one element after the other: what everything else is checked against.
 * values[i] holds input, parameter or buffer i in order of declaration (RT_I32 as doubles). out, if not NULL, receives the elements
 * of node `watch`. */
int rt_reference(const struct rt_graph *g, const struct rt_node *watch, const double *const *values, double *out,
		 struct gt_err *err);
int rt_graph_leaves(const struct rt_graph *g); /* inputs, parameters and buffers */
struct rt_node *rt_graph_leaf(const struct rt_graph *g, int i);
struct rt_node *rt_graph_node(const struct rt_graph *g, const char *name); /* the last of that name, or NULL */
bool rt_node_is_param(const struct rt_node *n);
bool rt_node_is_buffer(const struct rt_node *n);
enum rt_dtype rt_node_dtype(const struct rt_node *n);

/* ---- compiling ---- */
enum rt_device { RT_CPU, RT_CUDA };
/* RT_ADAMW8: AdamW whose m and v are kept in 8 bits per element (Dettmers et al., 8-bit optimizers via block-wise
 * quantization, 2022): dynamic maps, one absolute maximum per 256 elements; tensors below 4096 elements keep f32. */
enum rt_optimizer_kind { RT_NO_OPTIMIZER, RT_SGD, RT_ADAM, RT_ADAMW, RT_ADAMW8 };
struct rt_optimizer {
	enum rt_optimizer_kind kind;
	double lr;
	double momentum;	       /* SGD */
	double beta1, beta2, eps;      /* Adam, AdamW; 0 means 0.9, 0.999, 1e-8 */
	double weight_decay;	       /* AdamW: decoupled; SGD, Adam: added to the gradient */
};
/* The dynamic loss scale, with the rules of torch.cuda.amp.GradScaler: an update whose gradients are not all finite is
 * skipped and the scale multiplied by backoff; after interval updates in a row that were not, it is multiplied by growth. */
enum rt_scaler_use { RT_SCALER_AUTO, RT_SCALER_ON, RT_SCALER_OFF }; /* AUTO: on with RT_F16 */
struct rt_scaler {
	enum rt_scaler_use use;
	double init, growth, backoff; /* 0 means 65536, 2, 0.5 */
	int64_t interval;	      /* 0 means 2000 */
};
/* Several ranks (runtime/transport/comm.h): the same program in each, on its own batch; gradients are averaged over the ranks. */
enum rt_compress { RT_COMPRESS_NONE, RT_COMPRESS_FP16, RT_COMPRESS_BF16, RT_COMPRESS_INT8, RT_COMPRESS_POWERSGD,
		   RT_COMPRESS_ONEBIT };
enum rt_when { RT_WHEN_AUTO, RT_WHEN_ON, RT_WHEN_OFF };
struct rt_comm;
struct rt_ddp_options {
	struct rt_comm *comm;	      /* NULL: one rank */
	double weight;		      /* this rank's share of the rows of all ranks; the shares add up to 1; 0: equal shares */
	uint64_t first_bucket_bytes, bucket_bytes; /* 0: 1 MiB and 25 MiB */
	/* Buckets reduced during the backward pass. AUTO: where others than the ranks' own threads move gradients, a device or
	 * a network; ranks of one host have nothing to gain. */
	enum rt_when overlap;
	/* Each rank updates its part of every parameter and hands it to the others (ZeRO, stage 1, Rajbhandari et al. 2020):
	 * the same bits as without, a part of the work and of the optimizer's state. Shared by the ranks of a node. What products
	 * lose by lines that another rank wrote is about what the update gains. It saves memory: AUTO is off. */
	enum rt_when shard;
	enum rt_compress compress;    /* how gradients travel; ddp/codec.h */
	int powersgd_rank;	      /* 0: 1 */
	int64_t compress_after;	      /* updates before the first compressed one */
};
/* Who multiplies in attention of bf16 on RT_CUDA: the faster of both with each shape, as timed when the program is built (with
 * options.deterministic our own kernels); our own; or NVIDIA's cuDNN, without which compiling fails. */
enum rt_attention_by { RT_ATTENTION_FASTEST, RT_ATTENTION_OWN, RT_ATTENTION_CUDNN };
/* Rows and columns of both operands of a product of 8 bits are multiples of this; others stay bf16. */
#define RT_FP8_SIDE	16
/* What a program takes of a device, known before any of it is allocated. */
struct rt_memory {
	uint64_t planned_bytes; /* the sum of the next seven */
	uint64_t parameter_bytes, state_bytes; /* state: the optimizer's, and copies of parameters in low types */
	uint64_t gradient_bytes; /* those that outlive a batch; the others are among the activations */
	uint64_t activation_bytes, workspace_bytes, staging_bytes, other_bytes;
	uint64_t free_bytes, total_bytes; /* of the device, its context being there already */
};
struct rt_fp8 {
	bool use;
	int history; /* updates whose largest absolute value makes a tensor's scale; 0: 1024 */
	int margin;  /* scales are 2^margin below what just fits */
};
/* Types that tensors and matrix products have. */
struct rt_precision {
	enum rt_dtype amp; /* RT_BF16, RT_F16: what products read, see pass/precision.c; RT_F32, 0: off. On RT_CUDA
			    * the type of all tensors between the ops */
	struct rt_scaler scaler;
	struct rt_fp8 fp8; /* RT_CUDA with RT_BF16: linear layers read 8-bit operands, see pass/fp8.c */
	bool no_master;	   /* RT_CUDA with RT_BF16: parameters are bf16 alone, and updates use stochastic rounding */
	bool tf32;	   /* RT_CUDA: products of f32 tensors round their operands to TF32 */
};
/* How much memory a program takes, and what it recomputes to take less. */
struct rt_memory_options {
	uint64_t limit_bytes;	     /* 0: the machine's physical memory; on RT_CUDA at most what the GPU has free */
	uint64_t logits_slice_bytes; /* most that logits may take at once; 0: 64 MiB, on CUDA 4 GiB */
	int checkpoint;		     /* segments of the forward pass, 2 or more: keep what crosses them (pass/checkpoint.c) */
	int recomputed;		     /* segments to recompute, from the first on; 0: all but the last */
	uint64_t fit_bytes;	     /* choose both, for the least work that needs no more memory than this; 0: off */
	bool no_huge_pages;	     /* do not ask for huge pages */
	/* RT_CUDA: called once, before memory is allocated; may be NULL. */
	void (*planned)(void *arg, const struct rt_memory *m);
	void *planned_arg;
};
/* Instruments, and switches that turn a technique off to compare with it. Each costs time or memory. */
struct rt_debug {
	bool no_fuse;	      /* every op on its own */
	bool no_winograd;     /* RT_CPU: every convolution does all its products, see pass/winograd.c */
	bool no_pad;	      /* RT_CUDA: no vocabulary is rounded up for the tensor cores, see pass/pad.c */
	bool zero_gradients;  /* clear gradients and add to them, as frameworks do, instead of assigning them */
	bool no_early_update; /* all updates after the backward pass; gradients live until then */
	bool no_reuse;	      /* every tensor keeps its own memory: rt_value() sees all of them after a step */
	bool keep_gradients;  /* rt_gradient() works after a step */
	bool poison;	      /* fill memory with NaN before it is written: proves the plan; slow */
	bool profile;	      /* time every call, for rt_program_report */
	bool trace;	      /* also record when each call of the last steps ran, for rt_program_trace */
	bool anomaly;	      /* inspect what every call writes: rt_step names the first that is not finite; slow */
};
/* All zero is a valid value: one process on the CPU in f32, without an optimizer. */
struct rt_options {
	enum rt_device device;
	int threads;	     /* 0: what OpenMP says (OMP_NUM_THREADS, affinity) */
	uint64_t seed;	     /* of the parameters' start values */
	bool deterministic;  /* RT_CUDA: the same bits in each run of a program; the CPU's are that anyway */
	int accum;	     /* batches per update, 0 means 1; see rt_step */
	double clip_norm;    /* most that the gradients' global 2-norm may be; 0: any */
	struct {
		float mean, std;
	} pixels;	     /* std above 0: f32 inputs are handed over as u8 and become (v / 255 - mean) / std by the
			      * first call, see pass/pixels.c */
	enum rt_attention_by attention_by;
	struct rt_optimizer optimizer;
	struct rt_precision precision;
	struct rt_memory_options memory;
	struct rt_ddp_options ranks;
	struct rt_debug debug;
};
struct rt_program;
/* On failure nothing is left behind: shape errors (-EINVAL), no such backend (-ENOSYS/-ENODEV), more memory than there is
 * (-ENOMEM, with the size and what would make it fit). All memory of the program is mapped, placed and touched here. */
int rt_compile(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt, struct rt_program **ret,
	       struct gt_err *err);
/*
 * A program that computes n nodes of the graph, each the result of an op (rt_run). Without an optimizer and gradients it trains
 * nothing: it keeps no gradients, no optimizer state, and memory of activations for as long as a later call reads them. If the
 * first output is a loss, rt_eval works too, and with an optimizer rt_step. -EINVAL: no output, an output of another graph,
 * an output that is an input or a parameter, training without a loss.
 */
int rt_compile_outputs(const struct rt_graph *g, struct rt_node *const *outputs, int n, const struct rt_options *opt,
		       struct rt_program **ret, struct gt_err *err);
/*
 * The same model for batches of n shapes: graphs that declare the same tensors in the same order and differ in the shapes of
 * their inputs (its sequence length, its rows). Each batch runs calls of its own shape; parameters, optimizer state and memory are
 * one: the memory is that of the largest shape, and no later batch allocates any. On RT_CUDA each shape has its captured step.
 */
int rt_compile_shapes(const struct rt_graph *const *g, struct rt_node *const *loss, int n, const struct rt_options *opt,
		      struct rt_program **ret, struct gt_err *err);
/* The shape of the next batches, 0 to n - 1; after compiling it is 0. Also what rt_program_flops() and rt_value() of a result
 * then speak of. Within one update batches of different shapes may follow each other. */
void rt_use_shape(struct rt_program *p, int shape);
void rt_program_free(struct rt_program *p);
GT_DEFINE_AUTO(rt_program, rt_program_free);

/* ---- running ---- */
struct rt_metrics {
	double loss;	   /* of this batch; in a call that ends an update, the weighted mean over the batches of all ranks */
	double update_loss; /* weighted mean over the batches of the update so far; in the call that ends it, over all ranks */
	int64_t step;	   /* updates so far */
	bool updated;	   /* this call ended in an update */
	bool skipped;	   /* it would have, but the gradients were not all finite and the loss scale was lowered */
	double grad_norm;  /* global 2-norm of the update's gradients before clipping; NAN unless clip_norm or the scaler is on */
	double loss_scale; /* that this update's gradients were made with; 1 without the scaler */
	/* On a device the host does not wait to learn whether the scaler skipped an update: `skipped` and grad_norm are those of
	 * the update before, and step counts this one as done; the next call, or rt_wait(), knows. */
};
/*
 * inputs[i] holds input i in order of declaration, in its dtype (or u8, options.pixels); copied before the step starts.
 * One forward and backward pass, and every options.accum calls one update with the weighted mean of their gradients
 * (rt_set_weight). -EDOM: the loss is not a number (with the loss scaler: for the 25th update in a row), or a gradient
 * is not and clipping wants its norm; the sentence names the first node that is not finite, no parameter was changed,
 * and the next call starts a new update. -ERANGE: an id or target outside its table. -EINVAL: a learning rate, weight or loss
 * scale was set that is none; nothing has changed.
 */
int rt_step(struct rt_program *p, const void *const *inputs, struct rt_metrics *ret, struct gt_err *err);
/* What the following batches count in the mean over an update, relative to each other: their tokens, say. Default 1. A batch that
 * counts 0 may consist of padding alone; an update all of whose batches count 0, on all ranks, is none: `updated` is false and
 * nothing changes. */
void rt_set_weight(struct rt_program *p, double weight);
/* Updates that the loss scaler skipped since the program was compiled; on a device as of the last rt_wait(). */
int64_t rt_skipped_updates(const struct rt_program *p);
/* The loss scaler's state, to be kept beside the parameters: the scale, and for how many updates it has held; on a device as of the
 * last rt_wait(). */
void rt_get_scaler(const struct rt_program *p, double *ret_scale, int64_t *ret_tracker);
void rt_set_scaler(struct rt_program *p, double scale, int64_t tracker);
/* Until all that was asked for is done: a device returns from rt_step() when it knows the loss and updates behind it. */
int rt_wait(struct rt_program *p, struct gt_err *err);
/*
 * Memory that batches lie in, a loader's ring (rt_loader_memory), say: its pages go to the NUMA node of the device and are locked
 * there, and inputs of rt_step() and rt_eval() that lie in it are copied from it by the device itself; others by way of memory of
 * the program's own. Until rt_unpin(), or the program's end; it must be there so long. Nothing is done on the CPU. -ENODEV: the
 * driver would not lock it, and inputs go the other way.
 */
int rt_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
void rt_unpin(struct rt_program *p, const void *base);
/* The forward pass alone: the loss at the present parameters. */
int rt_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err);
/*
 * The forward pass, as in an evaluation: no dropout, running statistics. outputs[i] receives the elements of output i as float,
 * row-major, in the shape of the node: rt_shape_elements(rt_program_output_shape(p, i)) of them. A loss is one kind of output and
 * has one element; values that are not finite are no error here. inputs as in rt_step; inputs[i] may be NULL if no output depends
 * on input i. Returns when outputs are there, on every device. -EINVAL: NULL where memory is needed, the sentence names it.
 * -ERANGE: an id or target outside its table.
 */
int rt_run(struct rt_program *p, const void *const *inputs, float *const *outputs, struct gt_err *err);
int rt_program_outputs(const struct rt_program *p); /* how many */
const struct rt_shape *rt_program_output_shape(const struct rt_program *p, int i); /* of the batch shape in use */
void rt_set_lr(struct rt_program *p, double lr);

/* Memory of a tensor inside the program, valid until rt_program_free: parameters and buffers always (they may be written between
 * steps); values only with no_reuse; gradients only with keep_gradients (the sum over the update so far, before its loss
 * scale is undone and before clipping), NULL if the loss does not depend on n. NULL too for a node that fusion removed. */
/* A program without optimizer and gradients looks at its parameters anew after each rt_value() of one of them. */
float *rt_value(struct rt_program *p, const struct rt_node *n); /* NULL on other devices than the CPU */
const float *rt_gradient(struct rt_program *p, const struct rt_node *n);
/* The same by copy, on every device: elements of n as float; waits for the device. -EINVAL: not kept. Parameters and buffers are
 * written by rt_write_param(). */
int rt_read_value(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_read_gradient(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_write_param(struct rt_program *p, const struct rt_node *n, const float *in, struct gt_err *err);
int64_t rt_program_parameters(const struct rt_program *p); /* elements of all parameters */
double rt_program_flops(const struct rt_program *p);	   /* per step, of the matrix products, as executed */
uint64_t rt_program_planned_bytes(const struct rt_program *p); /* equals what is mapped */
int rt_program_threads(const struct rt_program *p);
/*
 * { "device", "isa", "blas", "threads", "pages" (those that are there), "placement" (asked for), "pages_on_node": { "0": n, … }
 *   (where pages are, of those looked at), "pages_by_kind": { "weights": { "0": n }, "activations", "gradients", "optimizer" } and
 *   "threads_on_node": { "0": n } (both on the CPU only),
 *   "parameters", "flops_per_step", "bytes_per_step", "planned_bytes", "unplanned_bytes" (the same
 *   tensors without reuse), "passes": [{ "name", "did" }] (of the first shape), "shapes": [{ "planned_bytes",
 *   "flops_per_step" }] (with several), "memory": { struct rt_memory, "measured_bytes", "free_before_bytes" } (of a device: what it
 *   has less now than before), "inputs": { "direct", "copied" } (of a device: how many it has copied from where they lay, and how
 *   many first went elsewhere), "warnings": [ … ], "ops": [{ "op", "phase",
 *   "calls", "flops", "low_flops" (of products in the low
 *   type), "fp8_flops" (of these, in 8 bits, if any), "bytes", "seconds" (per step, the mean over those of all shapes; only
 *   with profile) }] }
 */
json_t *rt_program_report(const struct rt_program *p);
/* Share of the tensors' pages that lie on a NUMA node, 0 to 1, as the kernel says; NAN if it does not. */
double rt_program_pages_at(const struct rt_program *p, int node);
/* One step of p (keep_gradients, no optimizer) on inputs, and of its gradients `samples` elements, drawn from all parameters in
 * turn, against central differences of rt_reference(), in which dropouts drop what they drop in that step. That is slow: two plain
 * evaluations of the graph per sample. -EINVAL: several ranks or batches per update, a loss scale or weight. */
struct rt_gradient_check {
	int checked;
	double worst; /* largest difference, as a share of its tensor's largest gradient */
	const struct rt_node *node; /* where; NULL if nothing was checked or nothing differs */
	int64_t element;
	double got, numeric;
};
int rt_check_gradients(const struct rt_graph *g, const struct rt_node *loss, struct rt_program *p, const void *const *inputs,
		       int samples, struct rt_gradient_check *ret, struct gt_err *err);
/* With options.debug.trace: the last steps (RT_TRACE_EVENTS calls) in Chrome's trace format, for chrome://tracing or Perfetto: one
 * event per call with its tensors, flops and bytes, and the bytes that are live at each as a counter. */
#define RT_TRACE_EVENTS	65536
json_t *rt_program_trace(const struct rt_program *p);
/* What this machine can do with that many threads, measured now in a fraction of a second: the best of a few products of
 * 1536 x 1536 (flop/s in f32; in bf16, or 0 where that is only storage) and of passes over 192 MiB (bytes/s). */
struct rt_peaks {
	double flops_per_s, bf16_flops_per_s, bytes_per_s;
	double fp8_flops_per_s; /* cards from sm_89 on; else 0 */
	double f16_flops_per_s; /* of a card, where asked for; else 0 */
};
int rt_measure_peaks(int threads, struct rt_peaks *ret, struct gt_err *err);

/* ---- checkpoints ---- */
/* Parameters, buffers, optimizer state and loss scale as one safetensors file, written whole or not at all, and durable.
 * ticket: where the caller stands in its data, given back by rt_load. */
int rt_save(const struct rt_program *p, const char *path, uint64_t ticket, struct gt_err *err);
/* What the caller wants to find beside its ticket, UTF-8: rt_save() keeps it, rt_load() replaces it by the file's. NULL: none. */
void rt_set_note(struct rt_program *p, const char *note);
const char *rt_note(const struct rt_program *p); /* until it is set or loaded again */
/* From such a file, or from one with parameters and buffers alone (the optimizer then starts anew). Feedback of compressed
 * gradients is in no file and starts anew. -EBADMSG: not a sound safetensors file; -EINVAL: of another model, or with tensors that
 * this one has not; both leave the program as it was. -EIO: it ended early while it was read, and the program has parts of it. */
int rt_load(struct rt_program *p, const char *path, uint64_t *ret_ticket, struct gt_err *err);

/* ---- for the program that links the library ---- */
/* Stores a sentence in err (may be NULL) and returns -code: for the functions of a struct rt_user_op. */
int rt_fail(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* Asks long work of the library, such as rt_group_run(), to end as it does at this signal. A signal handler may call it. */
void rt_interrupt(int signal);
/* Makes glibc's malloc keep freed memory instead of returning it to the kernel, and use one arena (mallopt). For a process that
 * mostly trains: the third step and later ones then take no page fault. Call it before rt_compile. No other function of the
 * library changes settings of the process. */
void rt_keep_heap(void);

/* ---- backends ---- */
struct rt_backend_info {
	enum rt_device device;
	const char *name; /* "cpu", "cuda" */
	bool available;
	char reason[512]; /* one sentence if not available */
};
/* All backends of this build, always the same list. Returns how many; ret has room for RT_BACKENDS. */
#define RT_BACKENDS	2
int rt_backends(struct rt_backend_info ret[RT_BACKENDS]);
const char *rt_cpu_isa(void);  /* "avx512", "avx2", "sse2", "neon", "generic": what the kernels use on this machine */
const char *rt_cpu_blas(void); /* "oneDNN 2.6.3" */
/* What multiplies tensors of that type here: "amx", "avx512_bf16", or NULL where the type is only storage and the products
 * are made in f32. */
const char *rt_cpu_low_products(enum rt_dtype dtype);

/* ---- random numbers ---- Philox 4x32-10: a value is a function of its key and counter, on any number of threads. */
uint64_t rt_random_u64(uint64_t seed, uint64_t stream, uint64_t index);
float rt_random_normal(uint64_t seed, uint64_t stream, uint64_t index);
float rt_random_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* [0,1) */

/* ---- data ---- runtime/data/loader.h */

/* ---- models ---- built with the functions above alone */
struct rt_gpt_config {
	int64_t batch, seq, layers, width, heads, vocab;
	int64_t positions; /* rows of the position table; 0: seq */
	float dropout;	   /* behind embeddings, attention and mlp; 0: none */
};
/* GPT-2: pre-norm blocks, learnt positions, tied output. Declares inputs "tokens" and "targets" (batch,seq); returns the
 * loss. */
struct rt_node *rt_model_gpt(struct rt_graph *g, const struct rt_gpt_config *c);
/* BERT-style encoder with its masked-language loss: post-norm blocks, every token sees all, erf form of gelu. Same inputs; a
 * target is the token that was masked, or RT_IGNORE. */
struct rt_node *rt_model_bert(struct rt_graph *g, const struct rt_gpt_config *c);
struct rt_vit_config {
	int64_t batch, size, patch, layers, width, heads, classes;
	float dropout;
};
/* Vision transformer over patches of (size,size) images, mean of the tokens classified. Declares inputs "x"
 * (batch,size,size,3) and "y" (batch). */
struct rt_node *rt_model_vit(struct rt_graph *g, const struct rt_vit_config *c);
/* sizes[0] inputs, ReLU between layers, sizes[n-1] classes. Declares inputs "x" (batch,sizes[0]) and "y" (batch). */
struct rt_node *rt_model_mlp(struct rt_graph *g, int64_t batch, const int64_t *sizes, int n);
/* ResNet for small images: 6 n + 2 layers (depth 20, 32, 44, 56, …) of 16, 32, 64 channels, shortcuts without weights.
 * Declares inputs "x" (batch,size,size,3) and "y" (batch). */
struct rt_node *rt_model_resnet_small(struct rt_graph *g, int64_t batch, int64_t size, int depth, int64_t classes);
/* ResNet-50 for large images: bottlenecks of 3, 4, 6, 3; weights named as torchvision names them. Same inputs. */
struct rt_node *rt_model_resnet50(struct rt_graph *g, int64_t batch, int64_t size, int64_t classes);

RT_API_END
#endif
