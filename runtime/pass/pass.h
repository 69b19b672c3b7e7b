/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_PASS_H
#define RT_PASS_H
/* Each pass rewrites the program's calls and reports its changes in one sentence. */
#include "lib/buf.h"
#include "runtime/graph/ir.h"

/* An output that the first batch of an update assigns and the others add to. */
struct rt_toggle {
	struct rt_call *call;
	int slot;
};
/* Properties of the device that passes use. */
struct rt_target {
	bool reduced_tensors;     /* mixed precision: all tensors between ops have reduced precision, not only the operands
			       * of products */
	bool gelu_epilogue;   /* reduced-precision products can apply the derivative of gelu */
	bool relu_bits;	      /* a batchnorm saves a bit per element that its relu passed */
	bool wide_rows;	      /* products are faster if rows start on 16 bytes */
	int fp8_words;	      /* size of a scale without its history, in floats */
	/* Returns the flops of an f32 convolution call with Winograd's algorithm. 0: impossible, or not faster than a
	 * direct convolution with operands of type `rival`. NULL: never used. */
	double (*winograd_flops)(const struct rt_call *c, enum rt_dtype rival);
	/* Returns the unit that multiplies this type; NULL: the type is for storage only. */
	const char *(*multiplies_by)(enum rt_dtype type);
};
struct rt_bucket;
struct rt_ranks;
struct rt_stage;
struct rt_plan {
	const struct rt_options *opt;
	const struct rt_target *target;
	struct rt_ir ir;
	int n_graph_nodes;	    /* smaller ids belong to the graph */
	struct rt_node **outputs;   /* outputs of the program */
	int n_outputs;
	struct rt_node *loss;	    /* the first output if it is a loss, otherwise NULL */
	struct rt_node **gradient;  /* gradients by graph node id; may be NULL; filled by autodiff */
	struct rt_toggle *toggles;
	int n_toggles;
	struct rt_stage *stage; /* stage of a pipeline (pass/pipeline.h); NULL: the program computes the whole model */
	int *segment; /* for a pipeline: first call of each batch of an update, and the number of calls; NULL: all calls */
	const struct rt_ranks *ranks; /* how the ranks work together; NULL: one rank; pass/bucket.h */
	struct rt_bucket *buckets; /* gradient buckets, with several ranks; pass/bucket.h */
	int n_buckets;
	uint64_t window_bytes;
	uint64_t gradient_bytes;    /* size of the buckets in the window */
	uint64_t pinned_bytes, arena_bytes, unplanned_bytes;
	uint64_t align;		    /* alignment of tensors in bytes; 0: 64 */
	/* Returns the scratch memory of a call on the device in bytes. */
	size_t (*scratch)(void *backend_state, const struct rt_call *c);
	void *backend_state;
	struct rt_node **reduced;	    /* reduced-precision copy of each graph node, or NULL; NULL: no copies */
	json_t *did;		    /* [{ "name", "did" }]: the report of each pass */
	int64_t steps_profiled, batches_profiled; /* updates whose last batch was profiled; profiled batches */
};
struct rt_pass {
	const char *name;
	/* Appends a description of its changes to `did`; appends nothing if there are none. */
	int (*run)(struct rt_plan *p, struct gt_buf *did, struct gt_err *err);
};
extern const struct rt_pass *const rt_passes[]; /* passes in the order of execution; NULL-terminated */
extern const struct rt_pass rt_pass_prune, rt_pass_infer, rt_pass_batchnorm, rt_pass_fuse, rt_pass_quantize, rt_pass_fuse_int8,
	rt_pass_autodiff, rt_pass_gelu, rt_pass_pixels, rt_pass_amp, rt_pass_checkpoint, rt_pass_accumulate,
	rt_pass_gradients, rt_pass_update, rt_pass_fp8, rt_pass_narrow, rt_pass_pad, rt_pass_winograd, rt_pass_shard,
	rt_pass_bucket, rt_pass_memplan;
extern const struct rt_pass rt_pass_pipeline, rt_pass_stages, rt_pass_schedule;
extern const struct rt_pass rt_pass_tensor, rt_pass_sequence, rt_pass_replicate, rt_pass_mask, rt_pass_qat;

bool rt_plan_is_output(const struct rt_plan *p, const struct rt_node *n);
/* Returns whether mixed precision gives output `slot` of the call a reduced-precision type; pass/precision.c. */
bool rt_becomes_reduced(const struct rt_plan *p, const struct rt_call *c, int slot);
/* Returns the reduced-precision copy that products read instead of parameter n, or NULL. */
struct rt_node *rt_plan_reduced_copy(const struct rt_plan *p, const struct rt_node *n);
/* Makes an output change between assigning and adding. */
void rt_plan_add_toggle(struct rt_plan *p, struct rt_call *c, int slot);
/* Selects adding (true) or assigning gradients (false, in the first batch of an update). */
void rt_plan_set_accumulate(struct rt_plan *p, bool add);
bool rt_plan_trains(const struct rt_plan *p); /* whether the program has a backward pass */
/* Returns whether n's content outlives a batch: a parameter, a buffer, optimizer state, or a sum of gradients. */
bool rt_is_persistent(const struct rt_node *n);
/* options.debug.poison: returns whether n, an output of call i, may be overwritten before that call. False for a tensor
 * that an evaluation does not write and that the user can read. */
bool rt_plan_poisons(const struct rt_plan *p, int i, const struct rt_node *n, bool evaluates);
bool rt_plan_scales_loss(const struct rt_plan *p);
bool rt_plan_measures_gradients(const struct rt_plan *p); /* if true, updates start only after all gradients are complete */
#endif
