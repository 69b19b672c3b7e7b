/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H
/* Device memory of the stand-in driver: allocations, each after a header. For libcuda.c only. */
#include <stddef.h>
#include "standin.h"

static size_t allocated;
static struct allocation {
	struct allocation *next;
	size_t size;  /* including this header */
	size_t room;  /* at least size */
	size_t bytes; /* size as requested */
	unsigned number;
} *allocations;
#define HEAD 256

int standin_allocated(const void *p, size_t n)
{
	for (struct allocation *a = allocations; a; a = a->next) {
		const char *data = (const char *)a + HEAD;

		if ((const char *)p >= data && (const char *)p + n <= data + a->bytes)
			return 1;
	}
	return 0;
}

static const struct allocation *find_allocation(const void *p)
{
	for (const struct allocation *a = allocations; a; a = a->next)
		if ((const char *)p >= (const char *)a + HEAD && (const char *)p <= (const char *)a + HEAD + a->bytes)
			return a;
	return NULL;
}
#endif
