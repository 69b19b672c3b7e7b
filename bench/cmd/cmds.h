/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CMDS_H
#define BN_CMDS_H
#include "lib/cli.h"
#include "lib/json.h"

struct bn_request;

extern const struct gt_cmd bn_cmd_run, bn_cmd_compare, bn_cmd_report, bn_cmd_selftest, bn_cmd_ab, bn_cmd_resume, bn_cmd_fleet,
	bn_cmd_history, bn_cmd_ladder, bn_cmd_infer,
	bn_cmd_prove, bn_cmd_train, bn_cmd_check_device, bn_cmd_data, bn_cmd_launch, bn_cmd_list, bn_cmd_op,
	bn_cmd_plan_parallel;

/* --resume FILE, --abandon and --no-reboot of run and prove. */
struct bn_resume {
	const char *file;
	bool abandon, no_reboot;
};
#define BN_RESUME_OPTS(r)                                                                                                      \
	{0, "resume", "FILE", "continue the interrupted session in FILE", GT_OPT_STR, &(r).file, .group = "Interrupted session"}, \
	{0, "abandon", NULL, "end the session with --reboot and restore the kernel arguments", GT_OPT_FLAG, &(r).abandon,      \
	 .group = "Interrupted session"},										       \
	{0, "no-reboot", NULL, "with --abandon: do not reboot now", GT_OPT_FLAG, &(r).no_reboot,			       \
	 .group = "Interrupted session"}
bool bn_resume_given(const struct bn_resume *r);
/*
 * Continues or ends a saved session of run or prove. q has only the options that can be given with --resume; the rest is
 * read from the file.
 */
int bn_resume(struct gt_cli *cli, const struct bn_resume *r, struct bn_request *q);

/* Continues the session of prove in doc, which was read from path. out: file for the result; NULL: path. minutes: new time limit;
 * 0: that of the session. */
int bn_prove_resume(struct gt_cli *cli, json_t *doc, const char *path, const char *out, double minutes);
#endif
