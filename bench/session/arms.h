/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ARMS_H
#define BN_ARMS_H
/* Implements bn_ops on the live host. A plan is applied while its arm runs, and each launch is a separate process. */
#include "bench/session/boots.h"
#include "bench/session/command.h"
#include "bench/session/gpu_monitor.h"
#include "bench/session/session.h"
#include "probe/host/host.h"
#include "tune/txn/txn.h"

/*
 * One change that can be switched on its own. It is a host setting, a variable or the placement of the run, a variable
 * from --env, or a kernel argument.
 */
enum bn_factor_kind { BN_FACTOR_ITEM, BN_FACTOR_VAR, BN_FACTOR_CPUS, BN_FACTOR_NODES, BN_FACTOR_ENV, BN_FACTOR_BOOT };
struct bn_factor {
	enum bn_factor_kind kind;
	size_t index;	  /* index in plan->item, run->var, env->v or kernel_args->v */
	char *id;	  /* "vm.swappiness", "env.OMP_NUM_THREADS" */
	char *from, *to;  /* NULL: not set */
	const char *when; /* when it takes effect */
	const char *knob;      /* id of the tunable or launch setting; NULL: chosen by the user */
	const char *mechanism; /* mechanism of the knob, or NULL */
	const char *unmoved;   /* of the knob, or NULL */
	bool disabled;		    /* no value of the factor won its race, so it stays off */
};

struct bn_arms {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const struct tn_plan *plan; /* NULL: the host's settings stay unchanged in both arms */
	const struct tn_plan *lock; /* clocks that both arms lock; NULL: none */
	const struct tn_run *run;   /* NULL: no environment from gputune */
	const struct gt_strv *env;  /* NAME=VALUE from --env, for the changed arm */
	const struct gt_strv *kernel_args; /* NAME[=VALUE] from --boot-arg, for the changed arm; requires boots */
	struct bn_boots *boots;	    /* each arm is a separate boot; NULL: both arms run in this one */
	int64_t block;		    /* current block of the session */
	int nth;
	struct bn_command *command; /* the user's command, or NULL */
	char *exe;		    /* path of this program */
	const char *data;
	const char *out;	    /* file saved after every launch, or NULL */
	bool saved;     /* the document was saved at least once */
	json_t *session_doc;		    /* the document to save; NULL: the session's own */
	bool applied;
	struct bn_gpu_monitor *gpu_monitor;	    /* created and filled by bn_arms_init() */
	/* filled by bn_arms_init() */
	struct bn_factor *factor;
	size_t n_factor;
	bool *on[2];		    /* whether each factor is on, in the unchanged and in the changed arm */
	/* sets the arms of each block in a designed experiment, otherwise NULL */
	void (*next_block)(struct bn_arms *arms, int64_t block);
	const void *design, *rows;
};
/* Finds the factors. All are off in the unchanged arm and on in the changed arm. */
void bn_arms_init(struct bn_arms *arms);
void bn_arms_clear(struct bn_arms *arms);
void bn_arms_ops(struct bn_arms *arms, struct bn_ops *ret);
/* Writes the differences between the arms to doc.treatment.declared. Returns their number. */
size_t bn_arms_declare(const struct bn_arms *arms, json_t *doc);
#endif
