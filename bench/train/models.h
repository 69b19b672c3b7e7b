/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_MODELS_H
#define BN_MODELS_H
/* What gpubench train can train: sizes, and how the runtime declares it. */
#include "bench/train/options.h"
#include "lib/err.h"
#include "runtime/runtime.h"

struct bn_model {
	const char *name, *unit;
	uint64_t batch, seq, layers, width, heads, vocab, size, steps, warmup; /* 0: the model has no such size */
	uint64_t classes; /* of images; models of tokens tell vocab apart */
	double lr;
	const char *optimizer;
	bool text;   /* reads text unless told otherwise */
	bool tokens; /* can read text */
	struct rt_node *(*declare)(struct rt_graph *g, const struct bn_train_options *o);
};
/* Ends with a model without a name. */
extern const struct bn_model bn_models[];
const char *bn_model_word(size_t i); /* the i-th name; NULL behind the last */
/* NULL and -EINVAL with every name if there is none of that name. */
const struct bn_model *bn_model_find(const char *name, struct gt_err *err);
/* Sizes that the model has not may not be given, and those that it has must fit together. */
int bn_model_check(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err);
#endif
