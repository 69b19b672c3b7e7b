/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TUNE_H
#define TN_TUNE_H
/*
 * Change a host safely: a plan is a document; applying it is a transaction whose old values are on disk before the new
 * ones are in force; undoing it restores only what still holds our value.
 */
#include "lib/err.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/parse.h"
#include "probe/host.h"

/* Exit codes of gputune besides the common ones. */
enum {
	TN_EXIT_FAILED = 1,	   /* failed and rolled back */
	TN_EXIT_REFUSED = 3,
	TN_EXIT_DRIFT = 4,
	TN_EXIT_PENDING = 5,	   /* pending reboot */
	TN_EXIT_INTERRUPTED = 6,   /* an interrupted transaction was found */
};

/* ---- plan ----------------------------------------------------------------------------------------------------- */

enum tn_status { TN_CHANGE, TN_ALREADY, TN_NOT_APPLICABLE };

struct tn_item {
	const struct tn_knob *knob;
	char *path;    /* the kernel file */
	char *current; /* as read when the plan was made; of a choice file the chosen word */
	char *wanted;
	char *reason;
	enum tn_status status;
	char *counterpart_path, *counterpart_current; /* the file that the kernel zeroes with this one, or NULL */
	char *boot_value, *boot_file;		      /* what decides it at the next boot, NULL: the kernel's default */
	unsigned boot_line;
};

/* What one program is started with; see tn_run_enter. */
struct tn_env {
	char *name, *value;
	const char *knob;
	char *why;
};
struct tn_run {
	struct tn_env *env;
	size_t n_env;
	struct gt_set cpus;    /* empty: leave as it is */
	int mem_node;	       /* preferred node, -1: leave as it is */
	struct gt_strv notes;  /* what was left alone, and why */
};

struct tn_plan {
	char *identity, *profile, *created;
	struct tn_item *item;
	size_t n_item;
	struct tn_run *run;
};

struct tn_plan_opts {
	const char *profile;	      /* NULL: auto */
	const struct gt_strv *only;   /* knob ids; empty or NULL: those of the profile */
	const struct gt_strv *skip;
};
int tn_plan_make(struct gt_fsroot *fs, const struct pr_host *h, const struct tn_plan_opts *opts, struct tn_plan **ret,
		 struct gt_err *err);
void tn_plan_free(struct tn_plan *p);
GT_DEFINE_AUTO(tn_plan, tn_plan_free);
json_t *tn_plan_to_json(const struct tn_plan *p); /* gputune-plan/1 */
/* A plan from outside: every knob known, every path one that this knob has on this host. name is for sentences. */
int tn_plan_from_json(const json_t *doc, const char *name, const struct pr_host *h, struct tn_plan **ret,
		      struct gt_err *err);
/* Refuse (exit 3) if the plan is for another host or a current value has moved since. */
int tn_plan_check(struct gt_fsroot *fs, const struct pr_host *h, const struct tn_plan *p, struct gt_err *err);
size_t tn_plan_changes(const struct tn_plan *p); /* items that apply would write */

/* ---- transactions --------------------------------------------------------------------------------------------- */

struct tn_txn;
struct tn_apply_opts {
	bool persist;	/* also write /etc/sysctl.d and tmpfiles.d, so that it holds after a boot */
	bool temporary; /* an experiment of this process: stays open until tn_end */
};
/*
 * Write every item to be changed, reading each back; on any failure undo what was done (exit 1). With temporary, *ret_txn
 * must go to tn_end; if this process dies before, the next gputune finds the interrupted transaction and `recover` undoes
 * it. Refuses (exit 3) while another process is at work, and (exit 6) while an interrupted transaction is there.
 * *ret_report (may be NULL): {written: [...]}.
 */
int tn_apply(struct gt_fsroot *fs, const struct pr_host *h, const struct tn_plan *p, const struct tn_apply_opts *opts,
	     struct tn_txn **ret_txn, json_t **ret_report, struct gt_err *err);
/* End an experiment: undo it, drop the lock, free the handle. */
int tn_end(struct tn_txn *t, json_t **ret_report, struct gt_err *err);
/* Undo everything that was applied and not yet undone. *ret_report: {restored: [...], left: [...]}; left are files whose
 * value is no longer ours. */
int tn_revert(struct gt_fsroot *fs, json_t **ret_report, struct gt_err *err);
/* Undo an interrupted transaction. Returns 0 also when there is none. */
int tn_recover(struct gt_fsroot *fs, json_t **ret_report, struct gt_err *err);
/* {state: none|applied|interrupted|busy, values: [{knob, path, old, new, actual}], files: […], boot: same|other} */
int tn_state(struct gt_fsroot *fs, json_t **ret, struct gt_err *err);

/* ---- settings and launching ----------------------------------------------------------------------------------- */

/* Every knob's value now, {"vm.swappiness": "60", …}; with several files by path. Also other tuners that are installed. */
json_t *tn_settings(struct gt_fsroot *fs, const struct pr_host *h);

struct tn_run_opts {
	const char *profile;	    /* NULL: auto */
	const struct gt_strv *only; /* as in tn_plan_opts */
	const struct gt_strv *skip;
	const char *command;	    /* argv[0], NULL: not known. Python forks workers: it is not bound by OMP_PROC_BIND */
};
int tn_run_make(struct gt_fsroot *fs, const struct pr_host *h, const struct tn_run_opts *opts, struct tn_run **ret,
		struct gt_err *err);
void tn_run_free(struct tn_run *r);
GT_DEFINE_AUTO(tn_run, tn_run_free);
json_t *tn_run_to_json(const struct tn_run *r);
/* In the process that is about to become the program: affinity, memory policy, environment. What the user has set in the
 * environment is left alone. A kernel that forbids the memory policy is no failure. */
int tn_run_enter(const struct tn_run *r, struct gt_err *err);
#endif
