/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_COMPAT_H
#define PR_COMPAT_H
/* Compatibility facts. Compiled in from *.tsv; a file of the same name in /etc/gputune/compat.d replaces a table. */
#include "lib/err.h"
#include "lib/fsroot.h"

#define PR_COMPAT_DIR	"/etc/gputune/compat.d"

/* Oldest driver for a CUDA major release: 1 and *ret_driver (caller frees), 0 if the table does not know the release
 * (it may be newer than the table: unknown, not bad), or a negative errno with a sentence naming file and line. */
int pr_compat_min_driver(struct gt_fsroot *fs, int cuda_major, char **ret_driver, struct gt_err *err);
/* The table itself from text; name is for sentences. Same returns. */
int pr_compat_lookup(const char *text, const char *name, int cuda_major, char **ret_driver, struct gt_err *err);
extern const char pr_compat_cuda_driver[]; /* the compiled-in text */
#endif
