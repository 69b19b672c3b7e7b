/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench ladder: measures what each training technique gains. */
#include <errno.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/ladder/ladder.h"
#include "bench/report/forms.h"
#include "bench/train/models.h"
#include "lib/fsroot.h"
#include "lib/log.h"

#define ROUNDS 7

static struct bn_ladder_request req;
static struct bn_outputs outputs;

static int check_options(struct gt_err *err)
{
	req.rounds = req.rounds ? req.rounds : ROUNDS;
	if (req.rounds > BN_LADDER_ROUNDS_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--rounds takes at most %d", BN_LADDER_ROUNDS_MAX);
	if (req.ranks > 64)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--ranks takes at most 64");
	req.seed = req.seed ? req.seed : (uint64_t)time(NULL) % 1000000;
	req.save = outputs.json;
	if (req.model && !bn_model_find(req.model, err))
		return -EINVAL;
	return 0;
}

static size_t failures(const json_t *doc)
{
	json_t *l, *rung, *run;
	size_t i, k, m, n = 0;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
		json_array_foreach(json_object_get(l, "rungs"), k, rung)
			json_array_foreach(json_object_get(rung, "launches"), m, run) n +=
		gt_json_get_str(run, "failure", NULL) != NULL;
	return n;
}

static int cmd_ladder(struct gt_cli *cli, int argc, char **argv)
{
	gt_auto_json *doc = NULL;
	bool wrong = false;
	int r;

	r = check_options(&cli->err);
	if (r < 0)
		return r;
	r = gt_fs_require_live(cli->fs, "measuring", &cli->err);
	if (r < 0)
		return r;
	r = bn_outputs_try(&outputs, &cli->err);
	if (r < 0)
		return r;
	r = bn_ladder_run(cli, &req, argv, argc, &doc, &wrong);
	if (r < 0)
		return r;
	r = bn_form_publish(cli, &bn_form_ladder, doc, &outputs);
	if (r < 0)
		return r;
	return wrong ? BN_EXIT_WRONG : gt_interrupted || failures(doc) ? BN_EXIT_INVALID : 0;
}

static const char *const devices[] = {"cpu", "cuda", NULL};
static const struct gt_opt opts[] = {
	{0, "model", "NAME", "use this model instead of the ladder's (see gpubench train)", GT_OPT_STR, &req.model, NULL,
	 bn_model_word},
	{0, "data", "PATH", "use this data set in ladders that read data (see gpubench data)", GT_OPT_STR, &req.data, NULL},
	{0, "device", "DEVICE", "use cpu or cuda (default: cpu)", GT_OPT_CHOICE, &req.device, devices},
	{0, "train", "WORD", "pass WORD to gpubench train or op (repeatable): --train=--steps --train=3", GT_OPT_LIST, &req.train,
	 NULL},
	{0, "rounds", "N", "launch each rung N times; an interval needs 6 launches (default: "
		"7)", GT_OPT_COUNT, &req.rounds, NULL},
	{0, "ranks", "N", "use N processes where needed (default: the CPUs, at most 4)", GT_OPT_COUNT, &req.ranks, NULL},
	{0, "seed", "N", "set the seed of the order (default: drawn and recorded)", GT_OPT_UINT, &req.seed, NULL},
	{'o', "output", "FILE", "save the result as JSON after each launch", GT_OPT_STR, &outputs.json, NULL},
	{0, "html", "FILE", "write a page with bars", GT_OPT_STR, &outputs.html, NULL},
	{0, "markdown", "FILE", "write a Markdown report", GT_OPT_STR, &outputs.markdown, NULL},
	{0},
};

static const char *ladder_word(size_t i)
{
	return bn_ladders[i].id;
}

const struct gt_cmd bn_cmd_ladder = {
	.name = "ladder",
	.args = "[LADDER...]",
	.group = "Train and infer",
	.summary = "Measure what each training technique gains on this host",
	.help = "LADDER is precision (FP32 to AMP), techniques (all off to all on) or images (the same for a "
		"convolutional network). Others are ranks (data-parallel to overlapped and compressed), parallel (one model "
		"among four ranks), accumulation, lengths (padding of documents), compress (FP32 to INT8 and pruned), gelu and "
		"softmax (three ways to write a function). compress-images, vit (a vision transformer with six techniques) and "
		"data (workers and cache) need --data. Default: all that can run. Each launch is a fresh process. A speed-up is "
		"the mean ratio to the first rung within rounds. Exit status 5 means that a rung failed, 6 that its loss did not "
		"fall or that its result is wrong.",
	.ignores = GT_ROOT_IGNORED,
	.opts = opts,
	.max_args = -1,
	.word = ladder_word,
	.run = cmd_ladder,
};
