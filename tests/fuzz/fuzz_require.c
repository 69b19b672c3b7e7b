/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVIDIA_REQUIRE_CUDA of an image: it is rejected with a message or evaluated. With fewer known facts, a "no" never
 * becomes a "yes".
 */
#include <string.h>
#include "probe/compat/require.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 3000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pr_require_facts all = { "12.4", "550.163.01", "9.0", "tesla" }, none = { 0 };
	gt_autofree char *text = gt_xstrndup((const char *)data, size), *why = NULL, *why_less = NULL;
	bool unknown = false, unknown_less = false;
	struct gt_err err = { 0 };
	int r = pr_require(text, &all, &why, &unknown, &err), less;

	less = pr_require(text, &none, &why_less, &unknown_less, NULL);
	if (r < 0) {
		FUZZ_ASSERT(err.code > 0 && err.msg[0] && less < 0);
		return 0;
	}
	FUZZ_ASSERT(!unknown); /* all facts are known */
	FUZZ_ASSERT(!(less == 1 && r == 0));
	FUZZ_ASSERT(r == 1 || why);
	return 0;
}
