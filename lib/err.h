/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_ERR_H
#define GT_ERR_H
/* Functions that fill struct gt_err; its contract is in lib/base.h. */
#include "lib/util.h"

/* Store the sentence, return -code. */
int gt_fail(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* The same, and main exits with exit_status: gt_fail_exit(err, 3, EPERM, "…"). */
int gt_fail_exit(struct gt_err *err, int exit_status, int code, const char *fmt, ...) GT_PRINTF(4, 5);
/* The same with ": " and strerror(code) at the end: for system calls. */
int gt_fail_errno(struct gt_err *err, int code, const char *fmt, ...) GT_PRINTF(3, 4);
/* Put "prefix: " before the sentence already there; returns -err->code. */
int gt_fail_prefix(struct gt_err *err, const char *fmt, ...) GT_PRINTF(2, 3);
/* Put more behind the sentence already there; err may be NULL. */
void gt_fail_suffix(struct gt_err *err, const char *fmt, ...) GT_PRINTF(2, 3);
/* What the sentence already there means to this tool: main exits with exit_status if r is a failure. Returns r. */
int gt_fail_as(struct gt_err *err, int exit_status, int r);
void gt_err_clear(struct gt_err *err);

/* Exit codes that all tools share (sysexits). */
enum { GT_EXIT_OK = 0, GT_EXIT_USAGE = 64, GT_EXIT_INTERNAL = 70 };
#endif
