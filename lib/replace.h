/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_REPLACE_H
#define GT_REPLACE_H
/*
 * Atomic output to a file that the user names. All three tools write all such files by these rules:
 *
 *   /dev/null, /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N   written to directly
 *   no file, or a regular file        a new file replaces it by rename(2); the old file is never opened
 *   a symbolic link of the caller     its target is replaced by these same rules; the link stays. For root, the directory of
 *                                     the link must also belong to root and not be writable by others
 *   all else                          refused: other links, directories, devices, FIFOs, sockets
 *
 * Root follows a link in a parent directory of the file only under the same conditions.
 *
 * The new file is written as NAME.PID.saving in the same directory and is locked until the rename. A killed process
 * leaves the old file and an unlocked NAME.PID.saving. The next writer of the same file removes the latter.
 */
#include <sys/types.h>
#include "lib/err.h"

struct gt_replace {
	int fd;	   /* descriptor to write to */
	int dir;   /* directory of the file; -1: fd is the destination itself */
	char *base, *temporary; /* names in dir */
};

/* Starts writing path. Returns 0, or a negative errno with exit status 64 and nothing changed. gt_replace_end() must
 * follow success. */
int gt_replace_begin(const char *path, mode_t mode, struct gt_replace *ret, struct gt_err *err);
/* Does the same for the file base in dir. The caller keeps dir open. Follows no link. Returns 0 or a negative errno. */
int gt_replace_begin_at(int dir, const char *base, mode_t mode, struct gt_replace *ret);
/* With status 0, syncs the new file and renames it into place. Otherwise, or if that fails, removes it. Returns 0,
 * status, or a negative errno. */
int gt_replace_end(struct gt_replace *r, int status);
#endif
