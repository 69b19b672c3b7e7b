/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LDCACHE_H
#define PR_LDCACHE_H
#include <errno.h>
#include "lib/util.h"

#define PR_LDCACHE "/etc/ld.so.cache"

typedef void pr_ldcache_fn(void *arg, const char *soname, const char *path);
/* Calls fn for each 64-bit library of the cache, in the loader's order. Returns -EINVAL if the data is malformed or
 * truncated; fn was then called for the entries before the error. */
int pr_ldcache_parse(const char *data, size_t len, pr_ldcache_fn *fn, void *arg);
#endif
