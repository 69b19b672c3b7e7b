/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LOAD_H
#define BN_LOAD_H
/* gpubench data PATH: reports the data and the speed of the loader without a model. */
#include "lib/err.h"
#include "lib/json.h"
#include "runtime/data/loader.h"

struct bn_load_options {
	struct rt_loader_options loader; /* rows 0: 64, or 16 for tokens; seq and size 0: 1024 and 224 */
	uint64_t batches; /* 0: enough for each sample `epochs` times */
	uint64_t epochs;  /* 0: 1 */
	uint64_t warmup;  /* batches before the timed ones */
	/* Called after each batch; may be NULL. A non-zero return value ends the run with -EINTR. */
	int (*progress)(void *arg, uint64_t batch, uint64_t total);
	void *arg;
};
/* Returns the loader's report with "schema", "batch", "seq", "size", "timed_batches", "seconds", "samples_per_s",
 * "items_per_s", "unit" and "bytes_per_s" (of the returned batches). */
int bn_load(const struct bn_load_options *o, json_t **ret, struct gt_err *err);
#endif
