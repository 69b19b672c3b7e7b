/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cli_main.h"
#include "tune/cmd/gputune.h"

static const struct gt_cmd *const cmds[] = {
	&tn_cmd_plan,	 &tn_cmd_apply, &tn_cmd_verify,	 &tn_cmd_revert, &tn_cmd_status, &tn_cmd_history, &tn_cmd_recover,
	&tn_cmd_run,	 &tn_cmd_rank,	&tn_cmd_provision,
	&tn_cmd_explain, &tn_cmd_list,	&tn_cmd_lint,	 NULL,
};
static const struct gt_exit_code codes[] = {
	{ 0, "done, or nothing to do" },
	{ 1, "failed; all changes are rolled back" },
	{ 3, "refused, nothing is changed; apply: a setting cannot be read; verify and status without root: incomplete" },
	{ 4, "drift: a value was changed, or will be at the next boot" },
	{ 5, "pending: values stay until the next boot, or verify ran during an experiment of gpubench; try again later" },
	{ 6, "a transaction was interrupted; run gputune recover" },
	{ 126, "run: the command cannot be started" },
	{ 127, "run: the command does not exist" },
	{ 0 },
};
static const char *const examples[] = {
	"gputune plan", "Show what would change on this host, and why.",
	"gputune plan -o p.json && gputune apply p.json", "Review a plan, then apply exactly this plan.",
	"gputune apply --persist", "Apply the settings and keep them after a reboot.",
	"gputune verify", "Check that the settings are still in force, for monitoring.",
	"gputune revert", "Restore the values from before apply.",
	"gputune run -- python3 train.py", "Start a program with suitable CPUs, threads and libraries.",
	NULL,
};
static const struct gt_tool tool = {
	.name = "gputune",
	.summary = "Tune a deep-learning host and undo the changes",
	.description = "Changes kernel, CPU, disk and network settings that help training. Each value is derived "
		"from this host "
		       "and is shown with its reason and its risk. The journal stores the old value before a new one is "
		       "written: gputune revert restores it, also after a crash. No process stays in the background.",
	.cmds = cmds,
	.exit_codes = codes,
	.examples = examples,
};

int main(int argc, char **argv)
{
	return gt_cli_main(&tool, argc, argv);
}
