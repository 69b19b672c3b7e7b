/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SETUP_H
#define BN_SETUP_H
/* The options of run, ab, prove and resume: what is measured, what differs between the arms, where the results go; and the
 * treatment that they ask for. */
#include "bench/session/arms.h"
#include "bench/result/outputs.h"
#include "lib/cli.h"

struct bn_request {
	const char *plan, *profile, *workloads, *data;
	struct gt_strv knobs, env, libraries;
	struct bn_command command;
	struct bn_outputs out;
	uint64_t pairs, seed;
	bool no_plan, no_env, quick, require_conclusive;
	bool reboot;	  /* each arm is a boot */
	struct gt_strv kernel_args;
	double settle_s, minutes; /* minutes: 0 none was given */
	json_t *plan_doc; /* a saved plan instead of a file, when resuming */
};

/* Everything that belongs to one session on this host. */
struct bn_stage {
	struct bn_request *q;
	struct pr_host *host;
	struct tn_plan *plan;
	struct tn_run *run;
	char *exe;
	struct gt_strv workloads;
	struct bn_arms arms;
	struct bn_boots boots;
	char *file; /* of boots */
	json_t *doc;
};
#define BN_SETTLE_S	30
#define BN_BOOT_PAIRS	6 /* the fewest that can tell anything at 5 % */
#define BN_BOOT_AA	3
int bn_request_check(struct bn_request *q, struct gt_err *err);
/* Discover the host, load the treatment, choose the workloads, make the document. with_run: the profile's environment of a
 * run is part of the treatment when there is a plan. */
int bn_stage_open(struct gt_cli *cli, struct bn_request *q, struct bn_stage *ret);
/* The end of a session, r is what became of it. With --reboot: -EINPROGRESS boots into the next arm, which is a success;
 * anything else ends the session of boots, and the host goes back to its own command line. Returns r, or what failed. */
int bn_stage_end(struct bn_stage *s, struct gt_cli *cli, int r);
void bn_stage_close(struct bn_stage *s);
/* What is needed to take the session up again, into doc.run.resume. */
void bn_stage_remember(const struct bn_stage *s, size_t aa_pairs);
int bn_request_recall(const json_t *doc, struct bn_request *q, struct gt_strv *argv, struct gt_err *err);
#endif
