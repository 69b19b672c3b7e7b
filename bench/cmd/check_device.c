/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench check-device: compares the results of the GPU with those of the CPU. */
#include <errno.h>
#include <stdio.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/train/train.h"
#include "lib/log.h"
#include "lib/table.h"
#include "runtime/cuda/selfcheck.h"
#include "runtime/transport/comm.h"

static uint64_t seed = 1, ranks;
static const char *only, *cases;
static const char *const type_names[] = { "f32", "tf32", "bf16", "f16", "fp8", NULL };
static const struct gt_opt opts[] = {
	{ 0, "type", "TYPE", "check only f32, tf32, bf16, f16 or fp8", GT_OPT_CHOICE, &only, type_names },
	{ 0, "case", "NAME", "check only cases with this prefix, such as attention", GT_OPT_STR, &cases },
	{ 0, "ranks", "N", "also train with N ranks on N devices over NCCL", GT_OPT_UINT, &ranks },
	{ 0, "seed", "N", "set the seed of the numbers (default: 1)", GT_OPT_UINT, &seed },
	{ 0 },
};

static void print_rows(const json_t *rows, bool all, bool color)
{
	gt_auto(gt_table) *t = gt_table_new();
	size_t i;
	json_t *row;

	gt_table_column(t, "case", GT_LEFT);
	gt_table_column(t, "type", GT_LEFT);
	gt_table_column(t, "tensor", GT_LEFT);
	gt_table_column(t, "error", GT_RIGHT);
	gt_table_column(t, "limit", GT_RIGHT);
	gt_table_column(t, "", GT_LEFT);
	json_array_foreach(rows, i, row) {
		bool ok = gt_json_get_bool(row, "ok", false);

		if (ok && !all)
			continue;
		gt_table_row(t);
		gt_table_cell(t, "%s", gt_json_get_str(row, "case", ""));
		gt_table_cell(t, "%s", gt_json_get_str(row, "type", ""));
		gt_table_cell(t, "%s", gt_json_get_str(row, "failure", gt_json_get_str(row, "tensor", "")));
		gt_table_cell(t, "%.1e", gt_json_get_real(row, "error", 0));
		gt_table_cell(t, "%.1e", gt_json_get_real(row, "limit", 0));
		gt_table_cell(t, ok ? "ok" : "wrong");
	}
	gt_table_print(t, stdout, color);
}

static int check_types(json_t *rows, int *ret_failed, struct gt_err *err)
{
	int r = ranks ? rt_cuda_selfcheck_ranks((int)ranks, seed ? seed : 1, rows, err) : 0;

	if (r < 0)
		return r;
	*ret_failed = r;
	for (int t = 0; t < RT_N_CHECK_TYPES; t++) {
		if (only && !gt_streq(only, rt_check_type_name((enum rt_check_type)t)))
			continue;
		r = rt_cuda_selfcheck((enum rt_check_type)t, cases, seed ? seed : 1, rows, err);
		if (r == -ENOSYS && t == RT_CHECK_FP8 && !only)
			continue; /* GPUs before sm_89 have no fp8 */
		if (r < 0)
			return r;
		*ret_failed += r;
	}
	return 0;
}

static int run_check_device(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = json_object();
	json_t *rows = json_array();
	int failed = 0, r = gt_fs_require_live(cli->fs, "checking a device", &cli->err);

	json_object_set_new(doc, "schema", json_string("gpubench-check-device/1"));
	json_object_set_new(doc, "seed", json_integer((json_int_t)(seed ? seed : 1)));
	json_object_set_new(doc, "rows", rows);
	if (r < 0)
		return r;
	if (ranks > RT_MAX_RANKS)
		return gt_fail(&cli->err, EINVAL, "--ranks takes 1 to %d", RT_MAX_RANKS);
	r = check_types(rows, &failed, &cli->err);
	if (!r && cases && !json_array_size(rows))
		return gt_fail_exit(&cli->err, GT_EXIT_USAGE, EINVAL, "--case %s: no case has this prefix", cases);
	if (r < 0 && !json_array_size(rows))
		return r;
	if (r < 0) /* reports the results so far */
		json_object_set_new(doc, "failure", gt_json_str(cli->err.msg));
	json_object_set_new(doc, "compared", json_integer((json_int_t)json_array_size(rows)));
	json_object_set_new(doc, "failed", json_integer(failed));
	if (cli->json) {
		gt_json_print(stdout, doc);
	} else {
		if (failed || cli->verbose)
			print_rows(rows, cli->verbose > 0, cli->color);
		printf("%zu tensors compared with the CPU, %d of them wrong\n", json_array_size(rows), failed);
	}
	return r < 0 ? r : failed ? BN_EXIT_WRONG : GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_check_device = {
	.name = "check-device",
	.args = "",
	.group = "Internal",
	.listed = GT_RARE,
	.summary = "Compare the results of the GPU with those of the CPU",
	.help = "Runs every op of the training runtime, forward and backward, on the first CUDA device and on the CPU. "
		"Both get the same random numbers in each type. Repeats them as a captured graph and in short training "
		"runs. Reports what cannot run, with the reason. Exit status 6 means that a result is missing or differs "
		"by more than rounding; --verbose lists all.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.run = run_check_device,
};
