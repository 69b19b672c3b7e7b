/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FILE_TRUST_H
#define GT_FILE_TRUST_H
/* Whose files root may follow, load and start: those that nobody else can write. For other users there is no question. */
#include <sys/stat.h>
#include "lib/fsroot.h"

/* NULL, or why this file must not be followed (static text). */
const char *gt_distrust(const struct gt_fsroot *fs, const struct stat *st);
/* NULL, or why a file that is opened by this path, later and by others, might be another one by then: a directory on the way
 * to it, by its name or by its links, is not root's alone (static text). */
const char *gt_distrust_way(struct gt_fsroot *fs, const char *path);
/* NULL, or why root must use no file at or below this absolute path: the file or directory, or a directory that leads to it, is
 * not root's alone. Of a path that does not exist, the part that exists is judged. */
const char *gt_distrust_path(struct gt_fsroot *fs, const char *path);
#endif
