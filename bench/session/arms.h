/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ARMS_H
#define BN_ARMS_H
/* The real host behind bn_ops: a plan applied for the time of one arm, and launches as processes of their own. */
#include "bench/session/boots.h"
#include "bench/session/command.h"
#include "bench/session/gpu_monitor.h"
#include "bench/session/session.h"
#include "probe/host/host.h"
#include "tune/txn/txn.h"

/* One thing that can be switched by itself: a setting of the host, a variable or the placement of the run, or a variable of
 * the user's, or an argument of the kernel. */
enum bn_factor_kind { BN_FACTOR_ITEM, BN_FACTOR_VAR, BN_FACTOR_CPUS, BN_FACTOR_NODES, BN_FACTOR_ENV, BN_FACTOR_BOOT };
struct bn_factor {
	enum bn_factor_kind kind;
	size_t index;	  /* in plan->item, run->var, env->v or kernel_args->v */
	char *id;	  /* "vm.swappiness", "env.OMP_NUM_THREADS" */
	char *from, *to;  /* NULL: not set */
	const char *when; /* it takes effect */
	const char *knob;      /* id of the tunable or launch setting; NULL: the user's own */
	const char *mechanism; /* of that; NULL: none */
	const char *unmoved;   /* of that; NULL: none */
	bool out;		    /* no value of it won its race: it is no change */
};

struct bn_arms {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const struct tn_plan *plan; /* NULL: the host's settings stay as they are in both arms */
	const struct tn_run *run;   /* NULL: no environment of gputune's */
	const struct gt_strv *env;  /* NAME=VALUE of the user, for the changed arm */
	const struct gt_strv *kernel_args; /* NAME[=VALUE] of the user, for the changed arm; needs boots */
	struct bn_boots *boots;	    /* each arm is a boot; NULL: both share this one */
	int64_t block;		    /* where the session is */
	int nth;
	struct bn_command *command; /* the user's own workload, or NULL */
	char *exe;		    /* ourselves */
	const char *data;
	const char *out;	    /* saved after every launch; NULL: nowhere */
	bool saved;		    /* once at least */
	json_t *whole;		    /* what is saved; NULL: the session's own document */
	bool applied;
	struct bn_gpu_monitor *gauge;	    /* of the cards; made by bn_arms_init() */
	/* filled by bn_arms_init() */
	struct bn_factor *factor;
	size_t n_factor;
	bool *on[2];		    /* per factor: is it on in the unchanged, in the changed arm? */
	/* of a designed experiment: the arms of each block, NULL otherwise */
	void (*next_block)(struct bn_arms *arms, int64_t block);
	const void *design, *rows;
};
/* Find the factors; all are off in the unchanged arm and on in the changed one. */
void bn_arms_init(struct bn_arms *arms);
void bn_arms_clear(struct bn_arms *arms);
void bn_arms_ops(struct bn_arms *arms, struct bn_ops *ret);
/* What the changed arm will differ by, into doc.treatment.declared. Returns how many. */
size_t bn_arms_declare(const struct bn_arms *arms, json_t *doc);
#endif
