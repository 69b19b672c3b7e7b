/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOG_LINES_H
#define PR_LOG_LINES_H
#include "probe/compat/xid.h"

/* One line of the kernel log. */
enum pr_log_kind {
	PR_LOG_NOTE,	/* not an error */
	PR_LOG_READ,	/* an error that a check evaluates */
	PR_LOG_PROGRAM, /* an error of a program that ran on a GPU */
	PR_LOG_UNREAD	/* an error that no check evaluates */
};
struct pr_log_line {
	const char *text;
	int level; /* the kernel's level, 0 to 7; -1: unknown */
	enum pr_log_kind kind;
	const char *check; /* id of the check that evaluates or lists it; NULL: none */
	struct pr_xid xid;
};
/* Returns whether the line of an NVSwitch reports a fatal error. */
bool pr_log_is_fatal(const char *text);

/*
 * Classifies one line of the kernel log, without the prefixes of dmesg and syslog. level is the kernel's (0 emergency
 * to 7 debug), -1 if the log has none. Returns false for an irrelevant line; ret is then untouched. ret->text points to
 * text.
 */
bool pr_log_classify(const char *text, int level, struct pr_log_line *ret);
#endif
