/* SPDX-License-Identifier: Apache-2.0 */
/* An untrusted loader cache: every name and path lies inside it and is terminated. */
#include <string.h>
#include "probe/loader/ldcache.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 3000;

struct bounds {
	const char *data, *end;
};

static void inside(void *arg, const char *soname, const char *path)
{
	const struct bounds *b = arg;

	FUZZ_ASSERT(soname >= b->data && soname + strlen(soname) < b->end);
	FUZZ_ASSERT(path >= b->data && path + strlen(path) < b->end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bounds b = { (const char *)data, (const char *)data + size };

	if (size)
		pr_ldcache_parse(b.data, size, inside, &b);
	return 0;
}
