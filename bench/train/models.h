/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_MODELS_H
#define BN_MODELS_H
/* The models of gpubench train: sizes, and the function that declares the graph. */
#include "bench/train/options.h"
#include "lib/err.h"
#include "runtime/runtime.h"

struct bn_model {
	const char *name, *unit;
	uint64_t batch, seq, layers, width, heads, vocab, size, steps, warmup; /* 0: the model has no such size */
	uint64_t kv_heads, ffn, patch; /* the same */
	int hf; /* enum rt_hf_family of its layout, plus 1; 0: none */
	uint64_t classes; /* number of image classes; models of tokens have vocab classes */
	double lr;
	const char *optimizer;
	bool text;   /* trains on text by default */
	bool tokens; /* whether the model can train on text */
	struct rt_node *(*declare)(struct rt_graph *g, const struct bn_train_options *o);
};
/* Ends with an entry without a name. */
extern const struct bn_model bn_models[];
const char *bn_model_word(size_t i); /* returns the i-th name; NULL after the last */
/* Returns the model with that name. Without one it returns NULL, and err is -EINVAL with the list of all names. */
const struct bn_model *bn_model_find(const char *name, struct gt_err *err);
/* Checks that only sizes of this model are given, and that they fit together. */
int bn_model_check(const struct bn_model *m, const struct bn_train_options *o, struct gt_err *err);
#endif
