/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CASES_H
#define RT_CASES_H
/*
 * The op cases: small graphs, with the inputs and settings for which their results are compared. One table serves all
 * comparisons: the CPU with the plain reference and its numeric gradients (tests/unit/runtime_ops.c), the device with
 * the CPU (gpubench check-device), and the CPU with PyTorch (tests/peers/check_torch.py).
 * A graph is text such as "gelu(linear(x[5,9], w[19,9:0.3], b[19]))". The arguments of an op are tensors, then numbers.
 *   name[5,9]         declares a tensor of this shape, and is that tensor. Later uses are the name alone.
 *   name[5,9:0.3:1]   the same, of normal values with standard deviation 0.3 (default 1) around 1 (default 0)
 *   h = op(…); op(h)  names a result
 * The name decides what the tensor is: "ids" is an input of integers, "mask" and "weights" are inputs of f32, "mean" and
 * "var" are buffers. All others are parameters. A digit may follow each name. The text is also valid as a Python
 * expression.
 */
#include "runtime/runtime.h"

enum rt_case_user { RT_CASE_CPU = 1, RT_CASE_DEVICE = 2, RT_CASE_TORCH = 4 };

struct rt_case {
	const char *name, *graph;
	int ids;	      /* values of integer inputs are 0 to ids - 1 */
	unsigned skip;	      /* mask of enum rt_case_user: comparisons that skip this case */
	uint64_t slice_bytes; /* memory.logits_slice_bytes for the comparison on the CPU */
	bool ignore;	      /* every third target is RT_IGNORE */
	/* The following fields are for the device. A case with one of the first group runs on the device alone. */
	int steps;	/* number of training steps, whose losses are compared; 0: all gradients of one step are compared */
	int accum;	/* struct rt_options */
	double clip;	/* clip_norm of struct rt_options */
	bool no_master; /* parameters are stored in bf16 only */
	bool exact;	/* deterministic: no kernel is chosen by timing */
	bool fused;	/* attention by cuDNN (bf16 and f16, if cuDNN is present); its sums differ from run to run */
	bool kink;	/* rounding may move a value across zero, where a gradient jumps */
	bool eight;	/* all dimensions are multiples that 8-bit products require */
	float mean;	/* mean of parameter x; 0 except in f32 and tf32, whose 24 bits represent mean and values */
	float first;	/* value of the first row of parameter x; 0: like the other rows */
};
extern const struct rt_case rt_cases[];
extern const int rt_n_cases;

/* Returns whether this comparison runs the case. */
bool rt_case_applies(const struct rt_case *c, enum rt_case_user user);

struct rt_case_graph {
	struct rt_node *out;  /* the result of the outermost op; NULL: it is a loss */
	struct rt_node *loss; /* the outermost op, or the dot product of out with the input "weights" */
	struct rt_case_range {
		float deviation, mean;
	} *range;	      /* [leaf] of normal values; owned */
};
/* Adds the graph that the text describes. Returns 0, or -EINVAL with the place of the mistake. */
int rt_case_parse(const char *text, struct rt_graph *g, struct rt_case_graph *ret, struct gt_err *err);
void rt_case_clear(struct rt_case_graph *g);
/* Writes the values of a leaf: normal numbers or integers, a function of (seed, leaf, index). */
void rt_case_values(const struct rt_case *c, const struct rt_graph *g, const struct rt_case_graph *built, int leaf, uint64_t seed,
		    void *out);
#endif
