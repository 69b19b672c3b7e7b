/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOADER_PRIV_H
#define PR_LOADER_PRIV_H
/* Internal functions of the loader simulation. */
#include "probe/loader/loader.h"

/* Returns the next path for name in ld.so.cache, NULL after the last. *at starts at 0. */
const char *pr_elf_cache_next_cached(struct pr_elf_cache *e, const char *name, size_t *at);
/* Determines the directories of the system's loader and the glibc-hwcaps levels of this processor. */
void pr_search_prepare(struct pr_loader *l, const char *cpu_flags);
/* Searches name, needed by object `by`. Returns the file that the loader uses, and with `all` also the later matches.
 * The caller frees the list of *ret_n elements, and each element with pr_hit_clear(). */
struct pr_hit *pr_search(struct pr_loader *l, const char *name, int by, bool all, size_t *ret_n);
void pr_hit_clear(struct pr_hit *h);
/* Expands the tokens of a path such as "$ORIGIN/../lib". Returns NULL for an unknown token. */
char *pr_expand(const struct pr_loader *l, const char *text, int owner);
#endif
