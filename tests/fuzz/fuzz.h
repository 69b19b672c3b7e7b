/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FUZZ_H
#define GT_FUZZ_H
/*
 * A fuzz target is one file fuzz_NAME.c with the two symbols below and a folder corpus/NAME. It aborts when a promise is
 * broken: what it cannot use, it must refuse; what it took, it must give back the same. tests/README.md says the rest.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* How many mutations of each corpus file `make check` tries: fewer for targets that write files. */
extern const unsigned fuzz_rounds;

#define FUZZ_ASSERT(cond)                                                                     \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                              \
		}                                                                             \
	} while (0)
#endif
