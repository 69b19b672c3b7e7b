/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_UDEV_H
#define TN_UDEV_H
/*
 * Which rule of udev(7) sets a kernel file at boot. Rules are read like systemd-udevd 252 to 257 reads them, which
 * tests/peers/udevadm.py checks:
 *
 *   - *.rules files of /etc, /run, /usr/local/lib and /usr/lib/udev/rules.d apply in the order of their names. Of two files
 *     with one name the one in the earlier directory counts, also if it is empty or a link to /dev/null.
 *   - udevd ignores a line if it rejects one of its keys. All conditions of a line come before its assignments.
 *   - Of several assignments the last one stays. RUN programs start after all lines.
 *
 * Only the conditions ACTION, KERNEL, SUBSYSTEM and ATTR are evaluated. Any other key, a substitution in a value and an
 * attribute that tuning changes make an assignment uncertain: the line "may set" the file. No program is started and no
 * device is touched.
 */
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"

enum tn_truth { TN_NO, TN_MAYBE, TN_YES };

/* ---- rules (rules.c) ---- */

enum tn_udev_op { TN_UDEV_MATCH, TN_UDEV_NOMATCH, TN_UDEV_ADD, TN_UDEV_REMOVE, TN_UDEV_ASSIGN, TN_UDEV_FINAL };
struct tn_udev_token {
	char *key, *name, *value; /* KEY{NAME} OP "VALUE"; name is NULL if there is none */
	enum tn_udev_op op;
	bool literal;	/* udevd uses the value as it is here: no substitution, no escape sequence */
	bool evaluated; /* false: what it does to its line is unknown */
};
struct tn_udev_rule {
	size_t file;	     /* index into files */
	unsigned line;	     /* the first one, if it is continued */
	char *unread;	     /* the first key that is not evaluated, "ENV{ID_X}"; NULL: none */
	const char *label, *wants; /* values of LABEL and GOTO, NULL: none */
	size_t go_to;	     /* index of the rule with that label, 0: none */
	struct tn_udev_token *token;
	size_t n;
};
struct tn_udev_problem {
	size_t file;
	unsigned line;
	char *what;
};
struct tn_udev {
	struct gt_fsroot *fs;
	struct gt_strv files, texts;
	bool parsed;
	bool without_ours; /* set by the caller: tn_udev_ask answers as if gputune had no rules */
	struct tn_udev_rule *rule; /* of all files, in order */
	size_t n;
	struct tn_udev_problem *problem; /* lines that udevd ignores */
	size_t n_problem;
};
/* Reads the files, parses nothing. The caller clears u. */
void tn_udev_load(struct gt_fsroot *fs, enum sc_when when, struct tn_udev *u);
void tn_udev_parse(struct tn_udev *u); /* a second call does nothing */
void tn_udev_clear(struct tn_udev *u);
bool tn_udev_compares(const struct tn_udev_token *t); /* a condition, not an assignment */
/* Is this an assignment of KEY? */
static inline bool tn_udev_sets(const struct tn_udev_token *t, const char *key)
{
	return !tn_udev_compares(t) && !strcmp(t->key, key);
}

/* ---- one event (event.c) ---- */

struct tn_udev_device {
	struct gt_fsroot *fs;
	char *path, *name, *subsystem; /* path in /sys, links resolved; "sda"; "block" */
	bool whole; /* an attribute that is not found does not exist; a captured host holds only some of them */
};
/* False if there is no device at path, or one whose subsystem is unknown. The caller clears it. */
bool tn_udev_device_open(struct gt_fsroot *fs, const char *path, struct tn_udev_device *ret);
void tn_udev_device_clear(struct tn_udev_device *d);
/* Called for each assignment that an event carries out. depends_on: what makes it uncertain, NULL: nothing. */
typedef void tn_udev_did(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on);
void tn_udev_event(struct tn_udev *u, const struct tn_udev_device *d, const char *action, tn_udev_did *did, void *ctx);

/* ---- questions (ask.c) ---- */

struct tn_udev_answer {
	char *value, *by; /* the value that is set at boot and "FILE:LINE", NULL: no rule sets it for certain */
	char *may;	  /* the lines that may set it besides or later; NULL: none */
};
/* Which rule decides the kernel file path, in /sys or /proc/sys, at boot? ours: the value that gputune's rules set, only what
 * takes effect after them counts; NULL: all rules. */
void tn_udev_ask(struct tn_udev *u, const char *path, const char *ours, struct tn_udev_answer *ret);
void tn_udev_answer_clear(struct tn_udev_answer *a);
#endif
