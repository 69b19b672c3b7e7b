/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer about priority flow control as the kernel would send it: rejected without a change, or a mask of 8 priorities.
 * Each is read in memory of its exact size.
 */
#include <string.h>
#include "probe/host/reading.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *answer = gt_xcalloc(size + !size, 1); /* aligned for any type */
	struct pr_num mask = { PR_UNKNOWN, -1 }, again = { PR_UNKNOWN, -1 };

	memcpy(answer, data, size);
	if (!pr_parse_pfc(answer, size, &mask)) {
		FUZZ_ASSERT(mask.state == PR_UNKNOWN && mask.v == -1);
		return 0;
	}
	FUZZ_ASSERT(mask.state == PR_PRESENT && mask.v >= 0 && mask.v <= 0xff);
	FUZZ_ASSERT(pr_parse_pfc(answer, size, &again) && again.v == mask.v);
	return 0;
}
