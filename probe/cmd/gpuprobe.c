/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/cli_main.h"
#include "probe/cmd/gpuprobe.h"

static const struct gt_cmd *const cmds[] = {
	&pr_cmd_check, &pr_cmd_explain, &pr_cmd_watch, &pr_cmd_fleet,	       /* Diagnose */
	&pr_cmd_can,   &pr_cmd_recommend,		       /* Choose software */
	&pr_cmd_topo,  &pr_cmd_loads,			       /* Inspect */
	&pr_cmd_capture, &pr_cmd_list, NULL,		       /* Record and look up */
};
static const struct gt_exit_code codes[] = {
	{0, "no problem found, also without an NVIDIA GPU unless --require-gpu is given"},
	{1, "at least one warning"},
	{2, "at least one critical problem"},
	{3, "unknown: a value cannot be read, or an error number has no entry"},
	{0},
};
static const char *const examples[] = {
	"gpuprobe", "Check this host and print the first problem to fix.",
	"gpuprobe --json | jq .cause", "Print only the cause, for monitoring.",
	"gpuprobe can", "Print the commands for the driver and PyTorch wheel that fit this host.",
	"gpuprobe can torch==2.9", "Check whether a PyTorch release works on this host.",
	"gpuprobe capture host.txt", "Save this host; gpuprobe --root host.txt reads the file.",
	"gpuprobe fleet *.json", "Find the hosts whose reports differ from those of the same hardware.",
	NULL,
};
static const struct gt_tool tool = {
	.name = "gpuprobe",
	.summary = "Diagnose a deep-learning host",
	.description = "Prints the kernel, CPUs, memory, NUMA nodes, PCIe devices and NVIDIA software of this host, and checks "
		       "them. Failed checks form one chain: the cause first, then the failures that follow from it. The report "
		       "gives the smallest safe fix as commands of the host's distribution. gpuprobe changes nothing and does not "
		       "need root.",
	.cmds = cmds,
	.default_cmd = &pr_cmd_check,
	.exit_codes = codes,
	.examples = examples,
};

int main(int argc, char **argv)
{
	return gt_cli_main(&tool, argc, argv);
}
