/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PASS_H
#define RT_PASS_H
/* Each pass rewrites the program's calls and says in one sentence what it did. */
#include "lib/buf.h"
#include "runtime/graph/ir.h"

/* An output that the first batch of an update assigns and the others add to. */
struct rt_toggle {
	struct rt_call *call;
	int slot;
};
/* What passes must know of the device. */
struct rt_target {
	bool low_tensors;     /* mixed precision: all tensors between ops are of the low type, not the operands of products alone */
	bool gelu_epilogue;   /* products of a low type can apply the derivative of gelu */
	bool relu_bits;	      /* a batchnorm leaves a bit per element of what its relu let through */
	bool wide_rows;	      /* products are faster where rows start on 16 bytes */
	int fp8_words;	      /* floats of a scale without its history */
	/* Flops of a convolution's call of f32 tensors in tiles; 0 if it is not faster so than in full from operands of the type
	 * `rival`, or impossible. NULL: never. */
	double (*tiles_flops)(const struct rt_call *c, enum rt_dtype rival);
	/* The unit that multiplies this type; NULL: the type is only stored. */
	const char *(*multiplies_by)(enum rt_dtype type);
};
struct rt_bucket;
struct rt_ranks;
struct rt_plan {
	const struct rt_options *opt;
	const struct rt_target *target;
	struct rt_ir ir;
	int n_graph_nodes;	    /* ids below are the graph's own */
	struct rt_node **outputs;   /* of the program */
	int n_outputs;
	struct rt_node *loss;	    /* the first output if it is a loss, else NULL */
	struct rt_node **gradient;  /* of graph node id, or NULL; filled by autodiff */
	struct rt_toggle *toggles;
	int n_toggles;
	const struct rt_ranks *ranks; /* how they work together; NULL: one rank; pass/bucket.h */
	struct rt_bucket *buckets; /* of gradients, with several ranks; pass/bucket.h */
	int n_buckets;
	uint64_t window_bytes;
	uint64_t pinned_bytes, arena_bytes, unplanned_bytes;
	uint64_t align;		    /* of tensors, in bytes; 0: 64 */
	/* Bytes that a call wants on the device while it runs. */
	size_t (*scratch)(void *backend_state, const struct rt_call *c);
	void *backend_state;
	struct rt_node **low;	    /* by graph node: its bf16 copy, or NULL; NULL: none */
	json_t *did;		    /* [{ "name", "did" }]: what each pass said */
	int64_t steps_profiled, batches_profiled; /* updates that ended with it; batches */
};
struct rt_pass {
	const char *name;
	/* Append what it did to `did`; nothing appended: it had nothing to do. */
	int (*run)(struct rt_plan *p, struct gt_buf *did, struct gt_err *err);
};
extern const struct rt_pass *const rt_passes[]; /* in order; NULL-terminated */
extern const struct rt_pass rt_pass_prune, rt_pass_infer, rt_pass_batchnorm, rt_pass_fuse, rt_pass_autodiff, rt_pass_gelu,
	rt_pass_pixels, rt_pass_amp, rt_pass_checkpoint, rt_pass_accumulate, rt_pass_gradients, rt_pass_update, rt_pass_fp8,
	rt_pass_narrow, rt_pass_pad, rt_pass_winograd, rt_pass_shard, rt_pass_bucket, rt_pass_memplan;

bool rt_plan_is_output(const struct rt_plan *p, const struct rt_node *n);
/* Will mixed precision make a low type of what the call writes there? pass/precision.c */
bool rt_becomes_low(const struct rt_plan *p, const struct rt_call *c, int slot);
/* The copy in a low type that products read instead of parameter n, or NULL. */
struct rt_node *rt_plan_low(const struct rt_plan *p, const struct rt_node *n);
/* The first batch of an update assigns the gradients, the others add. */
void rt_plan_set_accumulate(struct rt_plan *p, bool add);
bool rt_plan_trains(const struct rt_plan *p); /* is a backward pass wanted? */
/* Does n hold more than one batch's numbers: a parameter, a buffer, optimizer state, a sum of gradients? */
bool rt_plan_keeps(const struct rt_node *n);
/* options.debug.poison: is nothing lost if n, an output of call i, is overwritten before that call? False for a tensor that an
 * evaluation does not write and that can be read. */
bool rt_plan_poisons(const struct rt_plan *p, int i, const struct rt_node *n, bool evaluates);
bool rt_plan_scales_loss(const struct rt_plan *p);
bool rt_plan_measures_gradients(const struct rt_plan *p); /* no update may then run before all gradients are there */
#endif
