/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PLAN_PARALLEL_H
#define BN_PLAN_PARALLEL_H
/* Memory, messages and step time of all splits of a model among ranks. */
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"

struct bn_parallel_request {
	/* Model, sizes, amp, optimizer, threads. batch: of all ranks; 0: the model's for each rank. */
	struct bn_train_options model;
	bool from_config;	       /* the sizes are those of model.hf */
	bool gpus;		       /* ranks are GPUs, not processes on CPUs of this host */
	uint64_t ranks;
	uint64_t memory_bytes, reserve_bytes; /* memory of one rank, and the part that the program cannot use */
	/* Rates of one rank. link_bytes_per_s: bytes that it sends to others. latency_s: latency of one collective. */
	struct rt_rates rates;
	double link_bytes_per_s, latency_s;
	const char *source; /* origin of the rates, as text for the report */
};
/* Reads the sizes from a config.json of Hugging Face. Exit status 64 if it is not usable. */
int bn_parallel_read_config(struct bn_parallel_request *q, const char *path, struct gt_err *err);
/* Does the same from the text of the file. */
int bn_parallel_parse_config(struct bn_parallel_request *q, const char *text, size_t len, const char *name, struct gt_err *err);
/* Checks the request without its rates. */
int bn_parallel_check(const struct bn_parallel_request *q, struct gt_err *err);
/* Returns the document gpubench-plan-parallel/1: splits that fit, fastest first, then the others. Exit status 64 if the
 * request is invalid, or if no split is possible. */
int bn_plan_parallel(const struct bn_parallel_request *q, json_t **ret, struct gt_err *err);
#endif
