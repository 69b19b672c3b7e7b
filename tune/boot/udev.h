/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_UDEV_H
#define TN_UDEV_H
/*
 * Finds the udev(7) rule that sets a kernel file at boot. Rules are read as systemd-udevd 252 to 257 reads them, which
 * tests/peers/udevadm.py checks:
 *
 *   - *.rules files of /etc, /run, /usr/local/lib and /usr/lib/udev/rules.d apply in the order of their names. If two
 *     files have one name, the one in the earlier directory counts, also if it is empty or a link to /dev/null.
 *   - udevd ignores a line if it rejects one of its keys. All conditions of a line come before its assignments.
 *   - The last one of several assignments to a file stays. RUN programs start after all lines.
 *
 * Only the conditions ACTION, KERNEL, SUBSYSTEM and ATTR are evaluated. Any other key, a substitution in a value and an
 * attribute that tuning changes make an assignment uncertain: the line "may set" the file. No program is started and no
 * device is touched.
 */
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"

enum tn_truth { TN_NO, TN_MAYBE, TN_YES };

/* ---- rules (udev_rules.c) ---- */

enum tn_udev_op { TN_UDEV_MATCH, TN_UDEV_NOMATCH, TN_UDEV_ADD, TN_UDEV_REMOVE, TN_UDEV_ASSIGN, TN_UDEV_FINAL };
struct tn_udev_token {
	char *key, *name, *value; /* KEY{NAME} OP "VALUE"; name NULL: no {NAME} */
	enum tn_udev_op op;
	bool literal;	/* udevd uses the value unchanged: no substitution, no escape sequence */
	bool evaluated; /* false: its effect on the line is unknown */
};
struct tn_udev_rule {
	size_t file;	     /* index into files */
	unsigned line;      /* line number; the first one of a continued line */
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
	bool without_gputune; /* tn_udev_ask() ignores gputune's rules; set by the caller */
	struct tn_udev_rule *rule; /* rules of all files, in order */
	size_t n;
	struct tn_udev_problem *problem; /* lines that udevd ignores */
	size_t n_problem;
};
/* Reads the files without parsing them. The caller clears u. */
void tn_udev_load(struct gt_fsroot *fs, enum sc_when when, struct tn_udev *u);
void tn_udev_parse(struct tn_udev *u); /* parses the files; a second call does nothing */
void tn_udev_clear(struct tn_udev *u);
bool tn_udev_compares(const struct tn_udev_token *t); /* true: a condition; false: an assignment */
/* Returns whether the token assigns to KEY. */
static inline bool tn_udev_sets(const struct tn_udev_token *t, const char *key)
{
	return !tn_udev_compares(t) && !strcmp(t->key, key);
}

/* ---- one event (udev_event.c) ---- */

struct tn_udev_device {
	struct gt_fsroot *fs;
	char *path, *name, *subsystem; /* path in /sys with links resolved; name such as "sda"; subsystem such as "block" */
	bool whole; /* the root has all attributes; a captured host has only some, so a missing one is unknown */
};
/* Returns false if path is no device or its subsystem is unknown. The caller clears *ret. */
bool tn_udev_device_open(struct gt_fsroot *fs, const char *path, struct tn_udev_device *ret);
void tn_udev_device_clear(struct tn_udev_device *d);
/* Called for each assignment that an event carries out. depends_on: what makes it uncertain, NULL: nothing. */
typedef void tn_udev_did(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on);
void tn_udev_event(struct tn_udev *u, const struct tn_udev_device *d, const char *action, tn_udev_did *did, void *ctx);

/* ---- questions (udev_ask.c) ---- */

struct tn_udev_answer {
	char *value, *by; /* value that is set at boot and "FILE:LINE"; NULL: no rule certainly sets it */
	char *may;	  /* lines that may also set it, or set it later; NULL: none */
};
/* Finds the rule that decides the kernel file path, in /sys or /proc/sys, at boot. own: the value that gputune's rules
 * set; only rules after them count. NULL: all rules count. */
void tn_udev_ask(struct tn_udev *u, const char *path, const char *own, struct tn_udev_answer *ret);
void tn_udev_answer_clear(struct tn_udev_answer *a);
#endif
