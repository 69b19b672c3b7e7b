/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KNOB_H
#define TN_KNOB_H
/* What a knob is. One const struct each, in tune/knob/, listed once in knob/list.c. */
#include "tune/tune.h"

enum tn_effect { TN_NOW, TN_NEW_PROCESS, TN_NEW_DEVICE, TN_REBOOT };

struct tn_ctx {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const char *command; /* for run knobs, may be NULL */
	bool chosen;	     /* named by the user or the profile, not only on by default */
};

/* The value a file should have. Pure. */
struct tn_wish {
	enum tn_status status; /* TN_CHANGE also when it already has it; the engine compares */
	char value[64];
	char reason[256];
};

struct tn_knob {
	const char *id, *summary;
	const char *why;      /* evidence: what it is good for, with source */
	const char *hazard;   /* when it harms */
	const char *unit;     /* "percent", "bytes", "choice" … */
	const char *mechanism; /* the measurement that must move if the claim is true */
	/* A: by default (safe, reversible, derived from this host). B: by choice. R: per run. */
	char policy;
	enum tn_effect takes_effect;

	/* of the host (A, B) */
	const char *key;	 /* of a sysctl; otherwise NULL and targets() names files */
	void (*targets)(const struct pr_host *h, struct gt_strv *ret);
	const char *counterpart; /* file that the kernel zeroes when this one is set, or NULL */
	void (*desired)(const struct tn_ctx *c, const char *path, const char *current, struct tn_wish *w);

	/* per run (R) */
	void (*prepare)(const struct tn_ctx *c, struct tn_run *r);
};

extern const struct tn_knob *const tn_knobs[]; /* NULL-terminated */
const struct tn_knob *tn_knob_find(const char *id);
void tn_knob_targets(const struct tn_knob *k, const struct pr_host *h, struct gt_strv *ret);
const char *tn_effect_name(enum tn_effect e);

/* To be used by knobs. */
void tn_want(struct tn_wish *w, const char *reason, const char *fmt, ...) GT_PRINTF(3, 4);
void tn_skip(struct tn_wish *w, const char *fmt, ...) GT_PRINTF(2, 3);
/* Raise-only: want v unless current is at least that. */
void tn_want_at_least(struct tn_wish *w, const char *current, uint64_t v, const char *reason);
void tn_setenv(struct tn_run *r, const char *knob, const char *why, const char *name, const char *fmt, ...)
	GT_PRINTF(5, 6);
void tn_note(struct tn_run *r, const char *fmt, ...) GT_PRINTF(2, 3);

/* Which knobs a profile turns on: *ret_ids in list order. */
int tn_profile_select(struct gt_fsroot *fs, const char *profile, const struct gt_strv *only, const struct gt_strv *skip,
		      struct gt_strv *ret_ids, struct gt_err *err);

/* A kernel file's value as it is compared and kept: the chosen word of a choice file, blanks squeezed. */
int tn_read_value(struct gt_fsroot *fs, const char *path, char **ret);
#endif
