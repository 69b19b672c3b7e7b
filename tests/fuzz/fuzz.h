/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FUZZ_H
#define GT_FUZZ_H
/*
 * A fuzz target is one file fuzz_NAME.c with the two symbols below, and a directory corpus/NAME. It aborts if a property
 * fails. The common property: it rejects input that it cannot use, and reproduces input that it accepts. See
 * tests/README.md.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Mutations of each corpus file in `make check`. Targets that write files use fewer. */
extern const unsigned fuzz_rounds;

#define FUZZ_ASSERT(cond)                                                                     \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                              \
		}                                                                             \
	} while (0)
#endif
