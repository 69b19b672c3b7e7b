/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_RUNTIME_H
#define RT_RUNTIME_H
/*
 * The training runtime: a small graph compiler.
 *
 * A model is declared once as a static graph of tensors (rt_input, rt_param and the ops below). rt_compile turns the
 * graph into a flat program before the first step: fusion, automatic differentiation, placement of the optimizer's
 * updates, and a memory plan. rt_step runs the program. It does not allocate, and from the third step on it takes no
 * page fault. The matrix product library and the OpenMP runtime do call malloc in each call; rt_keep_heap() keeps that
 * memory in the process.
 *
 *   struct rt_graph *g = rt_graph_new();
 *   struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(256, 784)), *y = rt_input(g, "y", RT_I32, RT_SHAPE(256));
 *   struct rt_node *w = rt_param(g, "w", RT_SHAPE(10, 784), RT_INIT_NORMAL(0.02f));
 *   struct rt_node *loss = rt_cross_entropy(g, rt_linear(g, x, w, NULL), y);
 *   rt_compile(g, loss, &(struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.01 } }, &p, &err);
 *   rt_step(p, (const void *[]){ pixels, labels }, &metrics, &err);
 *
 * Errors while building are deferred. An op whose operands do not fit returns NULL, and the graph keeps the first error
 * message (node and both shapes). Ops on NULL return NULL. rt_compile returns the stored error.
 *
 * Tensors are row-major and contiguous. Shapes are written outermost first: (B,T,C). A program must be used by one
 * thread at a time. It runs OpenMP teams itself.
 */
#include <jansson.h>
#include "lib/base.h"
#ifdef __cplusplus
#include <initializer_list>
#endif

RT_API_BEGIN

/* Tensors that a model declares are RT_F32 or RT_I32. Passes create tensors of the other types. */
enum rt_dtype { RT_F32, RT_I32, RT_BF16, RT_F16, RT_U8, RT_E4M3, RT_E5M2, RT_I8 };
const char *rt_dtype_name(enum rt_dtype dtype);
size_t rt_dtype_bytes(enum rt_dtype dtype);

#define RT_MAX_DIMS	4
struct rt_shape {
	int n;
	int64_t d[RT_MAX_DIMS];
};
/* Example: RT_SHAPE(256, 784) */
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
/* Formats the shape, for example "(256,784)", into buf and returns buf. */
const char *rt_shape_format(const struct rt_shape *s, char *buf, size_t size);

/* Initial value of a parameter. Each element is a function of (seed, parameter, index) only. */
enum rt_init_kind { RT_INIT_ZERO, RT_INIT_ONE, RT_INIT_NORMAL_STD, RT_INIT_UNIFORM_BOUND };
struct rt_init {
	enum rt_init_kind kind;
	float scale; /* standard deviation, or bound of the symmetric uniform distribution */
};
#define RT_INIT_ZEROS	   RT_INIT(RT_INIT_ZERO, 0)
#define RT_INIT_ONES	   RT_INIT(RT_INIT_ONE, 0)
#define RT_INIT_NORMAL(s)  RT_INIT(RT_INIT_NORMAL_STD, (s))
#define RT_INIT_UNIFORM(b) RT_INIT(RT_INIT_UNIFORM_BOUND, (b))

/* ---- graph ---- */
struct rt_graph;
struct rt_node; /* a tensor, owned by its graph */
struct rt_graph *rt_graph_new(void);
void rt_graph_free(struct rt_graph *g);
GT_DEFINE_AUTO(rt_graph, rt_graph_free);
/* Returns 0, or the first error that occurred while the graph was built. */
int rt_graph_error(const struct rt_graph *g, struct gt_err *err);
const struct rt_shape *rt_node_shape(const struct rt_node *n);
const char *rt_node_name(const struct rt_node *n);

/* Names must be unique among inputs and parameters. The result of an op has the op's name and may be renamed. */
struct rt_node *rt_input(struct rt_graph *g, const char *name, enum rt_dtype dtype, struct rt_shape shape);
struct rt_node *rt_param(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init);
/* Declares a tensor that is saved with the model but gets no gradient, for example a running statistic of batchnorm. */
struct rt_node *rt_buffer(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init);
/* Declares a tensor that a program keeps between its runs, in all batch shapes. It starts as zeros and is not saved. */
struct rt_node *rt_cache(struct rt_graph *g, const char *name, struct rt_shape shape);
struct rt_node *rt_name(struct rt_node *n, const char *name); /* returns n; NULL if n is NULL */

/* y (…,N) = x (…,K) w(N,K)^T + b (N); b may be NULL. */
struct rt_node *rt_linear(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b);
/* y (B,T,C) = table (V,C)[ids (B,T)] + positions (P,C)[t], P >= T; positions may be NULL. rt_step refuses ids outside
 * 0..V-1 (-ERANGE). */
struct rt_node *rt_embedding(struct rt_graph *g, struct rt_node *ids, struct rt_node *table, struct rt_node *positions);
/* y = (x - mean) / sqrt(var + eps) * gain (C) + bias (C) over the last dimension of x (…,C). */
struct rt_node *rt_layernorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias, float eps);
/* y (B,T,C) = softmax(q k^T / sqrt(C/heads), causal) v per head, with q, k, v side by side in qkv (B,T,3C). The
 * (B,heads,T,T) scores are not stored. */
struct rt_node *rt_attention(struct rt_graph *g, struct rt_node *qkv, int heads);
/* Does the same with fewer heads of keys and values (grouped-query attention). qkv is (B,T,C + 2 kv_heads D) with D =
 * C/heads. heads / kv_heads consecutive heads share one key/value head. */
struct rt_node *rt_attention_grouped(struct rt_graph *g, struct rt_node *qkv, int heads, int kv_heads);
/*
 * Causal attention of new tokens over all tokens so far. cache (B,2 kv_heads,P,D) is an rt_cache() with the keys, then the
 * values, of P positions. positions (B,T) of RT_I32 is the position of each token. The key and value of each token are
 * written there; its query reads the keys up to its position. CPU only, without a gradient. rt_run() refuses positions
 * outside 0..P-1 (-ERANGE).
 */
struct rt_node *rt_attention_cached(struct rt_graph *g, struct rt_node *qkv, struct rt_node *cache, struct rt_node *positions,
				    int heads, int kv_heads);
/* y (B,1,C) = x (B,T,C)[b, index[b]], index (B) of RT_I32. CPU only, without a gradient. */
struct rt_node *rt_select_row(struct rt_graph *g, struct rt_node *x, struct rt_node *index);
/* The tanh form of GELU: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). */
struct rt_node *rt_gelu(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_gelu_erf(struct rt_graph *g, struct rt_node *x); /* 0.5 x (1 + erf(x / sqrt(2))) */
struct rt_node *rt_relu(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_silu(struct rt_graph *g, struct rt_node *x); /* x / (1 + e^-x) */
/* y (…,F) = silu(a) b, with a and b side by side in x (…,2F). */
struct rt_node *rt_swiglu(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_tanh(struct rt_graph *g, struct rt_node *x);
struct rt_node *rt_sigmoid(struct rt_graph *g, struct rt_node *x);
/* y = a + b. b has the shape of a, or the last dimensions of a's shape. In the second case it is broadcast over a's
 * first dimensions. */
struct rt_node *rt_add(struct rt_graph *g, struct rt_node *a, struct rt_node *b);
struct rt_node *rt_mul(struct rt_graph *g, struct rt_node *a, struct rt_node *b); /* a * b, equal shapes */
struct rt_node *rt_affine(struct rt_graph *g, struct rt_node *x, float scale, float offset); /* scale x + offset */
/* y = 0 with probability rate, otherwise x / (1 - rate), per element; 0 <= rate < 1. rt_eval returns x. The mask is a
 * function of the seed, the dropout node, the step and the element index. */
struct rt_node *rt_dropout(struct rt_graph *g, struct rt_node *x, float rate);
struct rt_node *rt_softmax(struct rt_graph *g, struct rt_node *x); /* over the last dimension */
/*
 * Rotary position embedding. Rotates the first `heads` heads of `depth` columns of x (B,T,W) by position t. Elements i
 * and i + depth/2 of a head are rotated by t base^(-2i/depth); base is 10000 in most models. Later columns are copied.
 * With qkv (B,T,3C) of rt_attention(), twice the number of its heads rotates q and k.
 */
struct rt_node *rt_rope(struct rt_graph *g, struct rt_node *x, int heads, int depth, float base);
/* Does the same at positions (B,T) of RT_I32. CPU only, without a gradient. */
struct rt_node *rt_rope_at(struct rt_graph *g, struct rt_node *x, struct rt_node *positions, int heads, int depth, float base);
/* y = x / sqrt(mean(x^2) + eps) * gain (C) over the last dimension of x (…,C). */
struct rt_node *rt_rmsnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, float eps);
/* Reduces one dimension, counted from 0. A one-dimensional tensor becomes (1). The gradient of a maximum goes to its
 * first occurrence. */
enum rt_reduction { RT_SUM, RT_MEAN, RT_MAX };
struct rt_node *rt_reduce(struct rt_graph *g, struct rt_node *x, enum rt_reduction how, int dimension);
/* Returns the same elements with another shape. */
struct rt_node *rt_reshape(struct rt_graph *g, struct rt_node *x, struct rt_shape shape);
/* y (…,M,N) = op(a) op(b), for equal leading dimensions. op(a) is (M,K) and op(b) is (K,N). ta, tb: the operand is
 * stored transposed. */
struct rt_node *rt_matmul(struct rt_graph *g, struct rt_node *a, bool ta, struct rt_node *b, bool tb);
/* Like rt_attention, without the causal mask. */
struct rt_node *rt_attention_full(struct rt_graph *g, struct rt_node *qkv, int heads);

/* ---- images: (N,H,W,C), channels innermost ---- */
struct rt_conv2d {
	int stride; /* 0 means 1 */
	int pad;    /* zeros on each side */
	int groups; /* 0 means 1 */
};
/* y (N,OH,OW,O) = x (N,H,W,C) * w (O,C/groups,KH,KW) + b (O), OH = (H + 2 pad - KH) / stride + 1; b may be NULL. The
 * weight layout is that of PyTorch. */
struct rt_node *rt_conv2d(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b, struct rt_conv2d how);
/*
 * y = (x - mean) / sqrt(var + eps) * gain (C) + bias (C) per channel, over all but the last dimension of x (…,C).
 * rt_step uses the mean and variance of the batch. If the loss is finite, it moves running_mean and running_var (C)
 * towards them by `momentum` (PyTorch: 0.1). rt_eval uses the running statistics.
 */
struct rt_node *rt_batchnorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias,
			     struct rt_node *running_mean, struct rt_node *running_var, float eps, float momentum);
/* Pooling over window x window pixels. Padding is ignored in the maximum and counts as zero in the average. pad <=
 * window / 2. */
struct rt_node *rt_max_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad);
struct rt_node *rt_avg_pool(struct rt_graph *g, struct rt_node *x, int window, int stride, int pad);
/* Pads the last dimension with `before` and `after` zeros. */
struct rt_node *rt_pad(struct rt_graph *g, struct rt_node *x, int before, int after);

/*
 * A user-defined op on f32 tensors: one const struct, which must outlive its graphs. See runtime/example/user_gelu.c.
 * It runs on RT_CPU, and on RT_CUDA if it has a struct rt_user_cuda. rt_compile for another device fails with -ENOSYS.
 *
 * shapes[i] is the shape of input i, shapes[inputs] the shape of the result. The functions may run OpenMP teams of
 * `threads` threads. arg is the pointer that rt_user() got for this node, for the op's parameters other than its
 * inputs. The library never dereferences it. It must outlive the programs. One op may occur in a graph many times, each
 * time with another arg.
 */
#define RT_USER_INPUTS	4
#define RT_USER_KERNELS 16
/*
 * One run of the op on a device. Tensors are f32, contiguous and 256-byte aligned, independent of the types of the
 * program's other tensors. Addresses are device pointers of the device's pointer size: pass &run->y as a kernel's
 * pointer argument.
 */
struct rt_user_run {
	const struct rt_shape *shapes;
	void *arg;
	uint64_t in[RT_USER_INPUTS], y;
	uint64_t dy, dx[RT_USER_INPUTS]; /* backward; dx[i] is 0 if that gradient is not needed */
	uint64_t scratch;
	int multiprocessors;
	void *stream; /* the CUstream (cudaStream_t) of the run, for calls to other libraries */
};
/*
 * The op on RT_CUDA: an image with kernels, which the library loads when a program is compiled, and functions that
 * launch the kernels with rt_user_launch(). This needs no CUDA header or library, and the program also runs on hosts
 * without a GPU.
 *
 * forward and backward return 0, or a negative errno with a message, which makes the compilation fail. They are called
 * while a program is compiled. The work that they enqueue on run->stream is captured and replayed in each step. They are also
 * called in a step that launches calls one by one. Such steps are those with poison, profile, trace or anomaly, and those that
 * search for a value that is not finite. They must only enqueue, not wait or allocate, and must enqueue the same work for the
 * same shapes and arg.
 */
struct rt_user_cuda {
	const void *image; /* argument of cuModuleLoadData: cubin, fatbin or PTX text; NULL: none */
	const char *const *kernels; /* names of the kernels in the image, NULL-terminated */
	size_t (*scratch_bytes)(const struct rt_shape *shapes, bool backward, void *arg); /* scratch memory of a run in
											   * bytes; NULL: none */
	int (*forward)(const struct rt_user_run *run, struct gt_err *err);
	int (*backward)(const struct rt_user_run *run, struct gt_err *err); /* assigns dx; NULL if the op has no backward */
};
/* Launches kernel number `kernel` of the op's list. args are the addresses of its arguments. */
int rt_user_launch(const struct rt_user_run *run, int kernel, const unsigned blocks[3], const unsigned threads[3],
		   size_t shared_bytes, void **args, struct gt_err *err);
struct rt_user_op {
	const char *name;
	int inputs; /* 1 to RT_USER_INPUTS */
	/* Sets the result's shape, or returns a negative errno with a message. NULL: the shape of the first input. */
	int (*shape)(const struct rt_shape *shapes, struct rt_shape *ret, void *arg, struct gt_err *err);
	void (*forward)(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg);
	/* Assigns dx[i] of each input from dy; dx[i] is NULL if that gradient is not needed. NULL: the op has no
	 * gradient, and rt_compile refuses to train parameters before it (-EINVAL). */
	void (*backward)(const float *const *in, const float *y, const float *dy, float *const *dx,
			 const struct rt_shape *shapes, int threads, void *arg);
	/* The definition of the op, in double, one element after the other. */
	void (*reference)(const double *const *in, double *y, const struct rt_shape *shapes, void *arg);
	const struct rt_user_cuda *cuda; /* NULL: CPU only */
};
struct rt_node *rt_user(struct rt_graph *g, const struct rt_user_op *op, struct rt_node *const *in, void *arg);

/* Losses: scalars of shape (1). */
#define RT_IGNORE	(-100) /* target value that is excluded from the loss, as in PyTorch */
/* Mean over rows of -log softmax(logits (…,V))[targets (…)]. Rows with target RT_IGNORE (padding) are excluded. Fused
 * with the linear op that computes the logits. */
struct rt_node *rt_cross_entropy(struct rt_graph *g, struct rt_node *logits, struct rt_node *targets);
/* Returns the logits of a cross_entropy, that is the model's prediction. NULL if another op computed the loss. */
struct rt_node *rt_logits(const struct rt_node *loss);
/* Sum of a * b over all elements: a loss from any output and given weights, for gradient checks. */
struct rt_node *rt_dot(struct rt_graph *g, struct rt_node *a, struct rt_node *b);

/*
 * Computes the loss by the definition of each op, in double and in sequence: the reference for all tests. values[i]
 * holds input, parameter or buffer i in order of declaration (RT_I32 as doubles). out receives the elements of node
 * `watch`.
 */
int rt_reference(const struct rt_graph *g, const struct rt_node *watch, const double *const *values, double *out,
		 struct gt_err *err);
int rt_graph_leaves(const struct rt_graph *g); /* number of inputs, parameters and buffers */
struct rt_node *rt_graph_leaf(const struct rt_graph *g, int i);
struct rt_node *rt_graph_node(const struct rt_graph *g, const char *name); /* the last node of that name, or NULL */
bool rt_node_is_param(const struct rt_node *n);
bool rt_node_is_buffer(const struct rt_node *n);
enum rt_dtype rt_node_dtype(const struct rt_node *n);

/* ---- compilation ---- */
enum rt_device { RT_CPU, RT_CUDA };
/*
 * RT_ADAMW8: AdamW with m and v in 8 bits per element (Dettmers et al., 8-bit optimizers via block-wise quantization,
 * 2022). Uses dynamic maps and one absolute maximum per 256 elements. Tensors below 4096 elements keep f32.
 */
enum rt_optimizer_kind { RT_NO_OPTIMIZER, RT_SGD, RT_ADAM, RT_ADAMW, RT_ADAMW8 };
struct rt_optimizer {
	enum rt_optimizer_kind kind;
	double lr;
	double momentum;	       /* SGD */
	double beta1, beta2, eps;      /* Adam, AdamW; 0 means 0.9, 0.999, 1e-8 */
	double weight_decay;	       /* AdamW: decoupled; SGD, Adam: times the parameter, added to the gradient */
};
/*
 * The dynamic loss scale, with the rules of torch.cuda.amp.GradScaler. An update with a non-finite gradient is skipped
 * and the scale is multiplied by backoff. After `interval` consecutive updates without a skip, the scale is multiplied
 * by growth.
 */
enum rt_scaler_use { RT_SCALER_AUTO, RT_SCALER_ON, RT_SCALER_OFF }; /* AUTO: on with RT_F16 */
struct rt_scaler {
	enum rt_scaler_use use;
	double init, growth, backoff; /* 0 means 65536, 2, 0.5 */
	int64_t interval;	      /* 0 means 2000 */
};
/* Several ranks (runtime/transport/comm.h): each rank runs the same program on its own batch, and gradients are
 * averaged over the ranks. */
enum rt_compress { RT_COMPRESS_NONE, RT_COMPRESS_FP16, RT_COMPRESS_BF16, RT_COMPRESS_INT8, RT_COMPRESS_POWERSGD,
		   RT_COMPRESS_ONEBIT };
enum rt_when { RT_WHEN_AUTO, RT_WHEN_ON, RT_WHEN_OFF };
struct rt_comm;
struct rt_ddp_options {
	struct rt_comm *comm;	      /* NULL: one rank */
	/* Tensor parallelism: these ranks split the products of linear layers, the heads of attention and the vocabulary
	 * (pass/tensor.c). They get the same batches. NULL: none. CPU only. */
	struct rt_comm *tensor;
	/* Sequence parallelism: between the split layers, each rank of `tensor` has a part of the tokens (pass/sequence.c). Needs
	 * less memory for activations and sends more bytes. */
	bool sequence;
	double weight;		      /* this rank's fraction of the rows of all ranks; the fractions add up to 1; 0: equal */
	uint64_t first_bucket_bytes, bucket_bytes; /* 0: 1 MiB and 25 MiB */
	/* Reduces buckets during the backward pass. AUTO: on if a device or a network moves the gradients. On one host
	 * the ranks' own threads move them, so there is no gain. */
	enum rt_when overlap;
	/* Each rank updates its part of every parameter and sends it to the others (ZeRO stage 1, Rajbhandari et al.
	 * 2020). The results are equal to the bit. Each rank does a part of the update and holds a part of the
	 * optimizer's state. Only ranks of the same node share the work. The update gains time. Matrix products lose
	 * about as much, because another rank wrote the parameters' cache lines. The option saves memory, not time, so
	 * AUTO is off. */
	enum rt_when shard;
	/* Stage of sharding. 1, or 0: the optimizer's state; 2: also the sums of gradients; 3: also the parameters, which are
	 * gathered for each call that reads them. 2 and 3: all ranks of comm share one NUMA node. With 3, rt_value() of a
	 * parameter is NULL. */
	int shard_stage;
	/* The exchange of torch.nn.DataParallel, to compare with: rank 0 sums the gradients of all ranks, updates, and sends the
	 * parameters to the others. The results are equal to the bit on one NUMA node. For ranks on CPUs of one host. Excludes
	 * sharding, compression, clipping, the loss scaler, keep_gradients and options.sparse. */
	bool gather;
	enum rt_compress compress;    /* compression of gradients; ddp/codec.h */
	int powersgd_rank;	      /* 0: 1 */
	int64_t compress_after;	      /* updates before the first compressed one */
};
/*
 * Pipeline parallelism: each rank of `comm` runs one stage of the model on the microbatches of an update. accum is their
 * number, and a batch of rt_step() is a microbatch, which all stages get. The stages hold different parameters; the first
 * stage and the last may share one. Only the last stage computes the loss, and all stages return it. rt_save() and rt_load()
 * are collective; the file does not depend on the stages.
 */
enum rt_schedule { RT_1F1B, RT_GPIPE };
struct rt_pipeline_options {
	struct rt_comm *comm; /* NULL: no pipeline */
	enum rt_schedule schedule;
	int stages, stage; /* set from comm by rt_compile() */
};
/*
 * Attention of bf16 on RT_CUDA. FASTEST: the faster implementation per shape, timed when the program is built; with
 * options.deterministic the runtime's own kernels. OWN: the runtime's own kernels. CUDNN: NVIDIA's cuDNN; compiling
 * fails without it.
 */
enum rt_attention_by { RT_ATTENTION_FASTEST, RT_ATTENTION_OWN, RT_ATTENTION_CUDNN };
/* An 8-bit product needs operands whose rows and columns are multiples of this. Other products stay bf16. */
#define RT_FP8_SIDE	16
/* Device memory of a program, known before anything is allocated. */
struct rt_memory {
	uint64_t planned_bytes; /* sum of the next seven */
	uint64_t parameter_bytes, state_bytes; /* state: the optimizer's, and reduced-precision copies of parameters */
	uint64_t gradient_bytes; /* gradients that outlive a batch; other gradients count as activations */
	uint64_t activation_bytes, workspace_bytes, staging_bytes, other_bytes;
	uint64_t free_bytes, total_bytes; /* memory of the device, after its context was created */
};
struct rt_fp8 {
	bool use;
	int history; /* number of updates whose largest absolute value sets a tensor's scale; 0: 1024 */
	int margin;  /* scales are lower than the largest possible one by 2^margin */
};
/*
 * INT8 inference on RT_CPU, for programs that do not train. Linear layers and convolutions multiply 8-bit weights, with one
 * scale per output, by 8-bit activations, and sum in 32 bits (pass/quantize.c). DYNAMIC: the range of the activations is found
 * in each run, per row of a linear layer and per image of a convolution. STATIC: the range of each tensor is given by a
 * calibration. OBSERVE: products in f32; the program counts the values of its activations for rt_calibrate().
 */
enum rt_int8 { RT_INT8_OFF, RT_INT8_DYNAMIC, RT_INT8_STATIC, RT_INT8_OBSERVE };
struct rt_range {
	char *name;
	float lo, hi;
};
struct rt_ranges { /* ranges in the order of the products */
	struct rt_range *range;
	int n;
};
/* Types of tensors and matrix products. */
struct rt_precision {
	enum rt_dtype amp; /* RT_BF16 or RT_F16: type of the operands of products, see pass/precision.c; RT_F32 (0):
			    * off. On RT_CUDA also the type of all tensors between ops */
	struct rt_scaler scaler;
	struct rt_fp8 fp8; /* RT_CUDA with RT_BF16: linear layers read 8-bit operands, see pass/fp8.c */
	bool no_master;	   /* RT_CUDA with RT_BF16: parameters are stored in bf16 only, and updates use stochastic rounding */
	bool tf32;	   /* RT_CUDA: products of f32 tensors round their operands to TF32 */
	bool qat; /* RT_CPU, training in f32: products read operands rounded as with RT_INT8_DYNAMIC; gradients pass through the
		   * rounding (straight-through); see pass/qat.c */
	enum rt_int8 int8;
	const struct rt_ranges *ranges; /* RT_INT8_STATIC: of a program of the same graph; read while compiling */
};
/* Memory limit, and recomputation to reduce memory. */
struct rt_memory_options {
	uint64_t limit_bytes;	     /* 0: the machine's physical memory; on RT_CUDA at most the free GPU memory */
	uint64_t logits_slice_bytes; /* largest memory of logits at a time; 0: 64 MiB, on CUDA 4 GiB */
	int checkpoint;		     /* segments of the forward pass, at least 2; tensors used across a segment border
				      * are kept (pass/checkpoint.c) */
	int recomputed;		     /* number of segments to recompute, from the first; 0: all but the last */
	uint64_t fit_bytes;	     /* chooses both for the least work within this memory; 0: off */
	bool no_huge_pages;	     /* do not request huge pages */
	/* RT_CUDA: called once before memory is allocated; may be NULL. */
	void (*planned)(void *arg, const struct rt_memory *m);
	void *planned_arg;
};
/* Instruments, and switches that disable a technique for comparison. Each costs time or memory. */
struct rt_debug {
	bool no_fuse;	      /* no fusion: one call per op */
	bool no_winograd;     /* RT_CPU: no convolution uses Winograd's algorithm, see pass/winograd.c */
	bool no_pad;	      /* RT_CUDA: do not round vocabulary sizes up for the tensor cores, see pass/pad.c */
	bool zero_gradients;  /* clear gradients and accumulate into them, as other frameworks do, instead of assigning */
	bool no_early_update; /* run all updates after the backward pass; gradients live until then */
	bool no_reuse;	      /* give every tensor its own memory; rt_value() then works for all of them after a step */
	bool keep_gradients;  /* keep gradients for rt_gradient() after a step */
	bool poison;	      /* fill memory with NaN before it is written, to test the memory plan; slow */
	bool profile;	      /* time every call, for rt_program_report */
	bool trace;	      /* record the start and end of each call of the last steps too, for rt_program_trace */
	bool anomaly;	      /* inspect the outputs of every call; rt_step reports the first that is not finite; slow */
};
/* All zero is a valid value: one process on the CPU in f32, no optimizer. */
struct rt_options {
	enum rt_device device;
	int threads;	     /* 0: OpenMP's default (OMP_NUM_THREADS, affinity) */
	uint64_t seed;	     /* seed of the initial parameters */
	bool deterministic;  /* RT_CUDA: bit-identical results in each run; CPU results always are */
	int accum;	     /* batches per update, 0 means 1; see rt_step */
	double clip_norm;    /* largest global 2-norm of the gradients; 0: no limit */
	struct {
		float mean, std;
	} pixels;	     /* std > 0: f32 inputs are passed as u8, and the first call converts them to (v / 255 -
			      * mean) / std, see pass/pixels.c */
	bool sparse;	     /* RT_CPU: keep a mask of pruned elements per weight; set by rt_prune() */
	enum rt_attention_by attention_by;
	struct rt_optimizer optimizer;
	struct rt_precision precision;
	struct rt_memory_options memory;
	struct rt_ddp_options ranks;
	struct rt_pipeline_options pipeline;
	struct rt_debug debug;
};
struct rt_program;
/* Returns the largest number of pipeline stages of the graph. */
int rt_pipeline_most_stages(const struct rt_graph *g);
/*
 * Compiles a training program. Errors: -EINVAL for shapes, -ENOSYS or -ENODEV if the backend is missing, -ENOMEM with
 * the size and a remedy. On failure everything is freed. All memory of the program is mapped, placed and touched here.
 */
int rt_compile(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt, struct rt_program **ret,
	       struct gt_err *err);
/*
 * Compiles a program that computes n nodes of the graph, each the result of an op; see rt_run(). Without an optimizer
 * and keep_gradients the program cannot train: it has no gradients and no optimizer state, and activations live only
 * until their last use. If the first output is a loss, rt_eval works too, and with an optimizer rt_step. -EINVAL: no
 * output, an output of another graph, an output that is an input or a parameter, or training without a loss.
 */
int rt_compile_outputs(const struct rt_graph *g, struct rt_node *const *outputs, int n, const struct rt_options *opt,
		       struct rt_program **ret, struct gt_err *err);
/* Does the same for batches of several shapes, as rt_compile_shapes(). outputs[i] are the n outputs of graph i. */
int rt_compile_outputs_shapes(const struct rt_graph *const *g, struct rt_node *const *const *outputs, int n, int shapes,
			      const struct rt_options *opt, struct rt_program **ret, struct gt_err *err);
/*
 * Compiles one model for batches of n shapes. The graphs must declare the same tensors in the same order and may differ
 * in the shapes of their inputs (sequence length, rows). Each batch runs the calls of its own shape. All shapes share
 * parameters, optimizer state and memory. The memory is that of the largest shape, and no later batch allocates. On
 * RT_CUDA each shape has its own captured step.
 */
int rt_compile_shapes(const struct rt_graph *const *g, struct rt_node *const *loss, int n, const struct rt_options *opt,
		      struct rt_program **ret, struct gt_err *err);
/* Sets the shape of the next batches, 0 to n - 1; initially 0. rt_program_flops() and rt_value() of a result then refer
 * to that shape. Batches of one update may have different shapes. */
void rt_use_shape(struct rt_program *p, int shape);
/* A rank of dp data parallel, tp tensor parallel and pp pipeline ranks. */
struct rt_split {
	int dp, tp, pp;			   /* 1: not split */
	int data_rank, tensor_rank, stage; /* coordinates of the rank, from 0 */
};
/* Rates of one rank. reduced_flops_per_s: products of bf16 and f16. */
struct rt_rates {
	double flops_per_s, reduced_flops_per_s, bytes_per_s;
};
/* Requirements of one rank. Counts are per update. */
struct rt_rank_plan {
	uint64_t planned_bytes; /* rt_program_planned_bytes() of the rank's program: the sum of the next four */
	uint64_t parameter_bytes, gradient_bytes, optimizer_bytes;
	uint64_t activation_bytes; /* and all other memory */
	int64_t parameters;    /* number of parameters of the whole model */
	double flops, batches_s, update_s; /* batches_s: of all forward and backward passes, without messages */
	double data_bytes, tensor_bytes, pipeline_bytes; /* sent by this rank, as its program reports them */
	double tensor_calls; /* collectives of the tensor parallel ranks */
};
/*
 * Plans the program of one rank without its memory and without the other ranks, which may have any size. Ignores the groups
 * in opt, which `s` replaces. opt->device RT_CUDA: plans for a GPU with the types of the cuda device; none is opened, and all
 * splits are allowed. The time of a call is the longer of the times of its flops and of its bytes. -EINVAL: the model cannot
 * be split like this.
 */
int rt_plan_rank(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt, const struct rt_split *s,
		 const struct rt_rates *rates, struct rt_rank_plan *ret, struct gt_err *err);
void rt_program_free(struct rt_program *p);
GT_DEFINE_AUTO(rt_program, rt_program_free);

/* ---- execution ---- */
struct rt_metrics {
	double loss;	   /* loss of this batch; in a call that ends an update, the weighted mean over the batches of all ranks */
	double update_loss; /* weighted mean over the batches of this update so far; in the call that ends it, over all ranks */
	int64_t step;	   /* updates so far */
	bool updated;	   /* this call ended an update */
	bool skipped;	   /* the update was skipped and the loss scale lowered, because a gradient was not finite */
	double grad_norm;  /* global 2-norm of the update's gradients before clipping; NAN unless clip_norm or the
			    * scaler is on */
	double loss_scale; /* loss scale of this update's gradients; 1 without the scaler */
	/* On a device, the host does not wait for the scaler's decision. `skipped` and grad_norm are those of the
	 * previous update, and `step` counts the current update as done. The next call, or rt_wait(), corrects them. */
};
/*
 * Runs one forward and backward pass. Every options.accum calls, it also runs one update with the weighted mean of
 * their gradients (rt_set_weight). inputs[i] holds input i in order of declaration, in its dtype (or u8, options.pixels), and
 * is copied before the step starts. The next call after an error starts a new update.
 *
 * -EDOM: the loss is not finite (with the loss scaler: in the 25th consecutive update), or a gradient is not and
 * clipping needs its norm. The message names the first node that is not finite, and no parameter was changed. -ERANGE:
 * an id or target outside its table. -EINVAL: an invalid learning rate, weight or loss scale was set. Nothing has
 * changed.
 */
int rt_step(struct rt_program *p, const void *const *inputs, struct rt_metrics *ret, struct gt_err *err);
/*
 * Sets the weight of the following batches in the mean over an update, for example their number of tokens; default 1. A
 * batch of weight 0 may consist of padding only. If all batches of an update on all ranks have weight 0, nothing
 * changes and `updated` is false.
 */
void rt_set_weight(struct rt_program *p, double weight);
/* Returns the updates that the loss scaler skipped since compilation; on a device as of the last rt_wait(). */
int64_t rt_skipped_updates(const struct rt_program *p);
/* The loss scaler's state, to be saved with the parameters: the scale, and the number of updates since it changed. On a
 * device as of the last rt_wait(). */
void rt_get_scaler(const struct rt_program *p, double *ret_scale, int64_t *ret_tracker);
void rt_set_scaler(struct rt_program *p, double scale, int64_t tracker);
/* Waits until all requested work is done. On a device, rt_step() returns once the loss is known, before the update is
 * complete. */
int rt_wait(struct rt_program *p, struct gt_err *err);
/*
 * Registers memory that contains batches, for example a loader's ring (rt_loader_memory). Its pages are moved to the
 * NUMA node of the device and locked. The device copies inputs of rt_step() and rt_eval() in this memory directly;
 * other inputs are copied through a buffer of the program. The memory must stay mapped until rt_unpin() or the end of
 * the program. Does nothing on the CPU. -ENODEV: the driver cannot lock the memory, and inputs are copied through the
 * buffer.
 */
int rt_pin(struct rt_program *p, void *base, size_t bytes, struct gt_err *err);
void rt_unpin(struct rt_program *p, const void *base);
/* Runs the forward pass only and returns the loss for the current parameters. */
int rt_eval(struct rt_program *p, const void *const *inputs, double *ret_loss, struct gt_err *err);
/*
 * Runs the forward pass in evaluation mode: no dropout, running statistics. outputs[i] receives output i as float,
 * row-major, with rt_shape_elements(rt_program_output_shape(p, i)) elements. A loss is an output with one element.
 * Non-finite values are not an error. inputs are as in rt_step; inputs[i] may be NULL if no output depends on it.
 * Returns when the outputs are complete, on every device. -EINVAL: a required pointer is NULL; the message names it.
 * -ERANGE: an id or target outside its table.
 */
int rt_run(struct rt_program *p, const void *const *inputs, float *const *outputs, struct gt_err *err);
int rt_program_outputs(const struct rt_program *p); /* number of outputs */
const struct rt_shape *rt_program_output_shape(const struct rt_program *p, int i); /* for the current batch shape */
void rt_set_lr(struct rt_program *p, double lr);

/*
 * Memory of a tensor inside the program, valid until rt_program_free. Parameters and buffers are always available and
 * may be written between steps. Values need no_reuse. Gradients need keep_gradients: the sum over the update so far,
 * still multiplied by the loss scale, and not clipped. NULL if the loss does not depend on n, or if fusion removed n. A
 * program without optimizer and gradients reads its parameters again after each rt_value() of one of them. If the ranks of
 * ranks.tensor split a tensor, this is the part of this rank.
 */
float *rt_value(struct rt_program *p, const struct rt_node *n); /* NULL on devices other than the CPU */
const float *rt_gradient(struct rt_program *p, const struct rt_node *n);
/*
 * Copy the elements of n as float, on every device. Wait for the device. -EINVAL: the tensor is not kept. rt_write_param()
 * writes parameters and buffers. Tensors are whole also if ranks split them: the reads of a split parameter and of its
 * gradient are collective over ranks.tensor. -ENOSYS: a split value that is not a parameter.
 */
int rt_read_value(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_read_gradient(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err);
int rt_write_param(struct rt_program *p, const struct rt_node *n, const float *in, struct gt_err *err);
int64_t rt_program_parameters(const struct rt_program *p); /* number of elements of all parameters */
double rt_program_flops(const struct rt_program *p);	   /* flops of the matrix products per step, as executed */
uint64_t rt_program_planned_bytes(const struct rt_program *p); /* equal to the mapped size */
int rt_program_threads(const struct rt_program *p);
/* Returns the bytes of the parameters, buffers and quantised weights that a run reads. */
uint64_t rt_program_weight_bytes(const struct rt_program *p);
uint64_t rt_program_cache_bytes(const struct rt_program *p); /* size of all rt_cache() tensors */
/*
 * Describes the program as JSON:
 * { "device", "isa", "blas", "threads",
 *   "pages": actual page size, "placement": requested NUMA placement,
 *   "pages_on_node": { "0": n, … }: sampled pages per NUMA node,
 *   "pages_by_kind": { "weights": { "0": n }, "activations", "gradients", "optimizer" }: CPU only,
 *   "threads_on_node": { "0": n }: CPU only,
 *   "parameters", "flops_per_step", "bytes_per_step", "planned_bytes",
 *   "unplanned_bytes": the same tensors without reuse,
 *   "plan": { "planned_bytes", "permanent_bytes", "live_bytes": largest sum of live tensors during a call,
 *             "fragmentation": 1 - live_bytes / planned_bytes }: of the largest shape,
 *   "passes": [{ "name", "did" }]: of the first shape,
 *   "shapes": [{ "planned_bytes", "flops_per_step" }]: if there are several,
 *   "memory": { struct rt_memory, "measured_bytes": decrease of free memory, "free_before_bytes" }: devices only,
 *   "inputs": { "direct", "copied" }: batches copied by the device directly, or through a buffer; devices only,
 *   "pipeline": stage of a pipeline, see runtime/ddp/pipeline.h,
 *   "warnings": [ … ],
 *   "ops": [{ "op", "phase", "calls", "flops", "bytes",
 *             "low_flops": of reduced-precision products, "fp8_flops": 8-bit part of these,
 *             "live_bytes", "peak_bytes": mean and maximum over its calls of all live tensors; need profile,
 *             "allocated_bytes": per step, tensors whose life begins with its calls; needs profile,
 *             "seconds": per step, mean over all shapes; needs profile }] }
 */
json_t *rt_program_report(const struct rt_program *p);
/* Returns the fraction (0 to 1) of the tensors' pages on a NUMA node, or NAN if the kernel does not report it. */
double rt_program_pages_at(const struct rt_program *p, int node);
/*
 * Checks gradients. Runs one step of p (keep_gradients, no optimizer) on inputs. Compares `samples` elements of its
 * gradients with central differences of rt_reference(). The elements are drawn from all parameters in turn. The step
 * and the reference use the same dropout masks. Slow: two reference evaluations of the graph per sample. -EINVAL:
 * several ranks or batches per update, a loss scale or weight.
 */
struct rt_gradient_check {
	int checked;
	double worst; /* largest difference relative to the largest gradient of its tensor */
	const struct rt_node *node; /* parameter of that element; NULL if nothing was checked or there is no difference */
	int64_t element;
	double got, numeric;
};
int rt_check_gradients(const struct rt_graph *g, const struct rt_node *loss, struct rt_program *p, const void *const *inputs,
		       int samples, struct rt_gradient_check *ret, struct gt_err *err);
/* Returns the last steps (RT_TRACE_EVENTS calls) in Chrome's trace format, for chrome://tracing or Perfetto; needs
 * options.debug.trace. There is one event per call with its tensors, flops and bytes, and a counter of live bytes. */
#define RT_TRACE_EVENTS	65536
json_t *rt_program_trace(const struct rt_program *p);
/* Peak rates of this machine with `threads` threads, measured in a fraction of a second. flop/s: the best of a few
 * products of 1536 x 1536 in f32 and bf16 (0 if bf16 is for storage only). bytes/s: passes over 192 MiB. */
struct rt_peaks {
	double flops_per_s, bf16_flops_per_s, bytes_per_s;
	double fp8_flops_per_s; /* GPUs from sm_89 on, otherwise 0 */
	double f16_flops_per_s; /* GPUs, if requested; otherwise 0 */
};
int rt_measure_peaks(int threads, struct rt_peaks *ret, struct gt_err *err);

/* ---- pruning ---- */
enum rt_sparsity { RT_UNSTRUCTURED, RT_2_OF_4 };
/*
 * Prunes weights of linear layers and convolutions by magnitude: they become 0, and stay 0 in later updates. Needs
 * options.sparse and an optimizer. UNSTRUCTURED: this fraction of each weight, the smallest elements. 2_OF_4: two of four
 * neighbours along the inputs, the pattern of sparse tensor cores; fraction is ignored, and weights whose inputs are no
 * multiple of 4 stay dense. Elements that are pruned already stay pruned. rt_save() saves the masks. -EINVAL: a fraction
 * outside [0,1), or no weight can be pruned.
 */
int rt_prune(struct rt_program *p, enum rt_sparsity how, double fraction, struct gt_err *err);
double rt_pruned_fraction(const struct rt_program *p); /* pruned fraction of the elements of these weights */

/*
 * Structured pruning removes whole units, and the graph becomes smaller and faster. HEADS: of attention; heads that share keys
 * and values are one unit. NEURONS: between two linear layers. CHANNELS: between two convolutions. The layers are found in
 * the graph: only ops that work on each unit by itself may be between the two. Units of residual sums are not removed.
 *
 * A training program continues without some units like this:
 *
 *   rt_graph_units(g, &units, &err);
 *   rt_choose_units(p, g, units, RT_UNIT_HEADS, 0.25, &err);
 *   rt_take_values(p, g, units, &values, &err);
 *   rt_program_free(p);
 *   rt_graph_remove_units(g, units, &err); (for each graph of the program)
 *   rt_compile(g, loss, &options, &p, &err);
 *   rt_put_values(p, values, &err);
 */
enum rt_unit_kind { RT_UNIT_HEADS, RT_UNIT_NEURONS, RT_UNIT_CHANNELS, RT_UNIT_KINDS };
struct rt_layer_units {
	char *weight; /* name of the weight whose rows compute the units */
	enum rt_unit_kind kind;
	int64_t units;	  /* units of the graph */
	int64_t original; /* units before the first removal */
	int64_t size;	  /* heads per unit; 1 for other kinds */
	bool *removed;	  /* (units) */
};
struct rt_units { /* entries have the order of the graph */
	struct rt_layer_units *layer;
	int n;
};
/* Lists the layers that can lose units; none is removed. */
int rt_graph_units(const struct rt_graph *g, struct rt_units **ret, struct gt_err *err);
void rt_units_free(struct rt_units *u);
GT_DEFINE_AUTO(rt_units, rt_units_free);
int64_t rt_units_removed(const struct rt_layer_units *u); /* number of removed units */
/*
 * Checks a number of units to remove from each layer of that kind. amount: below 1, a fraction, rounded to the nearest number
 * of units, and one unit is kept; from 1 on, a number of heads, neurons or channels. -EINVAL: no layer of this kind; more than
 * a layer has; a number of heads that is not a multiple of those that share keys and values; no unit.
 */
int rt_check_units(const struct rt_units *u, enum rt_unit_kind kind, double amount, struct gt_err *err);
/* Marks the units with the smallest 2-norm of their weights as removed, in each layer of that kind. Of equal ones, the first. g
 * is the graph of p. Errors as rt_check_units(). -ENOSYS: the ranks split or shard a weight. */
int rt_choose_units(struct rt_program *p, const struct rt_graph *g, struct rt_units *u, enum rt_unit_kind kind, double amount,
		    struct gt_err *err);
/* Removes the marked units: parameters, heads and results of g become smaller. -EINVAL: units of another graph, or all units
 * of a layer. g is then unchanged. */
int rt_graph_remove_units(struct rt_graph *g, const struct rt_units *u, struct gt_err *err);
/* Removes the units that the model of a checkpoint has lost. The graph is then as at its rt_save(). -EBADMSG: not a valid
 * file. -EINVAL: a file of another model. */
int rt_graph_match_checkpoint(struct rt_graph *g, const char *path, struct gt_err *err);
/* Copies the parameters, buffers and optimizer state of p without the marked units, and the number of updates. 8-bit moments of
 * smaller parameters are rounded again, in blocks of the remaining elements. -ENOSYS: the ranks split or shard the state. */
struct rt_values;
int rt_take_values(struct rt_program *p, const struct rt_graph *g, const struct rt_units *u, struct rt_values **ret,
		   struct gt_err *err);
/* Writes these values to a program of the same model without these units. -EINVAL: another model; the program is unchanged. */
int rt_put_values(struct rt_program *p, const struct rt_values *v, struct gt_err *err);
void rt_values_free(struct rt_values *v);
GT_DEFINE_AUTO(rt_values, rt_values_free);

/* ---- checkpoints ---- */
/* Saves parameters, buffers, optimizer state and loss scale as one safetensors file, atomically and durably. ticket:
 * the caller's position in its data; rt_load returns it. Collective over the ranks of ranks.tensor and of the pipeline, the
 * first of which writes. The file does not depend on the split. */
int rt_save(const struct rt_program *p, const char *path, uint64_t ticket, struct gt_err *err);
/* Sets a note (UTF-8) that rt_save() stores with the ticket. rt_load() replaces it by the file's. NULL: none. */
void rt_set_note(struct rt_program *p, const char *note);
const char *rt_note(const struct rt_program *p); /* valid until the next rt_set_note() or rt_load() */
/*
 * Loads a file of rt_save(), or one with parameters and buffers only; the optimizer then starts from its initial state.
 * Residuals of compressed gradients are not saved and start at zero. -EBADMSG: not a valid safetensors file. -EINVAL: a
 * file of another model, or with tensors that this model does not have. After both, the program is unchanged. -EIO:
 * reading failed, and the program is partly loaded.
 */
int rt_load(struct rt_program *p, const char *path, uint64_t *ret_ticket, struct gt_err *err);

/* ---- INT8 calibration ---- */
/* MINMAX: all values. PERCENTILE: without the outermost values. ENTROPY: the range with the smallest Kullback-Leibler
 * divergence between the values and their quantised distribution. */
enum rt_calibration { RT_CALIBRATE_MINMAX, RT_CALIBRATE_PERCENTILE, RT_CALIBRATE_ENTROPY };
/*
 * Returns the ranges of the activations in all runs so far of p, compiled with RT_INT8_OBSERVE. percentile: such as 99.99,
 * for PERCENTILE only. -EINVAL: no run, or invalid arguments. -EDOM: an activation was not finite; the message names the tensor.
 */
int rt_calibrate(const struct rt_program *p, enum rt_calibration method, double percentile, struct rt_ranges **ret,
		 struct gt_err *err);
void rt_ranges_free(struct rt_ranges *r);
GT_DEFINE_AUTO(rt_ranges, rt_ranges_free);

struct rt_llama_config {
	int64_t batch, seq, layers, width, heads, kv_heads, ffn, vocab;
	int64_t depth;	 /* columns of a head; 0: width / heads */
	int64_t context; /* largest number of positions; 0: no limit. Only stored */
	float rope_base, eps;
	bool tied; /* the output projection is the token table */
	int64_t cache; /* see struct rt_gpt_config */
};
/*
 * ---- Hugging Face layout ---- A directory with config.json and model.safetensors, or several files and
 * model.safetensors.index.json, of a program of rt_model_llama() or rt_model_gpt(). transformers reads and writes the
 * same.
 */
enum rt_hf_family { RT_HF_LLAMA, RT_HF_GPT2 };
struct rt_hf_config {
	enum rt_hf_family family;
	struct rt_llama_config size; /* sizes; batch and seq are not set */
	char unknown[160]; /* keys of config.json whose effect is not known, separated by commas; ends early if there are many */
};
/* Reads config.json. -EBADMSG: not such a file. -EINVAL: a key or value that the models here do not support. */
int rt_hf_read_config(const char *dir, struct rt_hf_config *ret, struct gt_err *err);
/*
 * Reads only the sizes from the text of a config.json, for plans: of llama, mistral (as RT_HF_LLAMA) or gpt2. Accepts values
 * that change the computation but no size, such as scaled angles. `name` is used in messages.
 */
int rt_hf_parse_sizes(const char *text, size_t len, const char *name, struct rt_hf_config *ret, struct gt_err *err);
/*
 * Loads all parameters; types F32, BF16 and F16. -EBADMSG: not a valid file. -EINVAL: a tensor is missing, has another
 * shape or type, or belongs to another model. After both, the program is unchanged. -EIO: reading failed, and the
 * program is partly loaded.
 */
int rt_hf_load(struct rt_program *p, const struct rt_hf_config *c, const char *dir, struct gt_err *err);
/* Saves all parameters in f32. dir must not exist, or be empty (-ENOTEMPTY); it appears when all files are complete.
 * shard_bytes: largest file; 0: 5 GiB. Collective over the ranks of ranks.tensor and of the pipeline, the first of which
 * writes. */
/* Sets the heads and neurons of c to those of a graph of that model. -EINVAL: the layout cannot store what it lost. */
int rt_hf_match_graph(struct rt_hf_config *c, const struct rt_graph *g, struct gt_err *err);
int rt_hf_save(struct rt_program *p, const struct rt_hf_config *c, const char *dir, uint64_t shard_bytes, struct gt_err *err);
int rt_hf_try(const char *dir, struct gt_err *err); /* checks that rt_hf_save() can create dir */

/* ---- helpers for programs that link the library ---- */
/* Stores a message in err (may be NULL) and returns -code. For the functions of a struct rt_user_op. */
int rt_fail(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* Makes long operations of the library, such as rt_group_run(), end as after this signal. May be called in a signal
 * handler. */
void rt_interrupt(int signal);
/*
 * Makes glibc's malloc keep freed memory instead of returning it to the kernel, and use one arena (mallopt). For a
 * process that mostly trains: from the third step on it then takes no page fault. Call it before rt_compile.
 * All other functions leave process settings unchanged.
 */
void rt_keep_heap(void);

/* ---- backends ---- */
struct rt_backend_info {
	enum rt_device device;
	const char *name; /* "cpu", "cuda" */
	bool available;
	char reason[512]; /* one sentence if not available */
};
/* Lists all backends of this build, in a fixed order. Returns their number; ret has space for RT_BACKENDS. */
#define RT_BACKENDS	2
int rt_backends(struct rt_backend_info ret[RT_BACKENDS]);
const char *rt_cpu_isa(void);  /* "avx512", "avx2", "sse2", "neon" or "generic": instruction set of the kernels on this
			        * machine */
const char *rt_cpu_blas(void); /* for example "oneDNN 2.6.3" */
/* Returns the instruction set of products of that type: "amx" or "avx512_bf16". NULL if the type is for storage only
 * and products are computed in f32. */
const char *rt_cpu_gemm_isa(enum rt_dtype dtype);

/* ---- random numbers ---- Philox 4x32-10: a value is a function of key and counter, independent of the number of
 * threads. */
uint64_t rt_random_u64(uint64_t seed, uint64_t stream, uint64_t index);
float rt_random_normal(uint64_t seed, uint64_t stream, uint64_t index);
float rt_random_uniform(uint64_t seed, uint64_t stream, uint64_t index); /* [0,1) */

/* ---- data ---- runtime/data/loader.h */

/* ---- models ---- built with the functions above */
struct rt_gpt_config {
	int64_t batch, seq, layers, width, heads, vocab;
	int64_t ffn;	   /* width between the two layers of an MLP; 0: 4 width */
	int64_t positions; /* rows of the position table; 0: seq */
	float dropout;	   /* probability after embeddings, attention and MLP; 0: no dropout */
	/*
	 * 0, or the tokens that a cache of keys and values holds per row (rt_attention_cached()). The model then declares
	 * the inputs "tokens" and "positions" (batch,seq) and "last" (batch), and returns the logits (batch,1,vocab) of the
	 * token with index `last` in each row. A program of two shapes, with the seq of a prompt and with 1, generates text.
	 */
	int64_t cache;
};
/* GPT-2: pre-norm blocks, learned positions, tied output layer. Declares inputs "tokens" and "targets" (batch,seq);
 * returns the loss. */
struct rt_node *rt_model_gpt(struct rt_graph *g, const struct rt_gpt_config *c);
/* A BERT-style encoder with masked-language loss: post-norm blocks, no causal mask, erf form of GELU. Same inputs; a
 * target is the masked token, or RT_IGNORE. */
struct rt_node *rt_model_bert(struct rt_graph *g, const struct rt_gpt_config *c);
/* Llama: pre-norm blocks with rmsnorm, rotated positions, shared key/value heads and swiglu, without biases. Same
 * inputs as rt_model_gpt(). */
struct rt_node *rt_model_llama(struct rt_graph *g, const struct rt_llama_config *c);
struct rt_vit_config {
	int64_t batch, size, patch, layers, width, heads, classes;
	float dropout;
};
/* Vision transformer on patches of (size,size) images; classifies the mean of the tokens. Declares inputs "x"
 * (batch,size,size,3) and "y" (batch). */
struct rt_node *rt_model_vit(struct rt_graph *g, const struct rt_vit_config *c);
/* Multi-layer perceptron: sizes[0] inputs, ReLU between layers, sizes[n-1] classes. Declares inputs "x"
 * (batch,sizes[0]) and "y" (batch). */
struct rt_node *rt_model_mlp(struct rt_graph *g, int64_t batch, const int64_t *sizes, int n);
/* ResNet for small images: 6 n + 2 layers (depth 20, 32, 44, 56, …) of 16, 32, 64 channels, parameter-free shortcuts.
 * Declares inputs "x" (batch,size,size,3) and "y" (batch). */
struct rt_node *rt_model_resnet_small(struct rt_graph *g, int64_t batch, int64_t size, int depth, int64_t classes);
/* ResNet-50 for large images: bottleneck stages of 3, 4, 6, 3 blocks, weights named as in torchvision. Same inputs. */
struct rt_node *rt_model_resnet50(struct rt_graph *g, int64_t batch, int64_t size, int64_t classes);

RT_API_END
#endif
