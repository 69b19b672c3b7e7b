/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SESSION_H
#define BN_SESSION_H
/*
 * Runs the schedule of a session: the order of arms, the records, the end. It accesses the host only through bn_ops, so
 * tests can replace the host.
 */
#include "bench/result/analyze.h"

struct bn_ops {
	void *ctx;
	void (*block)(void *ctx, int64_t block, int nth); /* called before the first (0) or second arm of a block; may be NULL */
	/* Bring the host into the state of the arm and restore it. changed: false in A/A blocks and in arm A, where
	 * nothing is changed. */
	int (*enter)(void *ctx, bool changed, struct gt_err *err);
	int (*leave)(void *ctx, bool changed, struct gt_err *err);
	/* Runs one launch in a new process. *ret_launch is its document, with member "env". A launch that fails by
	 * itself returns 0 and a document with "failure". A negative errno ends the session. */
	int (*launch)(void *ctx, const char *workload, bool changed, uint64_t seed, uint64_t salt, json_t **ret_launch,
		      struct gt_err *err);
	/* Returns the current settings as an object of keys and values. */
	json_t *(*settings)(void *ctx, bool changed);
	int (*save)(void *ctx, json_t *doc, struct gt_err *err); /* called after every launch; may thin the samples */
	double (*now_s)(void *ctx);
	double (*suspended_s)(void *ctx); /* suspended time since boot; NULL: never suspended */
};

struct bn_session {
	enum bn_session_design design; /* not BN_DESIGN_UNPAIRED */
	const char *const *workload; /* ids */
	size_t n_workloads;
	const struct bn_interim *interims; /* planned interim analyses; for a single arm one, its number of launches */
	size_t n_interims;
	size_t aa_pairs;	     /* A/A pairs to mix in; the first BN_PILOT of them run first */
	uint64_t seed;
	bool resume;		     /* doc contains the first part of this session */
	bool by_boot;		     /* each arm is a separate boot; enter may return -EINPROGRESS */
	double limit_s;		     /* time limit, checked after each block; 0: none. Later interim analyses are cut. */
	/* Called after the A/A pilot, when run.plan exists. need_s: time from the start for all A/A pairs and one pair
	 * with the change. A negative errno ends the session before any change. May be NULL. */
	int (*planned)(void *ctx, const json_t *run, double need_s, struct gt_err *err);
	void *planned_ctx;
	bool quiet;
	const volatile int *stop;    /* non-zero: end normally */
};
#define BN_PILOT	3

/* Runs the session. doc already contains tool, host and treatment. All measurements are in doc, also on failure. */
int bn_session_run(const struct bn_session *s, const struct bn_ops *ops, json_t *doc, struct gt_err *err);
/* Derived from the launches so far (launches.c). */
void bn_freeze_warmup(json_t *metrics, json_t *launches); /* sets the number of warm-up samples of each launch */
bool bn_is_command(const char *workload);		  /* is the workload the user's command? */
/* Returns whether the command failed in each launch with the change, at least `enough` of them, and in none without it. */
bool bn_fails_with_change(json_t *launches, size_t enough);
#endif
