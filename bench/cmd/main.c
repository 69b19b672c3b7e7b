/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/train/omp_spin.h"
#include "lib/cli_main.h"

static const struct gt_cmd *const cmds[] = {
	&bn_cmd_run,	&bn_cmd_ab,	  &bn_cmd_resume, &bn_cmd_prove,       &bn_cmd_compare, &bn_cmd_report,
	&bn_cmd_train,	&bn_cmd_infer,	  &bn_cmd_ladder, &bn_cmd_data,	  &bn_cmd_plan_parallel,
	&bn_cmd_fleet,	&bn_cmd_history,
	&bn_cmd_list,
	&bn_cmd_launch, &bn_cmd_selftest, &bn_cmd_check_device, &bn_cmd_op, NULL,
};

static const struct gt_exit_code exit_codes[] = {
	{ 0, "measured; no primary or guard metric got worse" },
	{ BN_EXIT_REGRESSION, "a primary or guard metric got worse" },
	{ BN_EXIT_INCONCLUSIVE, "a metric is inconclusive and --require-conclusive is set, or launches with the "
		"change gave no result" },
	{ BN_EXIT_INCOMPARABLE, "results of different hosts, suites or workload definitions" },
	{ BN_EXIT_INVALID, "invalid session: two runs without a change differed, settings changed, or the session "
		"was interrupted" },
	{ BN_EXIT_WRONG, "a workload computed a wrong result, or the self-test failed" },
	{ 0, NULL },
};

static const char *const examples[] = {
	"gpubench run -o before.json",
	"Measure this host as it is, for a later comparison.",
	"gpubench run --plan plan.json --quick -o result.json --html report.html",
	"Measure before and after a plan of gputune, then restore the host.",
	"gpubench prove --plan plan.json --receipt receipt.json -o session.json",
	"Find the changes of a plan that help on this host.",
	"gpubench compare before.json after.json",
	"Compare two saved results.",
	"gpubench train gpt2 --device cuda --amp bf16",
	"Train GPT-2 on the first GPU and print its speed.",
	NULL,
};

static const struct gt_tool tool = {
	.name = "gpubench",
	.summary = "Measure a deep-learning host before and after a change",
	.description =
		"Runs workloads in fresh processes, in randomised pairs before and after a change. Each metric gets a verdict "
		"with a confidence interval: better, worse, same, or inconclusive with the number of pairs still "
		"needed. The settings "
		"of the host are restored, also after an interruption.",
	.cmds = cmds,
	.exit_codes = exit_codes,
	.examples = examples,
	.default_exit = GT_EXIT_INTERNAL,
};

int main(int argc, char **argv)
{
	bn_omp_spin_begin(argv);
	return gt_cli_main(&tool, argc, argv);
}
