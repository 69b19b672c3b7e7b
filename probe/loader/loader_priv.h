/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOADER_PRIV_H
#define PR_LOADER_PRIV_H
/* What the parts of the loader share. */
#include "probe/loader/loader.h"

/* The next path that the loader's cache has for name, NULL behind the last; *at starts at 0. */
const char *pr_elf_cache_next_cached(struct pr_elf_cache *e, const char *name, size_t *at);
/* Directories of the system's loader and the levels of this processor. */
void pr_search_prepare(struct pr_loader *l, const char *cpu_flags);
/* What a search for name, needed by object `by`, comes to: the winner, and if all, every file it would come to after
 * that. The caller frees the list of *ret_n, and each with pr_hit_clear. */
struct pr_hit *pr_search(struct pr_loader *l, const char *name, int by, bool all, size_t *ret_n);
void pr_hit_clear(struct pr_hit *h);
/* "$ORIGIN/../lib" with the tokens replaced; NULL if a token is not known. */
char *pr_expand(const struct pr_loader *l, const char *text, int owner);
#endif
