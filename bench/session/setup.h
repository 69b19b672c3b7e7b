/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SETUP_H
#define BN_SETUP_H
/* The options of run, ab, prove and resume: workloads, differences between the arms, output files; and the treatment
 * that they define. */
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
	bool reboot;	  /* each arm is a separate boot */
	struct gt_strv kernel_args;
	const char *lock_clocks; /* "1410" or "1200-1500" MHz for the GPUs during each launch of both arms; NULL: not locked */
	double settle_s, minutes; /* minutes: 0 for no limit */
	json_t *plan_doc; /* saved plan when resuming, instead of a file */
};

/* The state of one session on this host. */
struct bn_stage {
	struct bn_request *q;
	struct pr_host *host;
	struct tn_plan *plan, *lock; /* lock: of --lock-clocks; NULL: none */
	struct tn_run *run;
	char *exe;
	struct gt_strv workloads;
	struct bn_arms arms;
	struct bn_boots boots;
	char *file; /* canonical path of the session's document, with --reboot */
	json_t *doc;
};
#define BN_SETTLE_S	30
#define BN_BOOT_PAIRS	6 /* minimum for a significance level of 5 % */
#define BN_BOOT_AA	3
int bn_request_check(struct bn_request *q, struct gt_err *err);
/* Discovers the host, loads the treatment, selects the workloads and creates the document. With a plan, the launch
 * environment of its profile is part of the treatment. */
int bn_stage_open(struct gt_cli *cli, struct bn_request *q, struct bn_stage *ret);
/* Ends a session with result r. With --reboot, -EINPROGRESS boots into the next arm and returns success. Any other r
 * ends the session of boots and restores the host's command line. Returns r or the error. */
int bn_stage_end(struct bn_stage *s, struct gt_cli *cli, int r);
void bn_stage_close(struct bn_stage *s);
/* Stores what is needed to resume the session in doc.run.resume. */
void bn_stage_store_request(const struct bn_stage *s, size_t aa_pairs);
int bn_request_restore(const json_t *doc, struct bn_request *q, struct gt_strv *argv, struct gt_err *err);
#endif
