/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_GPUTUNE_H
#define TN_GPUTUNE_H
/* Subcommands of gputune. show.c and provision_report.c render their documents. */
#include "lib/cli.h"
#include "tune/profiles/profile.h"
#include "tune/plan/plan.h"
#include "tune/profiles/select.h"

extern const struct gt_cmd tn_cmd_list, tn_cmd_explain, tn_cmd_lint;			 /* knobs.c */
extern const struct gt_cmd tn_cmd_plan;							 /* plan.c */
extern const struct gt_cmd tn_cmd_apply, tn_cmd_verify, tn_cmd_revert, tn_cmd_status, tn_cmd_recover,
	tn_cmd_history; /* txn.c */
extern const struct gt_cmd tn_cmd_run, tn_cmd_rank;					 /* run.c */
extern const struct gt_cmd tn_cmd_provision;						 /* provision.c */

/* Options that select knobs, shared by plan, apply and run. */
extern const char *tn_opt_profile;
extern struct gt_strv tn_opt_only, tn_opt_skip, tn_opt_set;
extern bool tn_opt_optional;
#define TN_CHOICE_OPTS												       \
	{ 'p', "profile", "NAME|FILE", "use this profile (default: the one that fits the host)", GT_OPT_STR, &tn_opt_profile, \
	  .word = tn_profile_word },										       \
	{ 0, "only", "ID", "select only this knob or family, such as vm (repeatable)", GT_OPT_LIST, &tn_opt_only,      \
	  .word = tn_knob_word },										       \
	{ 0, "skip", "ID", "leave out this knob or family (repeatable)", GT_OPT_LIST, &tn_opt_skip, .word = tn_knob_word }
#define TN_SET_OPT                                                                                                             \
	{ 0, "set", "KNOB=VALUE", "set this value, as a profile does (repeatable)", GT_OPT_LIST, &tn_opt_set }
#define TN_OPTIONAL_OPT { 0, "optional", NULL, "include knobs that are not applied by default", GT_OPT_FLAG, &tn_opt_optional }
struct tn_plan_opts tn_choice(void);
/* Makes the plan of these options. Refuses while a transaction is interrupted or an experiment runs. */
int tn_make_plan(struct gt_cli *cli, struct tn_plan **ret);
void tn_print_plan(struct gt_cli *cli, const json_t *doc);

/* Print documents as text. */
void tn_show_plan(const json_t *plan, bool all, bool color); /* all: with knobs that are already set or do not apply */
/* Prints one line of a remedy. A command begins with a blank and is not wrapped. */
void tn_show_step(const char *line, unsigned indent);
void tn_show_plan_diff(const json_t *plan, bool color);
void tn_show_report(const json_t *report, bool color);
void tn_show_history(const json_t *doc, bool values, bool color);
void tn_show_run(const json_t *run, bool color);
void tn_show_provision(const json_t *plan, bool all, bool color);
void tn_show_provision_report(const json_t *report, bool color);
#endif
