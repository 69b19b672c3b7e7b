/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted certificate (c), signature (s), end of a module (t) or key list of firmware (l): rejected, or names of
 * printable characters and hex digits. Each is read in memory of its exact size.
 */
#include <string.h>
#include "probe/host/signature.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 4000;

static void whole(void *arg, const struct pr_key *k)
{
	FUZZ_ASSERT(strnlen(k->name, sizeof(k->name)) < sizeof(k->name));
	FUZZ_ASSERT(strnlen(k->serial, sizeof(k->serial)) < sizeof(k->serial));
	FUZZ_ASSERT(strnlen(k->subject, sizeof(k->subject)) < sizeof(k->subject));
	for (const char *p = k->name; *p; p++)
		FUZZ_ASSERT(*p >= ' ' && *p <= '~');
	FUZZ_ASSERT(k->serial[strspn(k->serial, "0123456789abcdef@")] == '\0');
	FUZZ_ASSERT(k->subject[strspn(k->subject, "0123456789abcdef")] == '\0');
	if (*k->serial || *k->subject)
		FUZZ_ASSERT(pr_same_key(k, k));
	++*(int *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size ? size - 1 : 0, from_end, length;
	gt_autofree unsigned char *copy = gt_xcalloc(len + !len, 1);
	struct pr_key key;
	int n = 0;

	if (!size)
		return 0;
	memcpy(copy, data + 1, len);
	if (*data == 'c' && !pr_key_of_certificate(copy, len, &key))
		whole(&n, &key);
	if (*data == 's' && !pr_key_of_signature(copy, len, &key))
		whole(&n, &key);
	if (*data == 't' && pr_signature_at(copy, len, &from_end, &length) > 0)
		FUZZ_ASSERT(length && from_end == length + PR_SIGNATURE_TAIL);
	if (*data == 'l') {
		int r = pr_each_key(copy, len, whole, &n);

		FUZZ_ASSERT(r < 0 || r == n);
	}
	return 0;
}
