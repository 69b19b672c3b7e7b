/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TUNE_H
#define TN_TUNE_H
/*
 * gputune changes what can safely be changed, and can always say why, show it first, prove it is still so, and put it
 * back. The way is always the same: host and profile -> plan (a document) -> journal -> write -> read back.
 *
 * All functions return 0 or a negative errno with one sentence in err; outputs are untouched on failure. err->exit_status
 * carries the documented exit code (enum below) where there is one.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/parse.h"

struct pr_host;

#define TN_PLAN_SCHEMA	 "gputune-plan/1"
#define TN_REPORT_SCHEMA "gputune-report/1" /* of apply, revert, recover, verify and status */

enum {
	TN_EXIT_FAILED = 1,	 /* failed and rolled back */
	TN_EXIT_REFUSED = 3,	 /* nothing was changed: not now, not this plan, not this host */
	TN_EXIT_DRIFT = 4,	 /* a knob does not hold our value any more, or will not after the next boot */
	TN_EXIT_PENDING = 5,	 /* the rest happens at the next boot */
	TN_EXIT_INTERRUPTED = 6, /* a transaction was interrupted: gputune recover */
};

/* ---- plan ----------------------------------------------------------------------------------------------------- */

/* What was decided for one knob on one device; NULL where there is nothing to say. Strings belong to the plan. */
enum tn_status {
	TN_CHANGE,	   /* would be written */
	TN_ALREADY,	   /* holds a value that is good enough */
	TN_NOT_APPLICABLE, /* not on this host: never a failure, never drift */
	TN_SKIPPED,	   /* by choice: by the user, the profile, or because the knob is opt-in */
	TN_BLOCKED,	   /* should be written and cannot be: unreadable, broken, in the hands of another tuner */
	TN_ADVICE,	   /* checked and reported only; the lines to do it by hand are in remedy or reason */
};

struct tn_knob;
struct tn_item {
	const struct tn_knob *knob;
	char *instance; /* device or policy; NULL for a knob that the host has once */
	char *path;	/* kernel file, as on the host */
	enum tn_status status;
	char *current, *wanted;
	char *pair_path, *pair_current; /* the counterpart: writing path zeroes it */
	char *reason;			/* why this status, why this value; the finding of knob->check */
	char *remedy;			/* of knob->check, in lines; NULL: none */
	size_t needs_met;		/* of what has to hold (tn_need_text) so many do, one after the other */
	bool chosen;			/* by default, by name or by --optional: not only looked at */
	bool need_fails;		/* and the next does not, for the reason above; false: it was not looked at */
	char *conflict;			/* another tuner, another sysctl.d file; NULL if none is seen */
	char *at_boot, *at_boot_by;	/* predicted value after a reboot if the plan is not persisted, and who decides it */
	char *at_boot_may;		/* who may set it besides, and what that depends on */
};

struct tn_plan {
	char *profile;
	char *host;    /* identity, struct pr_host */
	char *boot_id; /* "" if the kernel does not say */
	char *kernel;
	bool optional; /* opt-in knobs were taken in */
	struct tn_item *item;
	size_t n_item;
};
void tn_plan_free(struct tn_plan *plan);
GT_DEFINE_AUTO(tn_plan, tn_plan_free);

struct tn_plan_opts {
	const char *profile;	    /* a name ("train-cpu"), a path, or NULL: the one that fits the host */
	const struct gt_strv *only; /* knob ids or families ("vm."); NULL or empty: all */
	const struct gt_strv *skip; /* the same, taken away */
	bool optional;		    /* take in the opt-in knobs (tag B); naming one in `only` does so too, a family does not */
};
/* Pure but for reading: nothing is written. host may be NULL: then it is discovered without NVML. */
int tn_plan_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, struct tn_plan **ret,
		 struct gt_err *err);
/* The same from a receipt of gpubench prove (gpubench-receipt/2): its kept knobs with their proved values, all others skipped.
 * Refused (exit 3): another host, kernel or driver major, older than 90 days, nothing confirmed, a value that no plan may have, and
 * a statement that its samples contradict. No receipt: exit 64. */
int tn_plan_proven(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, const char *path,
		   struct tn_plan **ret, struct gt_err *err);
size_t tn_plan_changes(const struct tn_plan *plan); /* number of TN_CHANGE */
json_t *tn_plan_to_json(const struct tn_plan *plan);
/* Strict: unknown knobs, values out of range, control characters, an item twice and other schemas are refused (exit 64).
 * Paths are never taken from the document. */
int tn_plan_from_json(const json_t *doc, struct tn_plan **ret, struct gt_err *err);
/* Is this the host, and are the values still those that the plan saw? Otherwise exit 3 and which one moved. */
int tn_plan_check_host(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, struct gt_err *err);
const char *tn_status_name(enum tn_status s);

/* Ids of knobs and names of profiles, one by one; NULL behind the last: for completion. */
const char *tn_knob_word(size_t i);
const char *tn_profile_word(size_t i);

#endif
