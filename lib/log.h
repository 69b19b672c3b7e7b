/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_LOG_H
#define GT_LOG_H
/* Talk goes to stderr, the answer to stdout. */
#include "lib/util.h"

enum gt_log_level { GT_LOG_ERROR, GT_LOG_WARN, GT_LOG_INFO, GT_LOG_DEBUG };

void gt_log_init(const char *tool, enum gt_log_level level);
void gt_log(enum gt_log_level level, const char *fmt, ...) GT_PRINTF(2, 3);
#define gt_warn(...)	gt_log(GT_LOG_WARN, __VA_ARGS__)
#define gt_info(...)	gt_log(GT_LOG_INFO, __VA_ARGS__)
#define gt_debug(...)	gt_log(GT_LOG_DEBUG, __VA_ARGS__)

/* What is said goes to systemd's journal, line by line with its priority. */
bool gt_log_is_journal(void);

/* A progress line on stderr: rewritten in place on a terminal, one line a minute at most elsewhere, silent when quiet.
 * done and total are in the caller's unit; the ETA follows from the time used so far. total 0: no ETA. */
void gt_progress(const char *what, double done, double total);
/* The work ends after this long whatever is left of it: no ETA is later. 0: it does not. */
void gt_progress_limit(double left_s);
void gt_progress_end(void);
#endif
