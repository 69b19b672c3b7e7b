/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SMBIOS table of unchecked firmware ('m'), and an untrusted fingerprint from a file ('j'), compared with this
 * machine's. Reading a table stops at the end of its input and gives the same result each time. The comparison of
 * fingerprints is symmetric, and a document equals itself.
 */
#include <string.h>
#include "lib/json.h"
#include "probe/host/machine_fingerprint.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 20000;

static void smbios(const uint8_t *data, size_t size)
{
	gt_autofree unsigned char *copy = gt_xcalloc(1, size + 1);
	gt_auto_buf one = { 0 }, two = { 0 };

	memcpy(copy, data, size);
	pr_memory_modules(copy, size, &one);
	pr_memory_modules(data, size, &two);
	FUZZ_ASSERT(one.len == two.len && (!one.len || !memcmp(one.s, two.s, one.len)));
}

static void marks(const uint8_t *data, size_t size)
{
	gt_auto_json *here = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "machine_id", "89abcdef01234567", "system", "0123", "gpus",
				       "0000:17:00.0", "0123", "ports", "0000:01:00.0", "4567"), *there = NULL;
	gt_auto_buf ab = { 0 }, ba = { 0 }, self = { 0 };

	if (gt_json_parse((const char *)data, size, "marks", &there, NULL) < 0)
		return;
	pr_fingerprint_difference(here, there, &ab);
	pr_fingerprint_difference(there, here, &ba);
	pr_fingerprint_difference(there, there, &self);
	FUZZ_ASSERT(!self.len && !ab.len == !ba.len);
	FUZZ_ASSERT(pr_fingerprint_shared(here, there) == pr_fingerprint_shared(there, here));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'm')
		smbios(data + 1, size - 1);
	else if (size && data[0] == 'j')
		marks(data + 1, size - 1);
	return 0;
}
