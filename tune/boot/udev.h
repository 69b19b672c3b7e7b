/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_UDEV_H
#define TN_UDEV_H
/*
 * What the rules of udev (udev(7)) set at boot, and which line does it. They are read as systemd-udevd 252 to 257 reads
 * them, checked against the real one by tests/peers/udevadm.py:
 *
 *   - *.rules of /etc, /run, /usr/local/lib and /usr/lib/udev/rules.d in the order of their file NAMES; of two with the same
 *     name the one in the earlier directory counts, also if it is empty or a link to /dev/null;
 *   - a line with one key that udevd does not take is ignored whole; within a line all matches come before all assignments;
 *   - each line that matches is carried out, so of several assignments the last stays; RUN comes after all lines.
 *
 * Nothing is started and no device is touched. What only udevd can know (PROGRAM, IMPORT, a property that one of them may have
 * set, an attribute that is itself being tuned) is neither taken for true nor for false: such a line "may" set what it says.
 */
#include "sysctl/sysctl.h"
#include "tune/model/knob.h"

enum tn_truth { TN_NO, TN_MAYBE, TN_YES };

/* ---- rules (rules.c) ---- */

/* In the order in which udevd goes through the keys of a line. */
enum tn_udev_key {
	TN_UDEV_M_ACTION, TN_UDEV_M_DEVPATH, TN_UDEV_M_KERNEL, TN_UDEV_M_SYMLINK, TN_UDEV_M_NAME, TN_UDEV_M_ENV, TN_UDEV_M_CONST,
	TN_UDEV_M_TAG, TN_UDEV_M_SUBSYSTEM, TN_UDEV_M_DRIVER, TN_UDEV_M_WAIT, TN_UDEV_M_ATTR, TN_UDEV_M_SYSCTL,
	/* of the device or of one of its parents, all of the same */
	TN_UDEV_M_KERNELS, TN_UDEV_M_SUBSYSTEMS, TN_UDEV_M_DRIVERS, TN_UDEV_M_ATTRS, TN_UDEV_M_TAGS,
	TN_UDEV_M_TEST, TN_UDEV_M_PROGRAM, TN_UDEV_M_IMPORT, TN_UDEV_M_RESULT,
	/* assignments */
	TN_UDEV_A_OTHER, TN_UDEV_A_ENV, TN_UDEV_A_ATTR, TN_UDEV_A_SYSCTL, TN_UDEV_A_RUN,
};
enum tn_udev_op { TN_UDEV_MATCH, TN_UDEV_NOMATCH, TN_UDEV_ADD, TN_UDEV_REMOVE, TN_UDEV_ASSIGN, TN_UDEV_FINAL };
struct tn_udev_token {
	enum tn_udev_key key;
	enum tn_udev_op op;
	const char *name;  /* of the key, as in the file */
	char *attr, *value; /* attr NULL: none */
	bool any_case;	   /* i"…", which systemd 252 does not know */
};
struct tn_udev_line {
	size_t file;	  /* index into files */
	unsigned no;	  /* where it begins */
	size_t go_to;	  /* index of the line, 0: nowhere */
	char *label, *wants; /* wants: the label that it goes to */
	struct tn_udev_token *token;
	size_t n;
};
struct tn_udev_problem {
	size_t file;
	unsigned no;
	char *what;
};
struct tn_udev {
	struct gt_fsroot *fs;
	struct gt_strv files, texts;
	bool parsed;
	bool without_ours; /* the caller's to set: tn_udev_ask then answers as if there were no rules of ours */
	struct tn_udev_line *line; /* of all files, in order */
	size_t n;
	struct tn_udev_problem *problem; /* lines that udevd ignores */
	size_t n_problem;
};
/* The files; nothing is parsed before it is needed. u is the caller's to clear. */
void tn_udev_load(struct gt_fsroot *fs, enum sc_when when, struct tn_udev *u);
void tn_udev_parse(struct tn_udev *u); /* once; again is nothing */
void tn_udev_clear(struct tn_udev *u);
/* Does value say so of s (NULL: not set)? Globs and '|' as udevd has them. */
bool tn_udev_value_matches(const struct tn_udev_token *t, const char *s);

/* ---- one device (device.c) ---- */

struct tn_udev_device {
	struct gt_fsroot *fs;
	char *path, *name; /* in /sys, links resolved; "sda" */
	bool whole;	   /* what is not in its directory it does not have; a captured host holds only some of it */
	struct gt_strv uevent; /* "KEY=VALUE" */
	char *parent;	   /* NULL: none */
};
/* False if there is no device at path. The caller clears it. */
bool tn_udev_device_open(struct gt_fsroot *fs, const char *path, struct tn_udev_device *ret);
void tn_udev_device_clear(struct tn_udev_device *d);
/* TN_YES: *ret is it, the caller frees it; TN_NO: it has none; TN_MAYBE: cannot be told here. */
enum tn_truth tn_udev_attr(const struct tn_udev_device *d, const char *name, char **ret);
enum tn_truth tn_udev_subsystem(const struct tn_udev_device *d, char **ret);
enum tn_truth tn_udev_driver(const struct tn_udev_device *d, char **ret);
enum tn_truth tn_udev_property(const struct tn_udev_device *d, const char *name, char **ret); /* what the kernel says */
/* The file of an attribute as an assignment names it: "queue/scheduler", "[block/sda]queue/scheduler". The caller frees it. */
char *tn_udev_attr_path(const struct tn_udev_device *d, const char *attr);

/* ---- one event (event.c) ---- */

/* An assignment (of an attribute, a sysctl or RUN) that is carried out. sure: without doubt; else why says what it depends on.
 * value: what is written, substitutions made, NULL if they cannot be. */
typedef void tn_udev_did(void *ctx, const struct tn_udev_line *l, const struct tn_udev_token *t, const char *value, bool sure,
			 const char *why);
void tn_udev_event(struct tn_udev *u, const struct tn_udev_device *d, const char *action, tn_udev_did *did, void *ctx);

/* ---- questions (ask.c) ---- */

struct tn_udev_answer {
	char *value, *by; /* what is set at boot and "FILE:LINE", NULL: nothing is, for all that can be told */
	char *may;	  /* what may set it besides or after that, and on what that depends; NULL: nothing */
};
/* Which rule decides the kernel file path, in /sys or /proc/sys, at boot? ours: only what counts though our rules have set it to
 * that before; NULL: all. */
void tn_udev_ask(struct tn_udev *u, const char *path, const char *ours, struct tn_udev_answer *ret);
void tn_udev_answer_clear(struct tn_udev_answer *a);
#endif
