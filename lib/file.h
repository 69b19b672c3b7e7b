/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FILE_H
#define GT_FILE_H
/* Files that the user names on the command line: plans, results, reports. (The host's own files go through fsroot.) */
#include <sys/types.h>
#include "lib/err.h"

/* A name that cannot be opened or created is the user's to mend: exit status 64. */

/* The whole of path ("-" is stdin), NUL-terminated, at most max bytes. Only regular files and pipes. */
int gt_file_read(const char *path, size_t max, char **ret, size_t *ret_len, struct gt_err *err);
/* New content under the final name or nothing at all ("-" writes stdout), by the rule of lib/replace.h. */
int gt_file_write(const char *path, const char *data, size_t len, mode_t mode, struct gt_err *err);
/* Tests whether gt_file_write() could write path, for work that takes long before it writes. NULL (no path) passes. */
int gt_file_try(const char *path, struct gt_err *err);
/* Of what is printed by stdio: 0, or why it does not get out: -EPIPE if the reader has left, -EIO if the reason has gone by. */
int gt_stdout_flush(void);
/* Reads fd to its end, NUL-terminated; ret_len may be NULL. -EFBIG: there are more than max bytes. */
int gt_read_all(int fd, size_t max, char **ret, size_t *ret_len);
/* Reads at most max bytes, whether or not these are all. */
int gt_read_up_to(int fd, size_t max, char **ret, size_t *ret_len);
/* Writes all of data to fd, in as many steps as write(2) takes. */
int gt_fd_write(int fd, const char *data, size_t len);
#endif
