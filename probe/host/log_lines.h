/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOG_LINES_H
#define PR_LOG_LINES_H
#include "probe/host/host.h"

/*
 * Classifies one line of the kernel log, without the prefixes of dmesg and syslog. level is the kernel's (0 emergency
 * to 7 debug), -1 if the log has none. Returns false for an irrelevant line; ret is then untouched. ret->text points to
 * text.
 */
bool pr_log_classify(const char *text, int level, struct pr_log_line *ret);
#endif
