/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cli_main.h"
#include "probe/cmd/gpuprobe.h"

static const struct gt_cmd *const cmds[] = {&pr_cmd_check,   &pr_cmd_topo,      &pr_cmd_watch,   &pr_cmd_loads,
					    &pr_cmd_can,     &pr_cmd_recommend, &pr_cmd_capture,
					    &pr_cmd_explain, &pr_cmd_list,      NULL};
static const struct gt_exit_code codes[] = {
	{0, "all is well (a host without an NVIDIA GPU too, unless --require-gpu)"},
	{1, "warning"},
	{2, "critical"},
	{3, "unknown: something could not be read, or an error has no entry"},
	{0},
};
static const char *const examples[] = {
	"gpuprobe", "what is this host, and what is the first thing to mend",
	"gpuprobe --json | jq .cause", "the cause alone, for monitoring",
	"gpuprobe capture host.txt", "one reviewable text file of this host; gpuprobe --root host.txt replays it",
	NULL,
};
static const struct gt_tool tool = {
	.name = "gpuprobe",
	.summary = "diagnose a deep-learning host",
	.description = "Says what this host is (kernel, CPUs, memory, NUMA, PCI, NVIDIA stack) and what is wrong with it, as one "
		       "causal chain: the first broken link is the cause, what follows from it is folded under it, and the "
		       "smallest safe remedy is given in Debian's own commands. Changes nothing and needs no root.",
	.cmds = cmds,
	.default_cmd = &pr_cmd_check,
	.exit_codes = codes,
	.examples = examples,
};

int main(int argc, char **argv)
{
	return gt_cli_main(&tool, argc, argv);
}
