/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_IR_H
#define RT_IR_H
/*
 * What passes rewrite: tensors (rt_node) and a list of calls in the order in which they run. A call reads in[] and writes
 * out[]; a slot may be NULL (absent input, output that nobody reads). A node may be written by more than one call: the later
 * ones add to it (attr.accumulate) or work in place.
 */
#include "lib/err.h"
#include "runtime/graph/op_list.h"
#include "runtime/runtime.h"

#define RT_MAX_IO	8

/* BUFFER: declared by the model and kept, but not trained: the running statistics of a batchnorm. */
enum rt_role { RT_ROLE_INPUT, RT_ROLE_PARAM, RT_ROLE_BUFFER, RT_ROLE_STATE, RT_ROLE_VALUE, RT_ROLE_GRADIENT, RT_ROLE_SCRATCH };

struct rt_node {
	int id; /* index in its ir */
	enum rt_role role;
	enum rt_dtype dtype;
	struct rt_shape shape;
	char *name;
	struct rt_init init;
	struct rt_graph *graph;
	/* memory plan */
	bool pinned;		 /* lives through the whole program */
	bool sums;		 /* a gradient that batches add to: at one place for batches of every shape */
	int first, last;	 /* calls between which it lives; first -1: never */
	int born;		 /* the call that writes it before any reads it; -1: none */
	struct rt_node *storage; /* itself, or the node whose memory it takes over */
	int slot;		 /* of 8 bits: which scale is its own (pass/fp8.c) */
	bool shared;		 /* lies in the window that ranks share, not in the arena */
	/* A state of which each rank of a node keeps one piece, in units of so many elements; 0: kept whole. `shape` is then
	 * that of the largest piece and `whole` that of the tensor. */
	int64_t piece_unit;
	struct rt_shape whole;
	int64_t room;		 /* rows that there is memory for, if more than shape has: zeros; pass/pad.c */
	size_t bytes, offset;
	void *data;
};

enum rt_act { RT_ACT_NONE, RT_ACT_GELU, RT_ACT_RELU, RT_ACT_GELU_ERF, RT_ACT_SILU, RT_ACT_TANH, RT_ACT_SIGMOID };
/* Does the derivative of act read its input, or its output? */
static inline bool rt_act_reads_input(enum rt_act act)
{
	return act == RT_ACT_GELU || act == RT_ACT_GELU_ERF || act == RT_ACT_SILU;
}

struct rt_attr {
	enum rt_act act;
	int heads;
	bool all_keys;		     /* attention: every query sees every key */
	float eps;
	int window, stride, pad, groups; /* convolution, pooling */
	double tiles_flops;	     /* convolution: of its products in tiles, pass/winograd.c; 0: not in tiles */
	enum rt_reduction reduction;
	int axis;		     /* of a reduction; -1: all leading dimensions that the result lacks */
	struct rt_shape shape;	     /* reshape */
	bool ta, tb;		     /* matmul: transposed operands */
	float scale, offset;	     /* affine */
	int depth;		     /* rope: columns of a head */
	float base;		     /* rope: of the angles */
	float rate;		     /* dropout: share dropped; batchnorm: weight of the newest statistics */
	int64_t rows;		     /* batchnorm's backward call: of x, which it may lack */
	int stream;		     /* dropout: its own random numbers */
	int bucket;		     /* of gradients: which */
	int slot;		     /* cast8: which scale */
	const struct rt_user_op *user;
	void *arg;		     /* of the user's op */
	unsigned accumulate; /* bit i: add to out[i] instead of assigning */
	uint64_t slice_bytes;
	int64_t room; /* linear_cross_entropy: columns of the logits that are multiplied, if more than the weight has rows */
};

/* GRADIENT: reads the finished gradients of all parameters, once per update, before any of them is used. */
enum rt_phase { RT_PHASE_FORWARD, RT_PHASE_BACKWARD, RT_PHASE_GRADIENT, RT_PHASE_UPDATE };
struct rt_op;
struct rt_call {
	const struct rt_op *op;
	struct rt_node *in[RT_MAX_IO], *out[RT_MAX_IO];
	struct rt_attr attr;
	enum rt_phase phase;
	const char *origin; /* name of the forward node whose gradient this call makes, or of the parameter; NULL: forward */
	bool again;	    /* makes once more what a forward call made (pass/checkpoint.c) */
	bool once; /* of parameters alone: runs when these may have changed, its results stay; on RT_CUDA: in the first batch of
		    * an update alone */
	double seconds; /* with options.debug.profile: summed over steps */
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
};

/* Bytes of a row of bits, one for each of cols elements: the vectors of a row begin at whole bytes of it. */
static inline int64_t rt_bits_bytes(int64_t cols)
{
	return (cols + 15) / 16 * 2;
}

/* ---- ops ---- */
#define RT_OP_ID(ID, name, kernels) RT_OP_##ID,
enum rt_op_id { RT_OPS(RT_OP_ID) RT_N_OPS };
#undef RT_OP_ID
struct rt_ad;
/* What an update keeps of its parameter: a tensor of its shape, or of one element for each block of it. */
struct rt_op_state {
	const char *name;
	enum rt_dtype dtype;
	int64_t block;
};
/* Calls that work with the other ranks. */
enum rt_collective { RT_NOT_COLLECTIVE, RT_BUCKET_START, RT_BUCKET_WAIT, RT_RANKS_MEET };
struct rt_op {
	enum rt_op_id id;
	const char *name;
	/* ---- types; bit i stands for in[i] or out[i] ---- */
	unsigned low;		/* an operand of a product: of the low type with mixed precision */
	bool low_stored;	/* the CPU's kernel only reads the low type: it multiplies in f32 */
	unsigned f32_in, f32_out; /* f32 also where all tensors between the ops are of a low type */
	unsigned any_in;	/* read in the type that the tensor has */
	unsigned master_in;	/* of a parameter or an input the f32 values are read, not a copy in a low type */
	bool keeps_type;	/* out[0] is f32 if in[0] is */
	bool linear;		/* a product of a linear layer: fp8 */
	struct {
		enum rt_dtype type; /* RT_F32: none */
		bool turned;
	} eight[2];		/* fp8: how in[i] is rounded */

	/* ---- data flow ---- */
	bool moves_buffers;	/* its backward call does, and is made even if no gradient comes */
	bool loss;		/* yields the scalar to differentiate; its other outputs are its inputs' gradients */
	uint64_t inplace;	/* bit 8*o+i: out[o] may take over the memory of in[i] when in[i] dies here */
	unsigned accumulates;	/* bit o: the kernel can add to out[o] (attr.accumulate) */
	int index_in;		/* with index_limit: this input has indexes */
	int64_t (*index_limit)(const struct rt_call *c); /* they are below this */
	struct rt_op_state states[5]; /* of an update: out[1] and on; ends with a NULL name */
	enum rt_collective collective;

	/* Check the inputs and make the outputs. NULL for ops that only passes emit. */
	int (*shape)(struct rt_ir *ir, struct rt_call *c, struct gt_err *err);
	/* Emit the calls that give the gradients of the inputs (graph/gradient.h). */
	void (*gradient)(struct rt_ad *ad, const struct rt_call *c);
	/* The plain definition, in double. */
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

static inline bool rt_is_conv(const struct rt_call *c) /* or a gradient of one */
{
	return rt_is(c, RT_OP_CONV) || rt_is(c, RT_OP_CONV_BWD_X) || rt_is(c, RT_OP_CONV_BWD_W);
}

/* ---- building ---- */
struct rt_node *rt_ir_node(struct rt_ir *ir, enum rt_role role, enum rt_dtype dtype, const struct rt_shape *shape,
			   const char *name);
struct rt_call *rt_ir_call(struct rt_ir *ir, enum rt_op_id op, const struct rt_attr *attr);
void rt_ir_clear(struct rt_ir *ir);
/* Copy of src with the same ids. */
void rt_ir_copy(struct rt_ir *dst, const struct rt_ir *src);
/* Apply op to in[0..n): the public builders are one line each. NULL and the graph's error when it does not fit. */
struct rt_node *rt_apply(struct rt_graph *g, enum rt_op_id op, const struct rt_attr *attr, struct rt_node *const *in, int n);
/* Is a or b NULL? They are not unless an earlier op failed, and then the graph has its error already. */
bool rt_missing(struct rt_graph *g, const char *op, const struct rt_node *a, const struct rt_node *b);
struct rt_call *rt_maker(const struct rt_ir *ir, const struct rt_node *n); /* first call that writes n, or NULL */
bool rt_reads(const struct rt_call *c, const struct rt_node *n);
bool rt_writes(const struct rt_call *c, const struct rt_node *n);
uint64_t rt_node_bytes(const struct rt_node *n); /* of its elements */
uint64_t rt_node_room_bytes(const struct rt_node *n); /* and of the rows behind them */
/* Bytes that the call reads and writes at least, each tensor once. */
double rt_call_bytes(const struct rt_call *c);

double rt_conv_flops(const struct rt_call *c); /* as it is made */

/* Of random numbers: a dropout's is this and attr.stream. */
#define RT_DROPOUT_STREAM	0xd0
/* What a program draws its dropouts of one batch from (struct rt_run). */
struct rt_coins {
	uint64_t seed;
	int64_t batch;
};
/* As rt_reference(), with the elements dropped that these coins drop; NULL: none. */
int rt_reference_drawn(const struct rt_graph *g, const struct rt_node *watch, const double *const *values,
		       const struct rt_coins *coins, double *out, struct gt_err *err);

/* ---- for shape rules ---- */
/* Product of all dimensions but the last; the last one. */
int64_t rt_rows(const struct rt_node *n);
int64_t rt_cols(const struct rt_node *n);
bool rt_same_shape(const struct rt_node *a, const struct rt_node *b);
/* "NODE: what OP wants, with both shapes". */
int rt_mismatch(const struct rt_call *c, const struct rt_node *a, const struct rt_node *b, const char *want,
		struct gt_err *err);
/* Fails unless n is a float tensor. */
int rt_want_float(const struct rt_call *c, const struct rt_node *n, struct gt_err *err);
#endif
