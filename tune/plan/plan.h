/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PLAN_H
#define TN_PLAN_H
/* The plan: the desired value of each tunable on each device, compared with the current one. */
#include "tune/model/exit.h"
#include "tune/model/tunable.h"

/* Strings belong to the plan; NULL: none. */
struct tn_item {
	const struct tn_tunable *knob;
	char *instance; /* device or policy; NULL: not per device */
	char *path;	/* kernel file, without the root's directory */
	enum tn_status status;
	char *current, *wanted;
	char *pair_path, *pair_current; /* the counterpart; a write to path zeroes it */
	char *reason;			/* reason for status and value, or the finding of knob->check */
	char *remedy;			/* lines of the remedy of knob->check */
	size_t preconditions_met;		/* number of preconditions that hold (tn_precondition_text) */
	bool chosen;			/* selected by default, by name or by --optional */
	bool outside;			/* this container cannot change it; its start or its host can */
	bool demanded;			/* its value was given by tn_plan_opts.set */
	bool precondition_fails;		/* the next precondition does not hold; reason tells why. false: not evaluated */
	char *conflict;			/* another tuner or another file that sets it */
	char *at_boot, *at_boot_by;	/* predicted value after a reboot without --persist, and "FILE:LINE" that sets it */
	char *at_boot_may;		/* lines that may set it too, with their conditions */
};

struct tn_plan {
	char *profile;
	char *host;    /* identity, struct pr_host */
	char *boot_id; /* "": unknown */
	char *kernel;
	bool optional; /* opt-in knobs are included */
	struct tn_item *item;
	size_t n_item;
	json_t *outside; /* forms of the items that the host must set (tn_outside_json); NULL: none, or not made */
};
void tn_plan_free(struct tn_plan *plan);
GT_DEFINE_AUTO(tn_plan, tn_plan_free);

struct tn_plan_opts {
	const char *profile;	    /* a name ("train-cpu"), a path, or NULL: select by host */
	const struct gt_strv *only; /* knob ids or families ("vm."); NULL or empty: all */
	const struct gt_strv *skip; /* excluded ids and families */
	const struct gt_strv *set;  /* "ID=VALUE", added to the profile; NULL: none */
	bool optional;		    /* include opt-in tunables (tag B); an id in `only` includes its tunable too, a family does
				     * not */
};
/* Makes a plan; reads only. host NULL: discovers the host without NVML. */
int tn_plan_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, struct tn_plan **ret,
		 struct gt_err *err);
size_t tn_plan_changes(const struct tn_plan *plan); /* number of TN_CHANGE */
size_t tn_plan_outside(const struct tn_plan *plan); /* number of items to be set outside this container */
struct tn_item *tn_plan_add(struct tn_plan *p, const struct tn_tunable *k, const char *instance);
void tn_item_clear(struct tn_item *i);
/* Returns whether the value `have` is good enough: equal to `want`, or further for a tunable that is only raised or
 * only lowered. pair: value of the counterpart; NULL: none. */
bool tn_tunable_good(const struct tn_tunable *k, const char *want, const char *have, const char *pair);
bool tn_item_good(const struct tn_item *i, const char *current);
/* Returns whether the item was chosen, but its current value cannot be read, or the GPU does not accept the value. */
bool tn_item_left_out(const struct tn_item *i);
/* Returns whether the current value is good enough but no file sets it at boot. apply --persist then writes it to a
 * file. */
bool tn_item_persists(const struct tn_item *i);
/* Returns the input of preconditions and desired() for the item. *offered is one of its strings, which the caller
 * frees. */
struct tn_now tn_item_now(struct gt_fsroot *fs, const struct tn_item *i, char **offered);
/* Returns the given host, or discovers one without NVML. *own holds the discovered one. */
int tn_host_get(struct gt_fsroot *fs, const struct pr_host *given, struct pr_host **own, const struct pr_host **ret,
		struct gt_err *err);
#endif
