/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SESSION_H
#define BN_SESSION_H
/*
 * The schedule: which arm runs when, what is written down, when to stop. It touches the host only through bn_ops, so
 * that tests can play the host.
 */
#include "bench/result/analyze.h"

struct bn_ops {
	void *ctx;
	void (*block)(void *ctx, int64_t block, int nth); /* its first (0) or second arm begins; NULL: of no interest */
	/* Put the host into the state of the arm and read it back; leave puts it back. changed: false in A/A blocks and
	 * in arm A, where nothing is touched. */
	int (*enter)(void *ctx, bool changed, struct gt_err *err);
	int (*leave)(void *ctx, bool changed, struct gt_err *err);
	/* One fresh process. *ret_launch is its document, with member "env"; a launch that fails on its own account
	 * returns 0 and a document with "failure". A negative errno ends the session. */
	int (*launch)(void *ctx, const char *workload, bool changed, uint64_t seed, uint64_t salt, json_t **ret_launch,
		      struct gt_err *err);
	/* The settings in force now: an object of key and value. */
	json_t *(*settings)(void *ctx, bool changed);
	int (*save)(void *ctx, json_t *doc, struct gt_err *err); /* after every launch; may thin its samples */
	double (*now_s)(void *ctx);
	double (*suspended_s)(void *ctx); /* since the host booted; NULL: it never is */
};

struct bn_session {
	enum bn_session_design design; /* not BN_DESIGN_UNPAIRED */
	const char *const *workload; /* ids */
	size_t n_workloads;
	const struct bn_interim *looks; /* planned looks; of a single run: one, its number of launches */
	size_t n_looks;
	size_t aa_pairs;	     /* A/A pairs to mix in; the first BN_PILOT of them come first */
	uint64_t seed;
	bool resume;		     /* doc holds the beginning of this very session */
	bool by_boot;		     /* each arm is a boot, whole by itself; enter may end the session with -EINPROGRESS */
	double limit_s;		     /* end in order after the block in which this passes; 0: none. Its looks are cut to size */
	/* After the A/A pilot, when run.plan is there. need_s: what all A/A pairs and one with the change take, from the start. A
	 * negative errno ends the session before anything was changed. NULL: of no interest. */
	int (*planned)(void *ctx, const json_t *run, double need_s, struct gt_err *err);
	void *planned_ctx;
	bool quiet;
	const volatile int *stop;    /* non-zero: end in order */
};
#define BN_PILOT	3

/* Run it; doc already holds tool, host and treatment. Everything measured is in doc, also when this fails. */
int bn_session_run(const struct bn_session *s, const struct bn_ops *ops, json_t *doc, struct gt_err *err);
/* What the launches so far say about those to come (session_launches.c). */
void bn_freeze_warmup(json_t *metrics, json_t *launches); /* how many samples of each launch are warm-up */
bool bn_is_command(const char *workload);		  /* the user's own */
/* Has the command failed in each launch with the change, `enough` of them at least, and in none without it? */
bool bn_fails_with_change(json_t *launches, size_t enough);
#endif
