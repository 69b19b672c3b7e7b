/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted config.json of Hugging Face: refused with a message and status 64, or each prediction is a positive number. */
#include <math.h>
#include "bench/train/plan_parallel.h"
#include "lib/cli.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 1000;

#define LAYERS_MOST	6 /* more are only slower */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bn_parallel_request q = { .gpus = true, .ranks = 2, .memory_bytes = UINT64_C(80) << 30, .link_bytes_per_s = 1e11,
					 .rates = { 1e14, 1e14, 1e12 }, .source = "given",
					 .model = { .lr = NAN, .warmup = UINT64_MAX, .workers = UINT64_MAX,
						    .max_corrupt = UINT64_MAX, .alone = true, .batch = 2 } };
	gt_auto_json *plan = NULL;
	struct gt_err err = { 0 };
	json_t *k;
	size_t i;
	int r = bn_parallel_parse_config(&q, (const char *)data, size, "config.json", &err);

	if (!r && q.model.layers > LAYERS_MOST && q.model.layers <= 1024)
		return 0;
	r = r ? r : bn_plan_parallel(&q, &plan, &err);
	if (r) {
		FUZZ_ASSERT(err.msg[0] && err.exit_status == GT_EXIT_USAGE);
		return 0;
	}
	FUZZ_ASSERT(gt_json_get_real(plan, "parameters", 0) >= 1);
	json_array_foreach(json_object_get(plan, "splits"), i, k)
		FUZZ_ASSERT(gt_json_get_real(k, "memory_bytes", -1) > 0 && gt_json_get_real(k, "step_s", -1) > 0);
	return 0;
}
