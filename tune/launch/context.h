/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_CONTEXT_H
#define TN_CONTEXT_H
/* Context and result of the launch settings: prepare() reads struct tn_launch and adds to struct tn_run. */
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "probe/host/host.h"

struct tn_launch_setting;
enum tn_var_status {
	TN_VAR_SET,	 /* will be set */
	TN_VAR_KEPT,	 /* set by the user; left as it is */
	TN_VAR_SKIPPED,	 /* not set, for the reason in tn_var.reason */
};
struct tn_var {
	const struct tn_launch_setting *setting;
	char *name, *value; /* value: what is or would be set; for TN_VAR_KEPT the user's; may be NULL when skipped */
	char *reason;
	enum tn_var_status status;
};

enum tn_processes_kind {
	TN_ONE_PROCESS,	    /* known to be one process, or at most one GPU is visible */
	TN_LAUNCHER,	    /* starts ranks, as its options say */
	TN_UNKNOWN_COMMAND, /* may start one process for each visible GPU */
};

struct tn_run {
	const struct tn_launch_setting *setting; /* the one being prepared */
	char *profile;
	enum tn_processes_kind processes_kind;
	unsigned processes;	   /* of the command on this host, which share its CPUs and memory; 0: not known */
	char *processes_reason;
	struct tn_var *var;
	size_t n_var;
	struct gt_set cpus;	   /* empty: affinity is left as it is */
	char *cpus_reason;
	unsigned cpus_ranks;	   /* ranks that have these CPUs, this one included; 0: as many as there are on this host */
	struct gt_set mem_nodes;   /* preferred nodes; empty: memory policy is left as it is */
	bool mem_kept;		   /* it is the user's own */
	char *mem_reason;
	int64_t files;		   /* soft limit of open files; 0: left as it is */
	char *files_reason;
	bool two_pools;		   /* OpenMP's threads run beside those of a BLAS with its own */
};
void tn_run_free(struct tn_run *run);
GT_DEFINE_AUTO(tn_run, tn_run_free);

enum tn_program {
	TN_PROGRAM_AUTO,   /* look at argv[0] */
	TN_PROGRAM_FORKS,  /* Python and the like: forked workers would inherit a one-core mask from OMP_PROC_BIND */
	TN_PROGRAM_OPENMP, /* one process with one OpenMP runtime: may be bound */
};
const char *tn_var_status_name(enum tn_var_status s);

/* Context of one launch, as prepare() reads it. */
struct tn_rank;
struct tn_launch {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const char *asked; /* the profile's value for this setting; NULL: derive it from the host */
	bool chosen;	   /* named by the user or by the profile */
	char *const *argv;
	char *const *envp;
	enum tn_program program;
	const char *gpus;	    /* struct tn_run_opts */
	unsigned workers;	    /* the same */
	const struct tn_rank *rank; /* given by the caller; NULL: as the environment says */
};

/*
 * Used by prepare(). Each adds one variable of r->setting. tn_run_set() keeps the value of the user's environment.
 * tn_run_replace() overwrites it if a launcher has set it.
 */
void tn_run_set(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
	GT_PRINTF(5, 6);
void tn_run_replace(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* Appends to a list that other settings add to, such as LD_PRELOAD. */
void tn_run_add(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *reason);
/* Keeps the user's value and adds a remark. */
void tn_run_keep(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* Calls tn_run_keep() if the user has set the variable, else tn_run_skip(). */
void tn_run_leave(const struct tn_launch *c, struct tn_run *r, const char *name, const char *why);
void tn_run_skip(struct tn_run *r, const char *name, const char *fmt, ...) GT_PRINTF(3, 4);
/* Returns the value in the user's environment, or NULL if the variable is not set. */
const char *tn_run_user(const struct tn_launch *c, const char *name);
/* Like tn_run_user(), and NULL also if the value is empty. Only CUDA_VISIBLE_DEVICES has a meaning when empty. */
const char *tn_run_said(const struct tn_launch *c, const char *name);
#endif
