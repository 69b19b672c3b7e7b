/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RUN_H
#define TN_RUN_H
/* `gputune run`: what a command should run with on this host, and becoming that command. */
#include "probe/host/host.h"
#include "tune/model/tune.h"

#define TN_RUN_SCHEMA "gputune-run/1"

struct tn_launch_setting;
enum tn_var_status {
	TN_VAR_SET,	 /* will be set */
	TN_VAR_KEPT,	 /* the user has set it: respected */
	TN_VAR_SKIPPED,	 /* not set; reason says why */
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
struct tn_run_opts {
	const char *profile;	    /* as in tn_plan_opts */
	char *const *argv;	    /* the command, for TN_PROGRAM_AUTO; may be NULL */
	char *const *envp;	    /* the user's environment; NULL: environ */
	enum tn_program program;
	const char *gpus;	    /* as CUDA_VISIBLE_DEVICES: the GPUs of ranks 0, 1, …; NULL: as the environment says */
	unsigned rank, ranks;	    /* one of several that the caller starts itself; ranks 0: as the environment says */
	unsigned workers;	    /* loader processes that each rank will start: so many cores are theirs */
	const char *runtime;	    /* "libomp" or "libiomp5": preload that OpenMP; NULL: as the profile says */
	const char *allocator;	    /* "auto", "tcmalloc", "jemalloc" or "mimalloc": preload one; NULL: as the profile says */
	bool image;		    /* it will run in a container, from an image with libraries of its own */
	const struct gt_strv *only; /* knob ids or families ("omp.", "run.alloc"); NULL or empty: all */
	const struct gt_strv *skip;
};
/* What a command should run with on this host. Allocators are tried in a child first; on a root that is not live nothing is
 * started and the reason says so. host may be NULL. */
int tn_run_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_run_opts *opts, struct tn_run **ret,
		struct gt_err *err);
/* In the process that is to become the command, before exec: environment, CPUs, memory policy. Only system calls about
 * ourselves. What the kernel refuses (a container without SYS_NICE, say) is a warning in the log, not a failure. */
int tn_run_enter(const struct tn_run *run, struct gt_err *err);
json_t *tn_run_to_json(const struct tn_run *run);
const char *tn_var_status_name(enum tn_var_status s);

/* What prepare() reads. */
struct tn_rank;
struct tn_launch {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const char *asked; /* the profile's own value for this setting; NULL: derive it from the host */
	bool chosen;	   /* named by the user or the profile */
	char *const *argv;
	char *const *envp;
	enum tn_program program;
	const char *gpus;	    /* struct tn_run_opts */
	unsigned workers;	    /* the same */
	const struct tn_rank *rank; /* given by the caller; NULL: as the environment says */
};

/*
 * To be used by prepare(). Each adds one variable of r->setting. tn_run_set() keeps the value of the user's environment.
 * tn_run_replace() overwrites it if a launcher has set it.
 */
void tn_run_set(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *fmt, ...)
	GT_PRINTF(5, 6);
void tn_run_replace(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* Appends to a list that other settings add to, such as LD_PRELOAD. */
void tn_run_add(const struct tn_launch *c, struct tn_run *r, const char *name, const char *value, const char *reason);
/* The user's own value, with a remark. */
void tn_run_keep(struct tn_run *r, const char *name, const char *value, const char *fmt, ...) GT_PRINTF(4, 5);
/* tn_run_keep() if the user has set it, else tn_run_skip(). */
void tn_run_leave(const struct tn_launch *c, struct tn_run *r, const char *name, const char *why);
void tn_run_skip(struct tn_run *r, const char *name, const char *fmt, ...) GT_PRINTF(3, 4);
const char *tn_run_user(const struct tn_launch *c, const char *name); /* the user's value, NULL if not set */
/* The same, and NULL if it is empty: only CUDA_VISIBLE_DEVICES has a meaning when empty. */
const char *tn_run_said(const struct tn_launch *c, const char *name);
#endif
