/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RUN_H
#define TN_RUN_H
/* `gputune run`: what a command should run with on this host, and becoming that command. */
#include "tune/launch/context.h"
#include "lib/json.h"

#define TN_RUN_SCHEMA "gputune-run/1"

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
#endif
