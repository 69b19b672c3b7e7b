/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_LOG_H
#define GT_LOG_H
/* Messages and progress go to stderr; the result goes to stdout. */
#include "lib/util.h"

enum gt_log_level { GT_LOG_ERROR, GT_LOG_WARN, GT_LOG_INFO, GT_LOG_DEBUG };

void gt_log_init(const char *tool, enum gt_log_level level);
void gt_log(enum gt_log_level level, const char *fmt, ...) GT_PRINTF(2, 3);
#define gt_warn(...)	gt_log(GT_LOG_WARN, __VA_ARGS__)
#define gt_info(...)	gt_log(GT_LOG_INFO, __VA_ARGS__)
#define gt_debug(...)	gt_log(GT_LOG_DEBUG, __VA_ARGS__)

/* Returns true if stderr is a socket of systemd's journal. Each line then starts with its priority. */
bool gt_log_is_journal(void);

/* Prints progress on stderr: one line rewritten in place on a terminal, else at most one line a minute; nothing if
 * quiet. done and total are in the caller's unit. The ETA is extrapolated from the elapsed time. total 0: no ETA. */
void gt_progress(const char *what, double done, double total);
/* Limits the ETA to left_s seconds, because the work ends after that time in any case. 0: no limit. */
void gt_progress_limit(double left_s);
void gt_progress_end(void);
#endif
