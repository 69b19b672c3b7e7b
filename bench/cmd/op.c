/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench op FUNCTION */
#include <stdio.h>
#include "bench/cmd/cmds.h"
#include "bench/train/omp_spin.h"
#include "bench/train/op.h"
#include "bench/train/user_ops.h"
#include "lib/fsroot.h"
#include "probe/host/host.h"

static struct bn_op_options options = { .warmup = UINT64_MAX };
static const char *const devices[] = { "cpu", "cuda", NULL };
static const struct gt_opt opts[] = {
	{ 0, "way", "WAY", "compute with basic-ops, one user-op or the library's op (default: library)", GT_OPT_CHOICE,
	  &options.way, bn_op_way_names },
	{ 0, "device", "DEVICE", "compute on cpu or cuda (default: cpu)", GT_OPT_CHOICE, &options.device, devices },
	{ 0, "rows", "N", "use N rows (default: 1024)", GT_OPT_COUNT, &options.rows },
	{ 0, "cols", "N", "use N columns (default: 1024)", GT_OPT_COUNT, &options.cols },
	{ 0, "threads", "N", "use N threads (default: chosen by OpenMP)", GT_OPT_UINT, &options.threads },
	{ 0, "steps", "N", "time N steps (default: 30)", GT_OPT_COUNT, &options.steps },
	{ 0, "warmup", "N", "run N steps before the timed ones (default: 3)", GT_OPT_UINT, &options.warmup },
	{ 0, "seed", "N", "set the seed of the numbers (default: 1)", GT_OPT_UINT, &options.seed },
	{ 0 },
};

static void print(const json_t *doc)
{
	char planned[32];

	gt_format_bytes(planned, sizeof(planned), (uint64_t)gt_json_get_int(doc, "planned_bytes", 0));
	printf("function   %s by %s, %lld x %lld\n", gt_json_get_str(doc, "function", ""), gt_json_get_str(doc, "way", ""),
	       (long long)gt_json_get_int(doc, "rows", 0), (long long)gt_json_get_int(doc, "cols", 0));
	printf("runs on    %s, %s, %lld threads\n", gt_json_get_str(doc, "device", ""), gt_json_get_str(doc, "isa", ""),
	       (long long)gt_json_get_int(doc, "threads", 0));
	printf("speed      %.3f ms per step, forward and backward; %.1f bytes per element\n",
	       1e3 * gt_json_get_real(doc, "median_step_s", 0), gt_json_get_real(doc, "bytes_per_element", 0));
	printf("memory     %s planned\n", planned);
	printf("error      %.2g of the largest value, gradient %.2g; limit %g\n", gt_json_get_real(doc, "error", 0),
	       gt_json_get_real(doc, "gradient_error", 0), gt_json_get_real(doc, "tolerance", 0));
}

static int run_op(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	int r = gt_fs_require_live(cli->fs, "measuring", &cli->err);

	if (r < 0)
		return r;
	bn_omp_spin_bound();
	options.function = argv[0];
	if (!gt_streq(options.device, "cuda")) /* a device reports its own free memory */
		options.memory_limit_bytes = pr_available_bytes(cli->fs);
	r = bn_op(&options, &doc, &cli->err);
	if (r < 0)
		return r;
	if (cli->json)
		gt_json_print(stdout, doc);
	else
		print(doc);
	return GT_EXIT_OK;
}

const struct gt_cmd bn_cmd_op = {
	.name = "op",
	.args = "FUNCTION",
	.group = "Internal",
	.listed = GT_RARE,
	.summary = "Measure one function that is written in three ways",
	.help = "FUNCTION is gelu or softmax. It is computed by basic ops of the library, by one op that uses the public interface "
		"for user ops, or by the library's own op. Measures a step of forward and backward pass. Compares the result and "
		"the gradient with the definition in double precision; exit status 6 means that one differs by more than rounding. "
		"The ladders gelu and softmax run this command.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.min_args = 1,
	.max_args = 1,
	.word = bn_op_word,
	.run = run_op,
};
