/* SPDX-License-Identifier: Apache-2.0 */
/* gpubench ladder: measure the rungs, keep every launch, say what each brought. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/cmd/cmds.h"
#include "bench/session/environ.h"
#include "bench/report/forms.h"
#include "bench/ladder/ladder.h"
#include "bench/result/outputs.h"
#include "bench/result/result.h"
#include "bench/stats/rng.h"
#include "bench/stats/stats.h"
#include "bench/train/train.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "probe/host/host.h"

#define ROUNDS     7
#define ROUNDS_MAX 200
#define RUNGS_MAX  16
#define ARGS_MAX   64

static struct {
	const char *model, *device, *data;
	struct gt_strv train;
	struct bn_outputs out;
	uint64_t rounds, ranks, seed;
} opt;

struct climb {
	struct gt_cli *cli;
	char *exe;
	json_t *doc;
	struct bn_rng rng;
	size_t done, total;
	bool wrong; /* a run was void */
};

/* ---- one launch ---- */

static uint64_t cpus(void)
{
	cpu_set_t mine;

	return sched_getaffinity(0, sizeof(mine), &mine) == 0 ? (uint64_t)CPU_COUNT(&mine) : 1;
}

static uint64_t ranks(void)
{
	return opt.ranks ? opt.ranks : GT_MAX(2, GT_MIN(cpus(), 4));
}

/* A word of a table as it is handed to gpubench train. */
static char *word_of(const struct bn_ladder *l, const char *w)
{
	unsigned long long n = gt_streq(w, "@ranks")  ? ranks()
			       : gt_streq(w, "@cpus") ? cpus()
						      : GT_MAX(1, l->batch / ranks());

	return w[0] == '@' ? gt_xasprintf("%llu", n) : gt_xstrdup(w);
}

static void add_words(struct gt_strv *argv, const struct bn_ladder *l, const char *const *words)
{
	for (size_t i = 0; i < BN_LADDER_WORDS && words[i]; i++) {
		gt_autofree char *w = word_of(l, words[i]);

		gt_strv_add(argv, w);
	}
}

/* data PATH …, or train MODEL …: the ladder's sizes, or with --model that model's own; then what the user adds, then the
 * rung. Of an option given twice the last counts. */
static void command(struct gt_strv *argv, const struct bn_ladder *l, const struct bn_rung *rung)
{
	if (l->data) {
		gt_strv_add(argv, "data");
		gt_strv_add(argv, opt.data);
		add_words(argv, l, l->train);
		add_words(argv, l, rung->options);
		return;
	}
	gt_strv_add(argv, "train");
	if (opt.model)
		gt_strv_add(argv, opt.model);
	else
		add_words(argv, l, l->train);
	if (opt.device) {
		gt_strv_add(argv, "--device");
		gt_strv_add(argv, opt.device);
	}
	for (size_t i = 0; i < opt.train.n; i++)
		gt_strv_add(argv, opt.train.v[i]);
	add_words(argv, l, rung->options);
}

static json_t *outcome(const struct gt_spawn *sp, struct climb *c)
{
	static const char *const keep[] = {"items_per_s", "median_step_s", "planned_bytes", "max_rss_bytes", "threads",
					  "env", "gpu", "gpu_trouble"};
	gt_auto_json *doc = NULL;
	json_t *launch = json_object();
	struct gt_err err = {0};
	const char *why = NULL;

	if (sp->status != 0 && sp->status != BN_EXIT_WRONG)
		why = sp->errout && sp->errout[0] ? gt_strip(sp->errout) : "it ended without a word";
	else if (gt_json_parse(sp->out, sp->out_len, "its answer", &doc, &err) < 0)
		why = err.msg;
	else if (sp->status == BN_EXIT_WRONG || gt_json_get_bool(doc, "void", false))
		why = "the held-out loss did not fall: the run is void";
	c->wrong |= sp->status == BN_EXIT_WRONG;
	if (why && gt_starts_with(why, "gpubench: "))
		why += strlen("gpubench: ");
	json_object_set_new(launch, "failure", gt_json_str(why));
	for (size_t i = 0; doc && i < GT_ARRAY_SIZE(keep); i++)
		json_object_set(launch, keep[i], json_object_get(doc, keep[i]));
	if (doc)
		json_object_set(c->doc, "unit", json_object_get(doc, "unit"));
	return launch;
}

static int launch(struct climb *c, json_t *rung, uint64_t round, struct gt_err *err)
{
	gt_autofree char *seed = gt_xasprintf("%llu", (unsigned long long)(1 + round));
	const char *head[] = {c->exe}, *tail[] = {"--seed", seed, "--json", "--quiet"};
	char *argv[ARGS_MAX];
	struct gt_spawn sp = {.argv = argv, .timeout_s = 1800, .max_output = 8u << 20, .cancel = &gt_interrupted};
	json_t *words = json_object_get(rung, "command"), *w, *result;
	size_t i, n = 0;
	int r;

	argv[n++] = (char *)head[0];
	json_array_foreach(words, i, w) if (i > 0 && n < ARGS_MAX - GT_ARRAY_SIZE(tail) - 1) argv[n++] =
		(char *)json_string_value(w);
	for (i = 0; i < GT_ARRAY_SIZE(tail); i++)
		argv[n++] = (char *)tail[i];
	argv[n] = NULL;
	r = gt_spawn(&sp, err);
	if (r == 0 || r == -ETIMEDOUT) {
		result = r ? json_pack("{s:s}", "failure", "it did not end within 30 minutes") : outcome(&sp, c);
		json_object_set_new(result, "round", json_integer((json_int_t)round));
		json_array_append_new(json_object_get(rung, "launches"), result);
		gt_err_clear(err);
		r = 0;
	}
	gt_spawn_clear(&sp);
	return r;
}

/* ---- all of them ---- */

static json_t *ladder_json(const struct bn_ladder *l)
{
	json_t *rungs = json_array();

	for (const struct bn_rung *rung = l->rung; rung->name; rung++) {
		json_t *words;
		gt_auto_strv argv = {0};

		if (rung->gpu_only && !gt_streq(opt.device, "cuda"))
			continue;
		words = json_array();
		command(&argv, l, rung);
		json_array_append_new(words, json_string("gpubench"));
		for (size_t i = 0; i < argv.n; i++)
			json_array_append_new(words, gt_json_str(argv.v[i]));
		json_array_append_new(rungs,
				      json_pack("{s:s, s:o, s:[]}", "name", rung->name, "command", words, "launches"));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "id", l->id, "title", l->title, "what", l->what, "rungs", rungs);
}

static int save(const struct climb *c)
{
	gt_autofree char *text = NULL;

	if (!opt.out.json || gt_streq(opt.out.json, "-"))
		return 0;
	text = gt_json_text(c->doc);
	return gt_file_write(opt.out.json, text, strlen(text), 0644, &c->cli->err);
}

/* Every rung once, in tossed order. */
static int one_round(struct climb *c, json_t *ladder, uint64_t round)
{
	json_t *rungs = json_object_get(ladder, "rungs");
	size_t n = json_array_size(rungs), order[RUNGS_MAX];
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)bn_rng_below(&c->rng, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (size_t i = 0; i < n && !r && !gt_interrupted; i++) {
		json_t *rung = json_array_get(rungs, order[i]);
		gt_autofree char *what =
			gt_xasprintf("round %llu, %s: %s", (unsigned long long)round + 1,
				     gt_json_get_str(ladder, "id", ""), gt_json_get_str(rung, "name", ""));

		if (!c->cli->quiet)
			gt_progress(what, (double)c->done++, (double)c->total);
		r = launch(c, rung, round, &c->cli->err);
		if (r == -EINTR)
			r = 0;
		if (!r)
			r = save(c);
	}
	if (!gt_streq(gt_json_get_str(ladder, "unit", NULL), gt_json_get_str(c->doc, "unit", NULL)))
		json_object_set(ladder, "unit", json_object_get(c->doc, "unit"));
	return r;
}

static int climb(struct climb *c)
{
	json_t *ladders = json_object_get(c->doc, "ladders"), *l;
	size_t i;
	int r = 0;

	json_array_foreach(ladders, i, l) c->total += json_array_size(json_object_get(l, "rungs")) * opt.rounds;
	for (uint64_t round = 0; round < opt.rounds && !r && !gt_interrupted; round++)
		json_array_foreach(ladders, i, l)
		{
			r = r ? r : one_round(c, l, round);
			if (gt_interrupted)
				break;
		}
	gt_progress_end();
	json_object_del(c->doc, "unit");
	return r;
}

/* ---- analysis ---- */

static double of_round(const json_t *rung, int64_t round, const char *key)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(rung, "launches"), i,
			   l) if (gt_json_get_int(l, "round", -1) == round &&
				  !gt_json_get_str(l, "failure", NULL)) return gt_json_get_real(l, key, NAN);
	return NAN;
}

static double median_of(const json_t *rung, const char *key)
{
	double x[ROUNDS_MAX];
	size_t i, n = 0;
	json_t *l;

	json_array_foreach(json_object_get(rung, "launches"), i, l)
	{
		double v = gt_json_get_str(l, "failure", NULL) ? NAN : gt_json_get_real(l, key, NAN);

		if (isfinite(v) && n < ROUNDS_MAX)
			x[n++] = v;
	}
	return bn_median(x, n);
}

static void compare(json_t *rung, const json_t *base, int64_t rounds, uint64_t seed)
{
	double d[ROUNDS_MAX] = {0};
	struct bn_effect e;
	size_t n = 0;

	for (int64_t k = 0; k < GT_MIN(rounds, ROUNDS_MAX); k++) {
		double v = log(of_round(rung, k, "items_per_s") / of_round(base, k, "items_per_s"));

		if (isfinite(v))
			d[n++] = v;
	}
	e = bn_signflip(d, n, .05, seed);
	json_object_set_new(rung, "speedup", gt_json_real(n ? exp(e.est) : NAN));
	json_object_set_new(rung, "speedup_low", gt_json_real(exp(e.lo)));
	json_object_set_new(rung, "speedup_high", gt_json_real(exp(e.hi)));
	json_object_set_new(rung, "rounds", json_integer((json_int_t)n));
}

void bn_ladder_analyze(json_t *doc)
{
	static const char *const levels[] = {"items_per_s", "planned_bytes", "max_rss_bytes"};
	const json_t *run = json_object_get(doc, "run");
	json_t *l, *rung;
	size_t i, k;

	json_array_foreach(json_object_get(doc, "ladders"), i, l)
	{
		json_t *rungs = json_object_get(l, "rungs");

		json_array_foreach(rungs, k, rung)
		{
			for (size_t m = 0; m < GT_ARRAY_SIZE(levels); m++)
				json_object_set_new(rung, levels[m], gt_json_real(median_of(rung, levels[m])));
			compare(rung, json_array_get(rungs, 0), gt_json_get_int(run, "rounds", 0),
				(uint64_t)gt_json_get_int(run, "seed", 1));
		}
	}
}

/* ---- the command ---- */

static int choose(struct climb *c, int argc, char **argv)
{
	json_t *ladders = json_object_get(c->doc, "ladders");

	for (int i = 0; i < argc; i++) {
		const struct bn_ladder *l = bn_ladders;

		while (l->id && strcmp(l->id, argv[i]) != 0)
			l++;
		if (!l->id)
			return gt_fail_exit(
				&c->cli->err, GT_EXIT_USAGE, EINVAL,
				"no ladder is called \"%s\": precision, techniques, images, ranks, accumulation, lengths and "
				"data are", argv[i]);
		if (l->data && !opt.data)
			return gt_fail_exit(&c->cli->err, GT_EXIT_USAGE, EINVAL,
					    "the ladder %s needs --data: directories or tar shards of images, token files", l->id);
		json_array_append_new(ladders, ladder_json(l));
	}
	for (const struct bn_ladder *l = bn_ladders; !argc && l->id; l++)
		if (!l->data || opt.data)
			json_array_append_new(ladders, ladder_json(l));
	return 0;
}

static int check_options(struct gt_err *err)
{
	opt.rounds = opt.rounds ? opt.rounds : ROUNDS;
	if (opt.rounds > ROUNDS_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--rounds takes at most %d", ROUNDS_MAX);
	if (opt.ranks > 64)
		return gt_fail_exit(err, GT_EXIT_USAGE, ERANGE, "--ranks takes at most 64");
	opt.seed = opt.seed ? opt.seed : (uint64_t)time(NULL) % 1000000;
	return 0;
}

static json_t *new_document(struct gt_cli *cli, struct gt_err *err)
{
	struct pr_discover_opts discover = {.nvml_timeout_s = 5};
	char *const none[] = {NULL};
	gt_auto_json *frame = NULL;
	struct pr_host *host = NULL;
	struct bn_environ e;
	char started[32];
	time_t now = time(NULL);
	struct tm tm;

	if (pr_host_discover(cli->fs, &discover, &host, err) < 0)
		return NULL;
	frame = bn_result_new(cli->fs, host, none);
	pr_host_free(host);
	bn_environ_read(cli->fs, &e);
	gmtime_r(&now, &tm);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:s, s:O, s:O, s:{s:I, s:I, s:s, s:o}, s:[]}", "schema", BN_LADDER_SCHEMA, "tool",
			 json_object_get(frame, "tool"), "host", json_object_get(frame, "host"), "run", "rounds",
			 (json_int_t)opt.rounds, "seed", (json_int_t)opt.seed, "started", started, "load_at_start",
			 gt_json_real(e.load1), "ladders");
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
	struct climb c = {.cli = cli};
	double t0 = gt_now_s();
	int r = check_options(&cli->err);

	if (r == 0)
		r = gt_fs_require_live(cli->fs, "measuring", &cli->err);
	if (r == 0)
		r = bn_outputs_try(&opt.out, &cli->err);
	if (r == 0 && gt_fs_readlink(cli->fs, "/proc/self/exe", &c.exe) < 0)
		r = gt_fail(&cli->err, ENOENT, "cannot find out where this program lies");
	if (r == 0)
		r = (c.doc = new_document(cli, &cli->err)) ? 0 : -EIO;
	if (r == 0)
		r = choose(&c, argc, argv);
	if (r == 0) {
		bn_rng_seed(&c.rng, opt.seed);
		r = climb(&c);
	}
	if (r == 0) {
		json_t *run = json_object_get(c.doc, "run");

		json_object_set_new(run, "duration_s", gt_json_real(gt_now_s() - t0));
		json_object_set_new(run, "interrupted", json_boolean(gt_interrupted));
		bn_ladder_analyze(c.doc);
		r = bn_form_publish(cli, &bn_form_ladder, c.doc, &opt.out);
	}
	if (r == 0 && (gt_interrupted || c.wrong || failures(c.doc)))
		r = c.wrong ? BN_EXIT_WRONG : BN_EXIT_INVALID;
	json_decref(c.doc);
	free(c.exe);
	return r;
}

static const char *const devices[] = {"cpu", "cuda", NULL};
static const struct gt_opt opts[] = {
	{0, "model", "NAME", "climb with this model and its own sizes (see gpubench train)", GT_OPT_STR, &opt.model,
	 NULL, bn_model_word},
	{0, "data", "PATH", "what the ladder data reads (see gpubench data)", GT_OPT_STR, &opt.data, NULL},
	{0, "device", "DEVICE", "where to train", GT_OPT_CHOICE, &opt.device, devices},
	{0, "train", "WORD", "hand this on to every gpubench train: --train=--steps --train=3", GT_OPT_LIST, &opt.train,
	 NULL},
	{0, "rounds", "N", "launches of each rung; an interval needs six [7]", GT_OPT_COUNT, &opt.rounds, NULL},
	{0, "ranks", "N", "processes where a rung uses several [the CPUs, at most 4]", GT_OPT_COUNT, &opt.ranks, NULL},
	{0, "seed", "N", "seed of the order; without it one is drawn and recorded", GT_OPT_UINT, &opt.seed, NULL},
	{'o', "output", "FILE", "every launch as JSON; written after each", GT_OPT_STR, &opt.out.json, NULL},
	{0, "html", "FILE", "one page with bars", GT_OPT_STR, &opt.out.html, NULL},
	{0, "markdown", "FILE", "the tables as Markdown", GT_OPT_STR, &opt.out.markdown, NULL},
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
