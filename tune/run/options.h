/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RUN_OPTIONS_H
#define TN_RUN_OPTIONS_H
/* Options of `gputune run`. */
#include "tune/launch/context.h"

struct tn_run_opts {
	const char *profile;	    /* see struct tn_plan_opts */
	char *const *argv;	    /* the command, for TN_PROGRAM_AUTO; may be NULL */
	char *const *envp;	    /* the user's environment; NULL: environ of this process */
	enum tn_program program;
	const char *gpus;	    /* GPUs of ranks 0, 1, …, like CUDA_VISIBLE_DEVICES; NULL: from the environment */
	unsigned rank, ranks;	    /* one of several ranks that the caller starts itself; ranks 0: taken from the environment */
	unsigned workers;	    /* loader processes per rank; that many cores are reserved for them */
	const char *runtime;	    /* preloads "libomp" or "libiomp5"; NULL: by the profile */
	const char *allocator;	    /* preloads "auto", "tcmalloc", "jemalloc" or "mimalloc"; NULL: by the profile */
	const char *rank_library;   /* libgputune-rank.so, preloaded to set up each rank; NULL: none */
	const char *loader;	    /* --loader (tune/launch/loader.h); NULL: DataLoader is unchanged */
	bool loader_force;	    /* replaces arguments that the script passes, too */
	bool image;		    /* the command will run in a container, from an image with its own libraries */
	const struct gt_strv *only; /* knob ids or families ("omp.", "run.alloc"); NULL or empty: all */
	const struct gt_strv *skip;
};
#endif
