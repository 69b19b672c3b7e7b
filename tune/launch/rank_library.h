/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANK_LIBRARY_H
#define TN_RANK_LIBRARY_H
/* libgputune-rank.so (tune/preload/rank.c), which gputune run preloads into the command and its descendants. */
#include "lib/fsroot.h"

#define TN_RANK_LIBRARY "libgputune-rank.so"

/* Returns the library: next to this program in a build tree, else in the package's directory. NULL: it cannot be
 * preloaded, and *ret_why has a clause (the caller frees both). */
char *tn_rank_library_find(struct gt_fsroot *fs, char **ret_why);
/* Returns the absolute path of this program; NULL: unknown. The caller frees it. */
char *tn_own_program(struct gt_fsroot *fs);
#endif
