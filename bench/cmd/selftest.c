/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench selftest: checks the statistics on simulated hosts with a known effect. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/stats/simulate.h"
#include "lib/table.h"

static struct {
	bool stats;
	uint64_t seed, trials;
} opt = { .seed = 1, .trials = 500 };

static json_t *selftest_doc(const struct bn_sim_result *r, size_t n, double seconds)
{
	json_t *list = json_array();
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		bool holds = bn_sim_holds(&r[i]);

		ok &= holds;
		json_array_append_new(list, json_pack("{s:s, s:s, s:f, s:o, s:s, s:I, s:b, s:b}", "host", r[i].host, "promise",
						      r[i].promise, "rate", r[i].rate, "bound", gt_json_real(r[i].bound),
						      "sense", r[i].sense == BN_AT_MOST ? "at most" : "at least", "trials",
						      (json_int_t)r[i].trials, "promised", !isnan(r[i].bound), "holds",
						      holds));
	}
	return json_pack("{s:s, s:I, s:f, s:b, s:o}", "schema", "gpubench-selftest/1", "seed", (json_int_t)opt.seed,
			 "seconds", seconds, "ok", ok, "promises", list);
}

static void print(const json_t *doc, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	json_t *p;
	size_t i;

	gt_table_column(t, "HOST", GT_LEFT);
	gt_table_column(t, "PROMISE", GT_WRAP);
	gt_table_column(t, "SEEN", GT_RIGHT);
	gt_table_column(t, "BOUND", GT_RIGHT);
	gt_table_column(t, "", GT_LEFT);
	json_array_foreach(json_object_get(doc, "promises"), i, p) {
		bool most = gt_streq(gt_json_get_str(p, "sense", ""), "at most"), holds = gt_json_get_bool(p, "holds", false);

		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(p, "host", ""));
		gt_table_cell(t, "%s", gt_json_get_str(p, "promise", ""));
		gt_table_cell(t, "%.1f %%", 100 * gt_json_get_real(p, "rate", NAN));
		if (!gt_json_get_bool(p, "promised", false)) {
			gt_table_cell(t, "-");
			gt_table_cell(t, "not our way");
			continue;
		}
		gt_table_cell(t, "%s %.0f %%", most ? "<=" : ">=", 100 * gt_json_get_real(p, "bound", NAN));
		gt_table_cell(t, "%s", holds ? "ok" : "BROKEN");
		gt_table_color(t, holds ? "green" : "red");
	}
	gt_table_print(t, stdout, color);
}

static int cmd_selftest(struct gt_cli *cli, int argc, char **argv)
{
	/* Test of the selftest: treats steps as independent measurements, which must make it fail. */
	bool broken = gt_streq(getenv("GPUBENCH_FAULT"), "steps");
	struct bn_sim_result r[BN_SIM_RESULTS_MAX];
	gt_auto_json *doc = NULL;
	double t0 = gt_now_s();
	size_t n;

	if (!opt.stats)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "selftest needs --stats");
	if (opt.trials < 200 || opt.trials > 100000)
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, ERANGE,
				    "--trials takes 200 to 100000: with fewer, chance alone breaks a promise");
	n = bn_simulate(opt.seed, opt.trials, broken, r);
	doc = selftest_doc(r, n, gt_now_s() - t0);
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print(doc, cli->color);
	if (!gt_json_get_bool(doc, "ok", false))
		return gt_fail_exit(&cli->err, BN_EXIT_WRONG, EBADMSG, "an error rate is out of bounds");
	if (!cli->json)
		printf("every promise holds: %llu simulated sessions each, seed %llu\n", (unsigned long long)opt.trials,
		       (unsigned long long)opt.seed);
	return 0;
}

static const struct gt_opt selftest_opts[] = {
	{0, "stats", NULL, "simulate sessions on calm, drifting, bursty and noisy hosts", GT_OPT_FLAG, &opt.stats, NULL},
	{0, "trials", "N", "simulate N sessions per property (default: 500)", GT_OPT_UINT, &opt.trials, NULL},
	{0, "seed", "N", "set the seed of the simulation (default: 1)", GT_OPT_UINT, &opt.seed, NULL},
	{0},
};

const struct gt_cmd bn_cmd_selftest = {
	.name = "selftest",
	.args = "",
	.group = "Internal",
	.listed = GT_RARE,
	.summary = "Check the error rates of the statistics by simulation",
	.help = "Simulates sessions on hosts with a known effect and judges them with the code for real sessions. Checks "
		"how often noise is called a change (at most 7 % at nominal 5) and how often the interval contains the "
		"effect (at least 93 %). Also checks how often an effect of the promised size is found. Exit status 6 "
		"means that a rate is out of bounds.",
	.ignores = GT_ROOT_IGNORED,
	.opts = selftest_opts,
	.run = cmd_selftest,
};
