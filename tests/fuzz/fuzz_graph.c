/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Property: any program of the public ops is rejected with a message, or its compiled results equal the plain definitions. This
 * holds with each technique on and off. tests/graphs does the same with seeds, ranks and mixed precision, and shrinks failing
 * programs. Its error bounds for 8-bit types hold only for randomly drawn programs: a search by coverage finds programs with
 * larger errors.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/graphs/variants.h"

const unsigned fuzz_rounds = 12;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gen_program m;

	if (size > GEN_BYTES)
		return 0;
	gen_draw(&m, data, size);
	for (int w = 0; w < n_variants; w++) {
		struct gen_program mine = m;
		struct trial t = { .m = &mine };

		if (variants[w].forks || variants[w].holds == variant_reduced_values || variants[w].holds(&t))
			continue;
		fprintf(stderr, "%s: %s\n", variants[w].name, t.message);
		gen_print(&m, stderr);
		FUZZ_ASSERT(!"a program kept every promise");
	}
	return 0;
}
