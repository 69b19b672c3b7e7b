/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: whatever program of the public ops the bytes are, it is compiled into what the plain definitions say, with each
 * technique on and off, or refused by a sentence. tests/graphs is the same with seeds, ranks, mixed precision, and what makes a
 * failing program small. How far 8 bits lead astray is known there for the programs that chance draws; a search for new paths
 * draws others, and finds the farthest. */
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
		fprintf(stderr, "%s: %s\n", variants[w].name, t.said);
		gen_print(&m, stderr);
		FUZZ_ASSERT(!"a program kept every promise");
	}
	return 0;
}
