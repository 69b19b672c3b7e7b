/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPLIT_CASE_H
#define SPLIT_CASE_H
/* Ranks that split a model, compared with one rank: the gradients of the first step, and the losses. */
#include "runtime/runtime.h"

#define SPLIT_BATCH	8
#define SPLIT_LEN	12
#define SPLIT_UPDATES	50
#define SPLIT_GRADIENTS (1 << 17)

enum split_model { GPT, BERT, VIT, MLP, LLAMA, GATED, DROPOUT };

struct split {
	enum split_model model;
	int tensor, data; /* ranks of each dimension */
	struct rt_options opt;
	double limit; /* of the difference of a gradient relative to its norm, and of losses; 0: 1e-6, and 1e-4 for losses */
	int updates;  /* 0: SPLIT_UPDATES */
	int stages;   /* 0: 1; opt.accum is the number of microbatches */
	/* private: values of one rank, in memory that all ranks share */
	struct {
		double loss[SPLIT_UPDATES];
		float gradient[SPLIT_GRADIENTS]; /* of all parameters in order */
	} *expected;
};
#define SPLIT_SGD	{ .kind = RT_SGD, .lr = 0.05, .momentum = 0.9 }
#define SPLIT_ADAM	{ .kind = RT_ADAMW, .lr = 1e-3, .weight_decay = 0.01 }

/* Declares the model for a batch of `rows`. */
struct rt_node *split_declare(struct rt_graph *g, enum split_model model, int64_t rows);
/* Fills the inputs of step t. This rank's rows start at `first`. */
void split_draw(const struct rt_graph *g, uint64_t t, int64_t first, int64_t rows, void *const *input);
/* Trains one rank, then the ranks. All are child processes. Returns -EPROTO if a value differs. */
int split_trains_like_one_rank(struct split s, struct gt_err *err);
#endif
