/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_INFER_H
#define BN_INFER_H
/* gpubench infer MODEL: latency and throughput of the forward pass, by batch. */
#include "bench/train/generate.h"
#include "bench/train/infer_int8.h"
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"

#define BN_INFER_BATCHES 16 /* maximum length of a list */

struct bn_infer_options {
	/* model, device, amp, sizes, threads, seed, warmup and memory limit; steps: timed runs per batch */
	struct bn_train_options model;
	const char *batches; /* "1,8,32"; NULL: "1,8" */
	const char *load;    /* checkpoint; NULL: initial parameters */
	struct bn_int8_options int8; /* INT8 products, compared with f32 in interleaved runs */
	bool evaluate; /* also compute loss and accuracy on held-out data */
	struct bn_generate_options generate;
	/* Called after each run; may be NULL. A non-zero return value ends the measurement with -EINTR. */
	int (*progress)(void *arg, uint64_t run, uint64_t total);
	void *arg;
};
/*
 * Returns the document of bench/schema/gpubench-infer-1.json. A run copies the inputs, computes the logits and copies
 * them to the caller's memory. Exit status 6: logits are not finite, or depend on the other rows of the batch.
 *
 * With generate.tokens: returns the document of bench/schema/gpubench-generate-1.json, see bench/train/generate.h.
 */
int bn_infer(const struct bn_infer_options *o, json_t **ret, struct gt_err *err);
#endif
