/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/train/omp_spin.h"
#include "lib/cli_main.h"

static const struct gt_cmd *const cmds[] = {
	&bn_cmd_run,  &bn_cmd_ab,    &bn_cmd_resume,  &bn_cmd_prove, &bn_cmd_compare, &bn_cmd_report,
	&bn_cmd_fleet, &bn_cmd_history,
	&bn_cmd_list, &bn_cmd_ladder, &bn_cmd_train, &bn_cmd_infer, &bn_cmd_data, &bn_cmd_check_device,
	&bn_cmd_launch, &bn_cmd_selftest, NULL,
};

static const struct gt_exit_code exit_codes[] = {
	{ 0, "measured; nothing that counts got worse" },
	{ BN_EXIT_REGRESSION, "a primary or guard metric got worse" },
	{ BN_EXIT_INCONCLUSIVE, "no conclusion, and --require-conclusive was given; or the change costs launches their numbers" },
	{ BN_EXIT_INCOMPARABLE, "the results cannot be compared: another host, suite or workload definition" },
	{ BN_EXIT_INVALID, "invalid session: identical arms differed, settings changed midway, or it was interrupted" },
	{ BN_EXIT_WRONG, "a workload's result was wrong, so its speed means nothing; or the self-test failed" },
	{ 0, NULL },
};

static const char *const examples[] = {
	"gpubench run --plan plan.json --quick -o result.json --html report.html",
	"measure the host before and after a plan, in pairs, and leave it as it was",
	"gpubench run --no-plan -o before.json",
	"measure the host as it is, for a later compare",
	"gpubench compare before.json after.json",
	"what moved between two saved results, and which settings differ",
	"gpubench report result.json --html report.html",
	"the same result as a page with plots",
	NULL,
};

static const struct gt_tool tool = {
	.name = "gpubench",
	.summary = "measure this host before and after, and say what nobody can tell",
	.description =
		"Runs workloads in fresh processes, in randomised pairs of before and after, and gives one of four "
		"verdicts with an interval: better, worse, same, or inconclusive with how many more pairs it takes. "
		"The host's settings are put back whatever happens.",
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
