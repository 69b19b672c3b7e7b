/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FILE_H
#define GT_FILE_H
/* Files that the user names on the command line: plans, results, reports. The host's own files are accessed through fsroot. */
#include <sys/types.h>
#include "lib/err.h"

/* If the user's file cannot be opened or created, the exit status is 64. */

/* Reads the whole file ("-": stdin), at most max bytes, NUL-terminated. Accepts only regular files and pipes. */
int gt_file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct gt_err *err);
/* Replaces path atomically by the rules of lib/replace.h; "-" writes to stdout. */
int gt_file_write(const char *path, const char *data, size_t len, mode_t mode, struct gt_err *err);
/* Checks whether gt_file_write() could write path, for commands that run long before they write. NULL (no path) succeeds. */
int gt_file_try(const char *path, struct gt_err *err);
/* Flushes stdout. Returns 0 or a negative errno: -EPIPE if the reader has closed the pipe, -EIO if the cause of an
 * earlier error is unknown. */
int gt_stdout_flush(void);
/* Reads fd to its end, NUL-terminated. ret_len may be NULL. Returns -EFBIG for more than max bytes. */
int gt_read_all(int fd, size_t max, char **ret, size_t *ret_len);
/* Reads at most max bytes and ignores the rest. */
int gt_read_up_to(int fd, size_t max, char **ret, size_t *ret_len);
/* Writes all of data to fd. Repeats short writes. */
int gt_fd_write(int fd, const char *data, size_t len);
#endif
