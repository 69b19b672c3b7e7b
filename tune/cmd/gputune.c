/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cli_main.h"
#include "tune/cmd/gputune.h"

static const struct gt_cmd *const cmds[] = {&tn_cmd_plan,
					    &tn_cmd_apply,
					    &tn_cmd_verify,
					    &tn_cmd_revert,
					    &tn_cmd_status,
					    &tn_cmd_recover,
					    &tn_cmd_history,
					    &tn_cmd_run,
					    &tn_cmd_provision,
					    &tn_cmd_list,
					    &tn_cmd_explain,
					    &tn_cmd_lint,
					    NULL};
static const struct gt_exit_code codes[] = {
	{ 0, "ok, also when there was nothing to do" },
	{ 1, "failed, and everything is back as it was" },
	{ 3, "refused: nothing was changed; verify, status: not root, so not all of it is known" },
	{ 4, "drift: a knob does not hold our value, or will not after the next boot" },
	{ 5, "pending: values stay until the next boot; verify: somebody is in the middle of an experiment or a change, ask "
	     "again" },
	{ 6, "an interrupted transaction was found: gputune recover" },
	{ 126, "run: the command is there, and cannot be started" },
	{ 127, "run: there is no such command" },
	{ 0 },
};
static const char *const examples[] = {
	"gputune plan", "what would be changed on this host, and why",
	"gputune plan -o p.json && gputune apply p.json", "look at it, then do exactly that",
	"gputune apply --persist", "also for the next boot",
	"gputune verify", "is it still so? for monitoring",
	"gputune revert", "put everything back",
	"gputune run -- python3 train.py", "start one program with the right CPUs, threads and libraries",
	NULL,
};
static const struct gt_tool tool = {
	.name = "gputune",
	.summary = "tune a deep-learning host, and go back",
	.description = "Changes kernel settings that help training, each derived from this host and each with its "
		       "reason and its hazard. What is changed is in a journal before it is changed: gputune revert "
		       "puts it back, also after a crash. Nothing runs in the background.",
	.cmds = cmds,
	.exit_codes = codes,
	.examples = examples,
};

int main(int argc, char **argv)
{
	return gt_cli_main(&tool, argc, argv);
}
