/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LIBS_H
#define PR_LIBS_H
/* Libraries of the NVIDIA stack on disk. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_lib {
	const char *soname;  /* "libcuda.so.1" */
	const char *path;    /* path that the loader finds */
	const char *real;    /* the file after resolving all links */
	const char *version; /* version from the name of the real file, NULL if it has none */
	const char *rule;    /* "LD_LIBRARY_PATH", "ld.so.cache", "default"; NULL: on disk, but not in a search path */
};

struct pr_libs {
	struct pr_lib *lib; /* libraries in the loader's search order */
	size_t n_lib;
	enum pr_state ldcache; /* state of the loader's cache */
};

void pr_discover_libs(struct gt_fsroot *fs, struct pr_host *h);
void pr_libs_clear(struct pr_libs *l);
/* Returns the watched libraries in the loader's cache as the fact "ldcache"; NULL if the cache was not read. The caller
 * frees it. */
char *pr_ldcache_fact(const struct pr_host *h);
const struct pr_lib *pr_find_lib(const struct pr_host *h, const char *soname, size_t nth);
/* Returns the library that a program without RPATH loads, NULL if the loader finds none. */
const struct pr_lib *pr_loaded_lib(const struct pr_host *h, const char *soname);
#endif
