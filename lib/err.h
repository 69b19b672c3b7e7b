/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_ERR_H
#define GT_ERR_H
/* Functions that fill struct gt_err; its contract is in lib/base.h. */
#include "lib/util.h"

/* Stores the sentence and returns -code. */
int gt_fail(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* Like gt_fail(), and sets the exit status of main: gt_fail_exit(err, 3, EPERM, "…"). */
int gt_fail_exit(struct gt_err *err, int exit_status, int code, const char *fmt, ...) GT_PRINTF(4, 5);
/* Like gt_fail(), and appends ": " and strerror(code), for system calls. */
int gt_fail_errno(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* Prepends "prefix: " to the stored sentence. Returns -err->code. */
int gt_fail_prefix(struct gt_err *err, const char *fmt, ...) GT_PRINTF(2, 3);
/* Appends to the stored sentence. err may be NULL. */
void gt_fail_suffix(struct gt_err *err, const char *fmt, ...) GT_PRINTF(2, 3);
/* Sets the exit status of main for the stored error if r is negative. Returns r. */
int gt_fail_as(struct gt_err *err, int exit_status, int r);
void gt_err_clear(struct gt_err *err);

/* Exit codes that all tools share (after sysexits.h). */
enum { GT_EXIT_OK = 0, GT_EXIT_USAGE = 64, GT_EXIT_INTERNAL = 70 };
#endif
