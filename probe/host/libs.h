/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LIBS_H
#define PR_LIBS_H
/* The libraries of the NVIDIA stack that are on disk. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_lib {
	const char *soname;  /* "libcuda.so.1" */
	const char *path;    /* as the loader finds it */
	const char *real;    /* the file after all links */
	const char *version; /* from the name of the real file, NULL if it has none */
	const char *rule;    /* "LD_LIBRARY_PATH", "ld.so.cache", "default"; NULL: on disk, but in no search path */
};

struct pr_libs {
	struct pr_lib *lib; /* in the order in which a loader finds them */
	size_t n_lib;
	enum pr_state ldcache; /* of the loader's cache */
};

void pr_discover_libs(struct gt_fsroot *fs, struct pr_host *h);
void pr_libs_clear(struct pr_libs *l);
/* Returns our libraries in the loader's cache as the fact "ldcache"; NULL if it was not read. The caller frees it. */
char *pr_ldcache_fact(const struct pr_host *h);
const struct pr_lib *pr_find_lib(const struct pr_host *h, const char *soname, size_t nth);
/* The one that a program without RPATH loads, NULL if a loader finds none. */
const struct pr_lib *pr_loaded_lib(const struct pr_host *h, const char *soname);
#endif
