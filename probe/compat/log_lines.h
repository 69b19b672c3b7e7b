/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOG_LINES_H
#define PR_LOG_LINES_H
#include <stdbool.h>
#include "probe/compat/log_rules.h"
#include "probe/compat/xid.h"

/* One line of the kernel log. */
enum pr_log_kind {
	PR_LOG_NOTE,	  /* not an error */
	PR_LOG_READ,	  /* an error that a check evaluates */
	PR_LOG_PROGRAM,	  /* an error of a program that ran on a GPU */
	PR_LOG_CORRECTED, /* an error that the hardware corrected; its rate counts */
	PR_LOG_UNREAD	  /* an error that no check evaluates */
};
struct pr_log_line {
	const char *text;
	int level; /* the kernel's level, 0 to 7; -1: unknown */
	enum pr_log_kind kind;
	const char *check; /* id of the check that evaluates or lists it; NULL: none */
	struct pr_xid xid;
	const struct pr_log_rule *rule; /* NULL: none applies, or the line has an Xid or SXid */
	size_t at;			/* offset of the rule's pattern in text */
	double first_s, time_s;		/* times of the first and the last occurrence in seconds after boot; NAN: unknown */
	unsigned count;			/* number of equal lines */
	bool past;			/* the error is over: a later line reports a reset, a new start or a recovery */
};
/* Returns whether the line of an NVSwitch reports a fatal error. */
bool pr_log_is_fatal(const char *text);
/* Returns whether the line reports a machine check that the hardware corrected. */
bool pr_log_is_corrected_mce(const char *text);

/*
 * Classifies one line of the kernel log, without the prefixes of dmesg and syslog. level is the kernel's (0 emergency
 * to 7 debug), -1 if the log has none. Returns false for an irrelevant line; ret is then untouched. ret->text points to
 * text. Times, count and past are those of a single line without a time.
 */
bool pr_log_classify(const char *text, int level, struct pr_log_line *ret);
/* Returns whether the lines are about one device: the same PCI address, else the same text before the rules' patterns. */
bool pr_log_same_device(const struct pr_log_line *a, const struct pr_log_line *b);
/* Sets `past` in the lines, which are in the order of the log. */
void pr_log_mark_past(struct pr_log_line *line, size_t n);
#endif
