/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LDCACHE_H
#define PR_LDCACHE_H
#include <errno.h>
#include "lib/util.h"

#define PR_LDCACHE "/etc/ld.so.cache"

typedef void pr_ldcache_fn(void *arg, const char *soname, const char *path);
/* Each 64-bit library of the cache, in the loader's order; -EINVAL if the data is not a whole cache (what came before the
 * broken entry was told). */
int pr_ldcache_parse(const char *data, size_t len, pr_ldcache_fn *fn, void *arg);
#endif
