/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted compatibility table: rejected with file and line, or every key in it is found. */
#include <string.h>
#include "probe/compat/compat.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 3000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *text = gt_xstrndup((const char *)data, size), *value = NULL;
	struct gt_err err = { 0 };
	int r = pr_compat_lookup(text, "t", "12", &value, &err);

	if (r < 0)
		FUZZ_ASSERT(!value && strstr(err.msg, "t:"));
	else
		FUZZ_ASSERT((r == 1) == (value != NULL) && (!value || *value));
	return 0;
}
