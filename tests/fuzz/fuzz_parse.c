/* SPDX-License-Identifier: Apache-2.0 */
/* The small parsers of lib/parse.h: an accepted value is printed unchanged; versions have a total order. */
#include <string.h>
#include "lib/parse.h"
#include "lib/visible.h"
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

/* For any CUDA_VISIBLE_DEVICES: devices of this host, no duplicates, and a reason if the list ends early. */
static void visible(const char *s)
{
	static const struct gt_gpu_name gpus[] = { { "GPU-8932f937", 0 }, { "GPU-8932aaaa", 1 }, { NULL, -1 } };
	struct gt_visible v;

	gt_visible_parse(s, gpus, GT_ARRAY_SIZE(gpus), &v);
	FUZZ_ASSERT(v.set && v.n <= GT_VISIBLE_MAX && !v.bad[0] == !v.why);
	for (size_t i = 0; i < v.n; i++) {
		FUZZ_ASSERT(v.v[i].gpu >= -1 && v.v[i].gpu < (int)GT_ARRAY_SIZE(gpus));
		for (size_t k = 0; k < i; k++)
			FUZZ_ASSERT(v.v[i].gpu < 0 || v.v[i].gpu != v.v[k].gpu);
	}
	gt_visible_parse(s, NULL, GT_GPUS_UNKNOWN, &v);
	FUZZ_ASSERT(v.n <= GT_VISIBLE_MAX);
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
	visible(s);
	FUZZ_ASSERT(gt_version_cmp(s, s) == 0);
	if (second)
		FUZZ_ASSERT(sign(gt_version_cmp(s, second)) == -sign(gt_version_cmp(second, s)));
	return 0;
}
