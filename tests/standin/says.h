/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STANDIN_SAYS_H
#define STANDIN_SAYS_H
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns the number of a variable. NUMBER:PART applies to the copy of the library of `symbol` whose path contains PART.
 */
static inline size_t standin_says(const char *variable, const void *symbol, size_t otherwise)
{
	const char *s = getenv(variable);
	char *end = NULL;
	size_t n = s ? (size_t)strtoull(s, &end, 10) : otherwise;
	Dl_info info;

	return s && *end == ':' && dladdr(symbol, &info) && !strstr(info.dli_fname, end + 1) ? otherwise : n;
}
#endif
