/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_GENERATE_H
#define BN_GENERATE_H
/* gpubench infer --generate: time of prefill and decode with a cache of keys and values, and the generated tokens. */
#include "bench/train/models.h"
#include "lib/json.h"

struct bn_generate_options {
	uint64_t tokens;	/* new tokens per prompt; 0: no generation */
	const char *prompts;	/* file with the ids of a prompt per line; NULL: random prompts */
	uint64_t prompt_tokens; /* length of random prompts; 0: 64 */
	const char *temperature; /* NULL: 0, which takes the token with the largest logit */
	uint64_t top_k;		/* sample from the K largest logits; 0: from all */
};
struct bn_prompts {
	int32_t *ids;	 /* (rows,longest), padded with 0 */
	int64_t *length; /* (rows), in tokens */
	int64_t rows, longest;
};
struct bn_generation {
	const struct bn_train_options *model; /* options with defaults filled in; steps: timed generations */
	const struct bn_model *kind;
	const struct bn_generate_options *o;
	const char *load;     /* checkpoint, or NULL */
	const char *int8;     /* "dynamic", or NULL */
	double temperature;
	int64_t context;      /* largest number of tokens per row; 0: no limit */
	/* Called after each token; may be NULL. A non-zero return value ends the generation with -EINTR. */
	int (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint64_t done, total; /* tokens of all batches */
};
/* Checks the options together with those of the model, and sets `context` and `temperature`. */
int bn_generate_check(struct bn_generation *g, struct gt_err *err);
/* Reads o->prompts, or makes `rows` random prompts. Checks their length and ids. */
int bn_prompts_make(const struct bn_generation *g, uint64_t rows, struct bn_prompts *ret, struct gt_err *err);
void bn_prompts_clear(struct bn_prompts *p);
/*
 * Generates from the prompts `warmup` and `steps` times. *ret: an entry of "batches" of bench/schema/gpubench-generate-1.json.
 * *ret_report: the report of the program. Exit status 6: a logit is not finite, or two generations differ.
 */
int bn_generate(struct bn_generation *g, const struct bn_prompts *p, json_t **ret, json_t **ret_report, struct gt_err *err);
#endif
