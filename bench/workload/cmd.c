/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own command. The session starts it (bench/session/command.c); this file only describes it. */
#include "bench/workload/workloads.h"

static const char *cmd_unavailable(struct gt_fsroot *fs)
{
	return "needs a command: gpubench run -- CMD";
}

static const char *const knobs[] = { NULL };

const struct bn_workload bn_workload_cmd = {
	.id	     = "cmd",
	.summary     = "your own command: its wall time, or numbers that it prints or writes (--metric)",
	.unit	     = "s",
	.direction   = BN_LOWER,
	.role	     = BN_PRIMARY,
	.version     = 1,
	.margin	     = .01,
	.verifies    = "the command ends with exit status 0",
	.overhead    = "wall time includes the start and end of a process; the command's own numbers do not",
	.knobs	     = knobs,
	.launch_s    = 0,
	.optional    = true,
	.unavailable = cmd_unavailable,
};
