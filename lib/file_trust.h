/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FILE_TRUST_H
#define GT_FILE_TRUST_H
/*
 * Checks of files that root may load, execute or follow as links: only root can write to them. For other users every
 * file passes.
 */
#include <sys/stat.h>
#include "lib/fsroot.h"

/* Returns NULL, or the reason not to trust this file (static text). */
const char *gt_check_file_trust(const struct gt_fsroot *fs, const struct stat *st);
/* Returns NULL, or the reason why another user could replace this file before another process opens it (static text).
 * Checks that each directory of the path, and of the path with links resolved, belongs to root and is writable only by
 * root. */
const char *gt_check_dirs_trust(struct gt_fsroot *fs, const char *path);
/* Returns NULL, or the reason why root must not use files at or below this absolute path (static text). The path and
 * all its parent directories must belong to root and be writable only by root. If the path does not exist, the existing
 * part is checked. */
const char *gt_check_path_trust(struct gt_fsroot *fs, const char *path);
#endif
