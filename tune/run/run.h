/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RUN_H
#define TN_RUN_H
/* `gputune run`: prepares the environment of a command on this host and starts it. */
#include "tune/launch/context.h"
#include "lib/json.h"

#define TN_RUN_SCHEMA "gputune-run/1"

struct tn_run_opts {
	const char *profile;	    /* as in tn_plan_opts */
	char *const *argv;	    /* the command, for TN_PROGRAM_AUTO; may be NULL */
	char *const *envp;	    /* the user's environment; NULL: environ of this process */
	enum tn_program program;
	const char *gpus;	    /* as in CUDA_VISIBLE_DEVICES: the GPUs of ranks 0, 1, …; NULL: taken from the environment */
	unsigned rank, ranks;	    /* one of several ranks that the caller starts itself; ranks 0: taken from the environment */
	unsigned workers;	    /* loader processes per rank; that many cores are reserved for them */
	const char *runtime;	    /* preloads "libomp" or "libiomp5"; NULL: by the profile */
	const char *allocator;	    /* preloads "auto", "tcmalloc", "jemalloc" or "mimalloc"; NULL: by the profile */
	bool image;		    /* the command will run in a container, from an image with its own libraries */
	const struct gt_strv *only; /* knob ids or families ("omp.", "run.alloc"); NULL or empty: all */
	const struct gt_strv *skip;
};
/* Prepares a launch on this host. Allocators are tested in a child process first. On a root that is not live no process
 * is started, and the reason says so. host may be NULL. */
int tn_run_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_run_opts *opts, struct tn_run **ret,
		struct gt_err *err);
/* Applies environment, CPUs and memory policy to this process, before exec. Uses only system calls on the process
 * itself. If the kernel refuses one (for example in a container without SYS_NICE), that is a warning, not a failure. */
int tn_run_enter(const struct tn_run *run, struct gt_err *err);
json_t *tn_run_to_json(const struct tn_run *run);
#endif
