/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_REPLACE_H
#define GT_REPLACE_H
/*
 * A file that the user names for output: written whole or not at all. All three tools write all such files by this rule:
 *
 *   /dev/null, /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N   written to directly
 *   no file, or a regular file        a new file takes its place by rename(2); the old file is never opened
 *   a symbolic link of the caller     the file that it leads to is replaced, by this same rule; the link stays. For root, the
 *                                     directory of the link must also be root's, and not writable by others
 *   all else                          refused: another link, a directory, device, FIFO, socket
 *
 * Root follows a link on the way to the file only under the same conditions.
 *
 * The new file is written as NAME.PID.saving in the same directory, locked until the rename. A killed process leaves the old
 * file, and an unlocked NAME.PID.saving that the next writer of the same file removes.
 */
#include <sys/types.h>
#include "lib/err.h"

struct gt_replace {
	int fd;	   /* to be written */
	int dir;   /* of the file; -1: fd is written to directly */
	char *base, *temporary; /* names in dir */
};

/* 0, or a negative errno with exit status 64 and nothing changed; gt_replace_end() then ends it. */
int gt_replace_begin(const char *path, mode_t mode, struct gt_replace *ret, struct gt_err *err);
/* The same for the file base in dir, which the caller keeps open. No link is followed. Returns 0 or a negative errno. */
int gt_replace_begin_at(int dir, const char *base, mode_t mode, struct gt_replace *ret);
/* status 0: the new file is made durable and takes its place. Otherwise, or if that fails, it is removed. Returns 0, status, or a
 * negative errno. */
int gt_replace_end(struct gt_replace *r, int status);
#endif
