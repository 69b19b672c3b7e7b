/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ARMS_H
#define BN_ARMS_H
/* The real host behind bn_ops: a plan applied for the time of one arm, and launches as processes of their own. */
#include "bench/session.h"
#include "probe/host.h"
#include "tune/tune.h"

struct bn_arms {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const struct tn_plan *plan; /* NULL: the host's settings stay as they are in both arms */
	const struct tn_run *run;   /* NULL: no environment of gputune's */
	const struct gt_strv *env;  /* NAME=VALUE of the user, for the changed arm */
	char *exe;		    /* ourselves */
	const char *data;
	const char *out;	    /* saved after every launch; NULL: nowhere */
	json_t *doc;		    /* for read-back */
	bool applied;
};
void bn_arms_ops(struct bn_arms *arms, struct bn_ops *ret);
/* What the changed arm will differ by, into doc.treatment.declared. Returns how many. */
size_t bn_arms_declare(const struct bn_arms *arms, json_t *doc);
#endif
