/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench ladder: what each technique brings here, rung by rung. */
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
	r = bn_ladder_climb(cli, &req, argv, argc, &doc, &wrong);
	if (r < 0)
		return r;
	r = bn_form_publish(cli, &bn_form_ladder, doc, &outputs);
	if (r < 0)
		return r;
	return wrong ? BN_EXIT_WRONG : gt_interrupted || failures(doc) ? BN_EXIT_INVALID : 0;
}

static const char *const devices[] = {"cpu", "cuda", NULL};
static const struct gt_opt opts[] = {
	{0, "model", "NAME", "climb with this model and its own sizes (see gpubench train)", GT_OPT_STR, &req.model,
	 NULL, bn_model_word},
	{0, "data", "PATH", "what the ladder data reads (see gpubench data)", GT_OPT_STR, &req.data, NULL},
	{0, "device", "DEVICE", "where to train", GT_OPT_CHOICE, &req.device, devices},
	{0, "train", "WORD", "hand this on to every gpubench train: --train=--steps --train=3", GT_OPT_LIST, &req.train,
	 NULL},
	{0, "rounds", "N", "launches of each rung; an interval needs six [7]", GT_OPT_COUNT, &req.rounds, NULL},
	{0, "ranks", "N", "processes where a rung uses several [the CPUs, at most 4]", GT_OPT_COUNT, &req.ranks, NULL},
	{0, "seed", "N", "seed of the order; without it one is drawn and recorded", GT_OPT_UINT, &req.seed, NULL},
	{'o', "output", "FILE", "every launch as JSON; written after each", GT_OPT_STR, &outputs.json, NULL},
	{0, "html", "FILE", "one page with bars", GT_OPT_STR, &outputs.html, NULL},
	{0, "markdown", "FILE", "the tables as Markdown", GT_OPT_STR, &outputs.markdown, NULL},
	{0},
};

static const char *ladder_word(size_t i)
{
	return bn_ladders[i].id;
}

const struct gt_cmd bn_cmd_ladder = {
	.name = "ladder",
	.args = "[LADDER...]",
	.summary = "what each technique brings here: speed, speed-up and memory, rung by rung",
	.help = "The ladders are precision (FP32 to AMP), techniques (everything off to everything on), images "
		"(the same of a convolutional network), ranks (data-parallel to DDP, overlapped and compressed), "
		"accumulation (naive to once per update), "
		"lengths (documents padded to the longest, grouped, in a token budget) and, with --data, data (one thread to "
		"workers and a cache); without a name all of them.\n\n"
		"Each launch is a fresh gpubench train, or gpubench data. Rounds go through all rungs in an order decided by "
		"a coin; a speed-up is the mean ratio to the first rung within rounds, with its 95 % interval from the "
		"sign-flip randomisation test. "
		"A rung that failed is named (exit 5), and so is one whose loss did not fall (exit 6).",
	.opts = opts,
	.max_args = -1,
	.word = ladder_word,
	.run = cmd_ladder,
};
