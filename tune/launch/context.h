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
	TN_VAR_KEPT,	 /* set by the user; unchanged */
	TN_VAR_SKIPPED,	 /* not set, for the reason in tn_var.reason */
};
struct tn_var {
	const struct tn_launch_setting *setting;
	char *name, *value; /* value: the new value; for TN_VAR_KEPT the user's; for TN_VAR_SKIPPED the value that would be set,
			     * or NULL */
	char *reason;
	enum tn_var_status status;
};

enum tn_processes_kind {
	TN_ONE_PROCESS,	    /* certainly one process, or at most one GPU is visible */
	TN_LAUNCHER,	    /* starts ranks; their number follows from its options */
	TN_UNKNOWN_COMMAND, /* may start one process for each visible GPU */
};

struct tn_run {
	const struct tn_launch_setting *setting; /* the setting that is being prepared */
	char *profile;
	enum tn_processes_kind processes_kind;
	unsigned processes;	   /* processes of the command on this host, which share its CPUs and memory; 0: unknown */
	char *processes_reason;
	struct tn_var *var;
	size_t n_var;
	struct gt_set cpus;	   /* empty: the affinity stays unchanged */
	char *cpus_reason;
	unsigned cpus_ranks;	   /* ranks that share these CPUs, this one included; 0: all ranks of this host */
	struct gt_set mem_nodes;   /* preferred nodes; empty: the memory policy stays unchanged */
	bool mem_kept;		   /* the policy was set by the user */
	char *mem_reason;
	int64_t files;		   /* soft limit of open files; 0: unchanged */
	char *files_reason;
	bool for_descendants;	   /* a preloaded library applies rank_plan to ranks that the command starts */
	char *rank_program, *rank_plan; /* TN_RANK_PROGRAM and TN_RANK_PLAN; NULL: not for_descendants */
	bool two_pools;		   /* threads of OpenMP and of a BLAS with its own threads run at the same time */
};
void tn_run_free(struct tn_run *run);
GT_DEFINE_AUTO(tn_run, tn_run_free);

enum tn_program {
	TN_PROGRAM_AUTO,   /* derived from argv[0] */
	TN_PROGRAM_FORKS,  /* Python and similar: with OMP_PROC_BIND, forked workers inherit a mask of one core */
	TN_PROGRAM_OPENMP, /* one process with one OpenMP runtime: its threads may be bound */
};
const char *tn_var_status_name(enum tn_var_status s);

/* Context of one launch, as prepare() reads it. */
struct tn_rank;
struct tn_launch {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const char *asked; /* value from the profile; NULL: derive it from the host */
	bool chosen;	   /* selected by the user or by the profile */
	char *const *argv;
	char *const *envp;
	enum tn_program program;
	const char *gpus;	    /* see struct tn_run_opts */
	unsigned workers;	    /* see struct tn_run_opts */
	const char *rank_library;   /* see struct tn_run_opts */
	const char *loader;	    /* see struct tn_run_opts */
	bool loader_force;
	const struct tn_rank *rank; /* rank given by the caller; NULL: taken from the environment */
};

/*
 * Functions for prepare(). Each adds one variable of r->setting. tn_run_set() leaves a variable unchanged if the user
 * has set it. tn_run_replace() overwrites it if a launcher has set it.
 */
void tn_run_set(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
	GT_PRINTF(5, 6);
void tn_run_replace(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* Appends to a list to which other settings append too, such as LD_PRELOAD. */
void tn_run_add(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *reason);
/* Appends a library to LD_PRELOAD after the user's libraries, because the first definition of a symbol is used. */
void tn_run_preload(const struct tn_launch *c, struct tn_run *r, const char *path, const char *reason);
/* Keeps the user's value and adds a remark. */
void tn_run_keep(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* Calls tn_run_keep() if the user has set the variable, else tn_run_skip(). */
void tn_run_leave(const struct tn_launch *c, struct tn_run *r, const char *name, const char *why);
void tn_run_skip(struct tn_run *r, const char *name, const char *fmt, ...) GT_PRINTF(3, 4);
/* Returns the value in the user's environment, or NULL if the variable is not set. */
const char *tn_run_user(const struct tn_launch *c, const char *name);
/* Like tn_run_user(), and NULL also if the value is empty. Only CUDA_VISIBLE_DEVICES has a meaning when empty. */
const char *tn_run_value(const struct tn_launch *c, const char *name);
#endif
