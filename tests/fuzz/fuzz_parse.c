/* SPDX-License-Identifier: Apache-2.0 */
/* The small parsers of lib/parse.h: what they take, they give back; versions have one order. */
#include <string.h>
#include "lib/parse.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 5000;

static void sets(const char *s)
{
	gt_auto_set set = { 0 }, mask = { 0 }, again = { 0 };

	if (!gt_parse_cpulist(s, &set)) {
		gt_autofree char *text = gt_set_format(&set);

		FUZZ_ASSERT(text && !gt_parse_cpulist(text, &again) && gt_set_equal(&set, &again));
	} else {
		FUZZ_ASSERT(!gt_set_count(&set));
	}
	if (gt_parse_cpumask(s, &mask))
		FUZZ_ASSERT(!gt_set_count(&mask));
}

static void numbers(const char *s)
{
	uint64_t u = 7, size = 7;
	int64_t i = 7;
	double d = 7;
	char text[32];

	if (!gt_parse_u64(s, &u)) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)u);
		while (*s == '0' && s[1])
			s++;
		FUZZ_ASSERT(!strcmp(s, text));
		FUZZ_ASSERT(!gt_parse_size(s, &size) && size == u);
		FUZZ_ASSERT(u > INT64_MAX || (!gt_parse_i64(s, &i) && (uint64_t)i == u));
	} else {
		FUZZ_ASSERT(u == 7);
	}
	if (gt_parse_double(s, &d))
		FUZZ_ASSERT(d == 7);
	else
		FUZZ_ASSERT(d - d == 0);
}

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_autofree char *s = gt_xstrndup((const char *)data, size);
	char *second = strchr(s, '\n');

	if (second)
		*second++ = '\0';
	sets(s);
	numbers(s);
	FUZZ_ASSERT(gt_version_cmp(s, s) == 0);
	if (second)
		FUZZ_ASSERT(sign(gt_version_cmp(s, second)) == -sign(gt_version_cmp(second, s)));
	return 0;
}
