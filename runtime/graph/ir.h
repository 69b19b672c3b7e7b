/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_IR_H
#define RT_IR_H
/*
 * The intermediate representation that passes rewrite: tensors (rt_node) and a list of calls in execution order. A call
 * reads in[] and writes out[]. A slot may be NULL: an absent input, or an output that is not needed. Several calls may
 * write one node: the later ones add to it (attr.accumulate) or work in place.
 */
#include "lib/err.h"
#include "runtime/graph/op_list.h"
#include "runtime/math/act.h"
#include "runtime/runtime.h"

#define RT_MAX_IO	8

/* BUFFER: declared by the model and saved, but not trained, for example the running statistics of batchnorm. */
/* CACHE: declared by the model and kept between runs, but not saved. */
enum rt_role { RT_ROLE_INPUT, RT_ROLE_PARAM, RT_ROLE_BUFFER, RT_ROLE_CACHE, RT_ROLE_STATE, RT_ROLE_VALUE, RT_ROLE_GRADIENT,
	       RT_ROLE_SCRATCH };

/* Part `part` of a tensor that the ranks of a group split along dimension `axis`. That dimension consists of blocks of
 * these lengths, for example q, k and v, and each block is divided into `parts` parts. parts 0: not split. */
#define RT_CUT_BLOCKS	3
struct rt_cut {
	int axis, parts, part, blocks;
	int64_t len[RT_CUT_BLOCKS];
	struct rt_shape whole;
};

struct rt_node {
	int id; /* index in its ir */
	enum rt_role role;
	enum rt_dtype dtype;
	struct rt_shape shape;
	char *name;
	struct rt_init init;
	struct rt_graph *graph;
	/* memory plan */
	bool pinned;		 /* lives during the whole program */
	bool sums;		 /* gradient that sums over batches; same address for all batch shapes */
	bool constant;		 /* written by a run-once call: kept until parameters change; set by pass/memplan.c */
	int first, last;	 /* live range, as indices of calls; first -1: not allocated */
	int first_write;	 /* call that writes the node before any call reads it; -1: none */
	struct rt_node *storage; /* the node itself, or the node whose memory it shares */
	int slot;		 /* 8-bit tensors: index of its scale (pass/fp8.c) */
	bool masked;		 /* weight with a mask of pruned elements, or the mask (pass/mask.c) */
	bool shared;		 /* stored in the window shared by the ranks, not in the arena */
	/* Sharded state: each rank of a node keeps one piece, in units of this many elements; 0: not sharded. `shape`
	 * is then the shape of the largest piece and `whole` that of the tensor. */
	int64_t piece_unit;
	struct rt_shape whole;
	struct rt_cut cut;
	/* Pipeline: the stage that owns this parameter or buffer, or its state. absent: no call of the own stage uses it, and
	 * it has no memory. */
	int stage;
	int shared_with; /* 1 + the other stage that has this parameter; 0: none */
	bool absent;
	int64_t padded_rows;	 /* allocated rows if more than in `shape`; the extra rows are zero; pass/pad.c */
	size_t bytes, offset;
	void *data;
};

struct rt_attr {
	enum rt_act act;
	int heads, kv_heads; /* attention: equal if each head has its own keys and values */
	bool all_keys;		     /* attention without the causal mask */
	float eps;
	int window, stride, pad, groups; /* convolution, pooling */
	double winograd_flops;	     /* convolution: flops with Winograd's algorithm, pass/winograd.c; 0: direct convolution */
	enum rt_reduction reduction;
	int axis;		     /* reduction: the reduced dimension; -1: all leading dimensions that the result lacks */
	struct rt_shape shape;	     /* reshape: result shape */
	bool ta, tb;		     /* matmul: transposed operands */
	float scale, offset;	     /* affine */
	int depth;		     /* rope: columns of a head */
	float base;		     /* rope: base of the angles */
	float rate;		     /* dropout: fraction dropped; batchnorm: weight of the newest statistics */
	int64_t rows;		     /* batchnorm_bwd: rows of x, because input x may be absent */
	int stream;		     /* dropout: random stream */
	int bucket;		     /* index of a gradient bucket */
	int queue, back_queue;	     /* send, receive: index of the queue; back_queue: queue of the gradient */
	int slot;		     /* cast8: index of the scale */
	const struct rt_user_op *user;
	void *arg;		     /* argument of the user-defined op */
	int dim;	     /* collective: enum rt_dim of its group */
	int parts, part;     /* collective, softmax_part: ranks of the group, and the own index */
	bool equal;	     /* all_gather: all ranks compute the same from the result */
	int64_t first_row, whole_rows; /* part of a vocabulary: its first row, and all rows; whole_rows 0: not split. dropout:
					* index of the first row in the whole tensor */
	unsigned accumulate; /* bit i: add to out[i] instead of assigning */
	uint64_t slice_bytes;
	int64_t padded_cols; /* linear_cross_entropy: multiplied columns of the logits, if more than the weight has rows */
};

/* GRADIENT: calls that read the finished gradients of all parameters, once per update, before any gradient is used. */
enum rt_phase { RT_PHASE_FORWARD, RT_PHASE_BACKWARD, RT_PHASE_GRADIENT, RT_PHASE_UPDATE };
struct rt_op;
struct rt_call {
	const struct rt_op *op;
	struct rt_node *in[RT_MAX_IO], *out[RT_MAX_IO];
	struct rt_attr attr;
	enum rt_phase phase;
	const char *origin; /* name of the forward node or parameter whose gradient this call computes; NULL: a forward call */
	bool recomputed;    /* recomputes a forward call (pass/checkpoint.c) */
	bool run_once; /* reads parameters only: runs when these may have changed, and its results are kept; on RT_CUDA:
		    * runs only in the first batch of an update */
	int microbatch; /* index within the update, in a pipeline */
	double seconds; /* sum over steps, if options.debug.profile is set */
};

struct rt_ir {
	struct rt_node **nodes;
	int n_nodes, cap_nodes;
	struct rt_call **calls;
	int n_calls, cap_calls;
};
struct rt_graph {
	struct rt_ir ir;
	struct gt_err err;
	json_t *original_units; /* { WEIGHT: its units before the first removal }; NULL: no unit was removed; see units.h */
};

/* ---- ops ---- */
#define RT_OP_ID(ID, name, kernels) RT_OP_##ID,
enum rt_op_id { RT_OPS(RT_OP_ID) RT_N_OPS };
#undef RT_OP_ID
struct rt_ad;
/* Optimizer state of a parameter: a tensor of its shape, or one element per block of `block` elements. */
struct rt_op_state {
	const char *name;
	enum rt_dtype dtype;
	int64_t block;
};
/* Calls that involve the other ranks. */
enum rt_collective { RT_NOT_COLLECTIVE, RT_BUCKET_START, RT_BUCKET_WAIT, RT_BUCKET_DONE, RT_BUCKET_FREE, RT_RANKS_MEET,
		     RT_SEND, RT_RECEIVE, RT_STAGE_SUM, RT_STAGES_MEET, RT_GROUP_CALL };
struct rt_op {
	enum rt_op_id id;
	const char *name;
	/* ---- types; bit i refers to in[i] or out[i] ---- */
	unsigned reduced;	/* operands of a product: reduced precision under mixed precision */
	bool storage_only;	/* the CPU kernel converts reduced-precision operands to f32 before it multiplies */
	unsigned f32_in, f32_out; /* f32 even if all tensors between ops have reduced precision */
	unsigned any_in;	/* read in the type that the tensor has */
	unsigned master_in;	/* read as f32: not the reduced-precision copy of a parameter or input */
	bool keeps_type;	/* out[0] is f32 if in[0] is */
	bool linear;		/* product of a linear layer: can use fp8 */
	bool observes;		/* out[0] is a struct rt_histogram of in[0] */
	enum rt_op_id int8;	/* the same op with an INT8 weight; 0: none; pass/quantize.c */
	struct {
		enum rt_dtype type; /* RT_F32: none */
		bool transposed;
	} fp8[2];		/* fp8: type and layout of rounded in[i] */

	/* ---- data flow ---- */
	bool moves_buffers;	/* the backward call updates buffers, and is emitted even without a gradient */
	bool loss;		/* out[0] is the loss; the other outputs are the gradients of the inputs */
	uint64_t inplace;	/* bit 8*o+i: out[o] may reuse the memory of in[i] if in[i]'s last use is this call */
	bool needs_gradient;	/* the outputs need a gradient although no input is a parameter */
	unsigned accumulates;	/* bit o: the kernel can add to out[o] (attr.accumulate) */
	int index_in;		/* if index_limit is set: the input that contains indexes */
	int64_t (*index_limit)(const struct rt_call *c); /* upper limit (exclusive) of the indexes */
	struct rt_op_state states[5]; /* updates: out[1] and later; ends with a NULL name */
	enum rt_collective collective;

	/* Checks the inputs and creates the outputs. NULL for ops that only passes emit. */
	int (*shape)(struct rt_ir *ir, struct rt_call *c, struct gt_err *err);
	/* Emits the calls that compute the gradients of the inputs (graph/gradient.h). */
	void (*gradient)(struct rt_ad *ad, const struct rt_call *c);
	/* The definition of the op, in double. */
	void (*reference)(const struct rt_call *c, const double *const *in, double *const *out);
	double (*flops)(const struct rt_call *c);
};
extern const struct rt_op *const rt_ops[RT_N_OPS];

static inline bool rt_is(const struct rt_call *c, enum rt_op_id op)
{
	return c->op->id == op;
}

static inline bool rt_is_update(const struct rt_call *c)
{
	return c->op->states[0].name;
}

static inline bool rt_is_conv(const struct rt_call *c) /* true for convolutions and for their gradients */
{
	return rt_is(c, RT_OP_CONV) || rt_is(c, RT_OP_CONV_BWD_X) || rt_is(c, RT_OP_CONV_BWD_W);
}

/* ---- construction ---- */
struct rt_node *rt_ir_node(struct rt_ir *ir, enum rt_role role, enum rt_dtype dtype, const struct rt_shape *shape,
			   const char *name);
struct rt_call *rt_ir_call(struct rt_ir *ir, enum rt_op_id op, const struct rt_attr *attr);
void rt_ir_clear(struct rt_ir *ir);
/* Copies src, with equal ids. */
void rt_ir_copy(struct rt_ir *dst, const struct rt_ir *src);
/* Applies op to in[0..n). Most public builders only call this function. Returns NULL and sets the graph's error if the
 * inputs do not fit. */
struct rt_node *rt_apply(struct rt_graph *g, enum rt_op_id op, const struct rt_attr *attr, struct rt_node *const *in, int n);
/* Returns whether a or b is NULL. That happens only if an earlier op failed, so the graph has an error already. */
bool rt_missing(struct rt_graph *g, const char *op, const struct rt_node *a, const struct rt_node *b);
struct rt_call *rt_ir_producer(const struct rt_ir *ir, const struct rt_node *n); /* first call that writes n, or NULL */
bool rt_reads(const struct rt_call *c, const struct rt_node *n);
bool rt_writes(const struct rt_call *c, const struct rt_node *n);
uint64_t rt_node_bytes(const struct rt_node *n); /* size of its elements in bytes */
uint64_t rt_node_padded_bytes(const struct rt_node *n); /* bytes of its elements and its extra rows */
/* Returns the minimum bytes that the call reads and writes; each tensor counts once. */
double rt_call_bytes(const struct rt_call *c);

double rt_conv_flops(const struct rt_call *c); /* flops as executed */

/* Random stream of dropouts: this + attr.stream. */
#define RT_DROPOUT_STREAM	0xd0
/* The key of a batch's dropout masks (struct rt_run). */
struct rt_dropout_key {
	uint64_t seed;
	int64_t batch;
};
/* Like rt_reference(), with the dropout masks of that key; NULL: no dropout. */
int rt_reference_dropout(const struct rt_graph *g, const struct rt_node *watch, const double *const *values,
			 const struct rt_dropout_key *dropout, double *out, struct gt_err *err);

/* ---- split tensors (rt_node.cut) ---- */
/* Returns the shape of the whole tensor; n's own shape if it is not split. */
const struct rt_shape *rt_cut_whole(const struct rt_node *n);
int64_t rt_cut_length(const struct rt_cut *c, int part); /* length of the axis in that part */
int64_t rt_cut_elements(const struct rt_cut *c, int part);
/* Copy a part, of elements of `size` bytes, out of the whole tensor, or into it. */
void rt_cut_take(const struct rt_cut *c, int part, size_t size, const void *whole, void *to);
void rt_cut_put(const struct rt_cut *c, int part, size_t size, void *whole, const void *from);
/* Returns the index in the whole tensor of element i of the own part. */
int64_t rt_cut_index(const struct rt_cut *c, int64_t i);

/* ---- for shape rules ---- */
/* rt_rows(): product of all dimensions except the last. rt_cols(): the last dimension. */
int64_t rt_rows(const struct rt_node *n);
int64_t rt_cols(const struct rt_node *n);
bool rt_same_shape(const struct rt_node *a, const struct rt_node *b);
/* Returns -EINVAL with the message "NODE: requirement of OP, with both shapes". */
int rt_mismatch(const struct rt_call *c, const struct rt_node *a, const struct rt_node *b, const char *requirement,
		struct gt_err *err);
/* Fails if n is not a float tensor. */
int rt_require_float(const struct rt_call *c, const struct rt_node *n, struct gt_err *err);
/* Fails if one of in[first..end) is not a float tensor. NULL is allowed. */
int rt_require_floats(const struct rt_call *c, int first, int end, struct gt_err *err);
#endif
