/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the rungs of ladders and records every launch. */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "bench/bench.h"
#include "bench/session/environ.h"
#include "bench/ladder/ladder.h"
#include "bench/result/result.h"
#include "bench/stats/rng.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "probe/host/host.h"

#define RUNGS_MAX  16
#define ARGS_MAX   64

struct ladder_run {
	struct gt_cli *cli;
	const struct bn_ladder_request *q;
	char *exe;
	json_t *doc;
	struct bn_rng rng;
	size_t done, total;
	bool wrong; /* a run had a wrong result */
};

/* ---- one launch ---- */

static uint64_t cpus(void)
{
	cpu_set_t usable;

	return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? (uint64_t)CPU_COUNT(&usable) : 1;
}

static uint64_t ranks(const struct bn_ladder_request *q)
{
	return q->ranks ? q->ranks : GT_MAX(2, GT_MIN(cpus(), 4));
}

/* Replaces @ranks, @cpus and @share in an argument of gpubench train. */
static char *word_of(const struct bn_ladder_request *q, const struct bn_ladder *l, const char *w)
{
	unsigned long long n = gt_streq(w, "@ranks")  ? ranks(q)
			       : gt_streq(w, "@cpus") ? cpus()
						      : GT_MAX(1, l->batch / ranks(q));

	return w[0] == '@' ? gt_xasprintf("%llu", n) : gt_xstrdup(w);
}

static void add_words(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l,
		      const char *const *words)
{
	for (size_t i = 0; i < BN_LADDER_WORDS && words[i]; i++) {
		gt_autofree char *w = word_of(q, l, words[i]);

		gt_strv_add(argv, w);
	}
}

/*
 * Builds the command: data PATH, or train MODEL with the ladder's sizes, or with --model that model's own sizes. The
 * user's options follow, then the rung's. If an option is repeated, the last one applies.
 */
static void command(struct gt_strv *argv, const struct bn_ladder_request *q, const struct bn_ladder *l,
		    const struct bn_rung *rung)
{
	if (l->data) {
		gt_strv_add(argv, "data");
		gt_strv_add(argv, q->data);
		add_words(argv, q, l, l->train);
		add_words(argv, q, l, rung->options);
		return;
	}
	gt_strv_add(argv, "train");
	if (q->model)
		gt_strv_add(argv, q->model);
	else
		add_words(argv, q, l, l->train);
	if (q->device) {
		gt_strv_add(argv, "--device");
		gt_strv_add(argv, q->device);
	}
	for (size_t i = 0; i < q->train.n; i++)
		gt_strv_add(argv, q->train.v[i]);
	add_words(argv, q, l, rung->options);
}

/* Returns the bytes that the first rank sends per update, with those of the stage that sends most. NAN: one process, or a run
 * on data, whose evaluations send tensors too. */
static double sent_bytes(const json_t *doc)
{
	const json_t *groups = json_object_get(json_object_get(doc, "groups"), "tensor"), *ranks, *rank;
	double updates = (double)json_array_size(json_object_get(doc, "step_s")) + gt_json_get_real(doc, "warmup", 0);
	double reads = gt_json_get_real(groups, "sent_bytes", 0), stage = 0;

	if (gt_json_get_int(doc, "ranks", 1) < 2 || (reads > 0 && json_is_object(json_object_get(doc, "data"))))
		return NAN;
	ranks = json_object_get(json_object_get(doc, "pipeline"), "ranks");
	for (size_t i = 0; i < json_array_size(ranks); i++) {
		rank = json_array_get(ranks, i);
		stage = fmax(stage, gt_json_get_real(rank, "sent_bytes", 0));
	}
	return gt_json_get_real(json_object_get(doc, "ddp"), "sent_bytes_per_step", 0) + reads / updates + stage;
}

static json_t *outcome(const struct gt_spawn *sp, struct ladder_run *c)
{
	static const char *const members[] = {"items_per_s", "median_step_s", "planned_bytes", "max_rss_bytes", "threads",
					  "loss", "env", "gpu", "gpu_trouble"};
	gt_auto_json *doc = NULL;
	json_t *launch = json_object();
	struct gt_err err = {0};
	const char *why = NULL;

	if (sp->status != 0 && sp->status != BN_EXIT_WRONG)
		why = sp->errout && sp->errout[0] ? gt_strip(sp->errout) : "it ended without a message";
	else if (gt_json_parse(sp->out, sp->out_len, "its answer", &doc, &err) < 0)
		why = err.msg;
	else if (sp->status == BN_EXIT_WRONG || gt_json_get_bool(doc, "void", false))
		why = "the held-out loss did not fall: the run is void";
	c->wrong |= sp->status == BN_EXIT_WRONG;
	if (why && gt_starts_with(why, "gpubench: "))
		why += strlen("gpubench: ");
	json_object_set_new(launch, "failure", gt_json_str(why));
	for (size_t i = 0; doc && i < GT_ARRAY_SIZE(members); i++)
		json_object_set(launch, members[i], json_object_get(doc, members[i]));
	if (doc)
		json_object_set_new(launch, "sent_bytes", gt_json_real(sent_bytes(doc)));
	if (doc)
		json_object_set(c->doc, "unit", json_object_get(doc, "unit"));
	return launch;
}

static int launch(struct ladder_run *c, json_t *rung, uint64_t round, struct gt_err *err)
{
	gt_autofree char *seed = gt_xasprintf("%llu", (unsigned long long)(1 + round));
	const char *head[] = {c->exe}, *tail[] = {"--seed", seed, "--json", "--quiet"};
	char *argv[ARGS_MAX];
	gt_auto_spawn sp = {.argv = argv, .timeout_s = 1800, .max_output = 8u << 20, .cancel = &gt_interrupted};
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
	if (r < 0 && r != -ETIMEDOUT)
		return r;
	result = r ? json_pack("{s:s}", "failure", "it did not end within 30 minutes") : outcome(&sp, c);
	json_object_set_new(result, "round", json_integer((json_int_t)round));
	json_array_append_new(json_object_get(rung, "launches"), result);
	gt_err_clear(err);
	return 0;
}

/* ---- the whole ladder ---- */

static json_t *ladder_json(const struct bn_ladder_request *q, const struct bn_ladder *l)
{
	json_t *rungs = json_array();

	for (const struct bn_rung *rung = l->rung; rung->name; rung++) {
		json_t *words;
		gt_auto_strv argv = {0};

		if (rung->gpu_only && !gt_streq(q->device, "cuda"))
			continue;
		words = json_array();
		command(&argv, q, l, rung);
		json_array_append_new(words, json_string("gpubench"));
		for (size_t i = 0; i < argv.n; i++)
			json_array_append_new(words, gt_json_str(argv.v[i]));
		json_array_append_new(rungs,
				      json_pack("{s:s, s:o, s:[]}", "name", rung->name, "command", words, "launches"));
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "id", l->id, "title", l->title, "what", l->what, "rungs", rungs);
}

static int save(const struct ladder_run *c)
{
	gt_autofree char *text = NULL;

	if (!c->q->save || gt_streq(c->q->save, "-"))
		return 0;
	text = gt_json_text(c->doc);
	return gt_file_write(c->q->save, text, strlen(text), 0644, &c->cli->err);
}

/* Runs every rung once, in random order. */
static int one_round(struct ladder_run *c, json_t *ladder, uint64_t round)
{
	json_t *rungs = json_object_get(ladder, "rungs");
	size_t n = json_array_size(rungs), order[RUNGS_MAX];

	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)bn_rng_below(&c->rng, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (size_t i = 0; i < n && !gt_interrupted; i++) {
		json_t *rung = json_array_get(rungs, order[i]);
		gt_autofree char *what =
			gt_xasprintf("round %llu, %s: %s", (unsigned long long)round + 1,
				     gt_json_get_str(ladder, "id", ""), gt_json_get_str(rung, "name", ""));
		int r;

		if (!c->cli->quiet)
			gt_progress(what, (double)c->done++, (double)c->total);
		r = launch(c, rung, round, &c->cli->err);
		if (r < 0 && r != -EINTR)
			return r;
		r = save(c);
		if (r < 0)
			return r;
	}
	if (!gt_streq(gt_json_get_str(ladder, "unit", NULL), gt_json_get_str(c->doc, "unit", NULL)))
		json_object_set(ladder, "unit", json_object_get(c->doc, "unit"));
	return 0;
}

static int all_rounds(struct ladder_run *c)
{
	json_t *ladders = json_object_get(c->doc, "ladders"), *l;
	size_t i;

	json_array_foreach(ladders, i, l)
		c->total += json_array_size(json_object_get(l, "rungs")) * c->q->rounds;
	for (uint64_t round = 0; round < c->q->rounds; round++)
		json_array_foreach(ladders, i, l) {
			int r = gt_interrupted ? 0 : one_round(c, l, round);

			if (r < 0)
				return r;
		}
	return 0;
}

static int choose(struct ladder_run *c, int argc, char *const *argv)
{
	json_t *ladders = json_object_get(c->doc, "ladders");

	for (int i = 0; i < argc; i++) {
		const struct bn_ladder *l = bn_ladders;

		while (l->id && strcmp(l->id, argv[i]) != 0)
			l++;
		if (!l->id)
			return gt_fail_exit(
				&c->cli->err, GT_EXIT_USAGE, EINVAL,
				"no ladder \"%s\"; the ladders are precision, techniques, images, ranks, "
				"accumulation, lengths and data", argv[i]);
		if (l->data && !c->q->data)
			return gt_fail_exit(&c->cli->err, GT_EXIT_USAGE, EINVAL,
					    "the ladder %s needs --data: directories or tar shards of images, token files", l->id);
		json_array_append_new(ladders, ladder_json(c->q, l));
	}
	for (const struct bn_ladder *l = bn_ladders; !argc && l->id; l++)
		if (!l->data || c->q->data)
			json_array_append_new(ladders, ladder_json(c->q, l));
	return 0;
}

static json_t *new_document(const struct ladder_run *c, struct gt_err *err)
{
	struct pr_discover_opts discover = {.nvml_timeout_s = 5};
	char *const none[] = {NULL};
	gt_auto_json *frame = NULL;
	struct pr_host *host = NULL;
	struct bn_environ e;
	char started[32];
	time_t now = time(NULL);
	struct tm tm;

	if (pr_host_discover(c->cli->fs, &discover, &host, err) < 0)
		return NULL;
	frame = bn_result_new(c->cli->fs, host, none);
	pr_host_free(host);
	bn_environ_read(c->cli->fs, &e);
	gmtime_r(&now, &tm);
	strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:s, s:O, s:O, s:{s:I, s:I, s:s, s:o}, s:[]}", "schema", BN_LADDER_SCHEMA, "tool",
			 json_object_get(frame, "tool"), "host", json_object_get(frame, "host"), "run", "rounds",
			 (json_int_t)c->q->rounds, "seed", (json_int_t)c->q->seed, "started", started, "load_at_start",
			 gt_json_real(e.load1), "ladders");
}

int bn_ladder_run(struct gt_cli *cli, const struct bn_ladder_request *q, char *const *names, int n, json_t **ret,
		  bool *ret_wrong)
{
	gt_autofree char *exe = NULL;
	gt_auto_json *doc = NULL;
	struct ladder_run c = { .cli = cli, .q = q };
	double t0 = gt_now_s();
	json_t *run;
	int r;

	if (gt_fs_readlink(cli->fs, "/proc/self/exe", &exe) < 0)
		return gt_fail(&cli->err, ENOENT, "cannot find the path of this program");
	c.exe = exe;
	c.doc = doc = new_document(&c, &cli->err);
	if (!doc)
		return -EIO;
	r = choose(&c, n, names);
	if (r < 0)
		return r;
	bn_rng_seed(&c.rng, q->seed);
	r = all_rounds(&c);
	gt_progress_end();
	json_object_del(doc, "unit");
	if (r < 0)
		return r;
	run = json_object_get(doc, "run");
	json_object_set_new(run, "duration_s", gt_json_real(gt_now_s() - t0));
	json_object_set_new(run, "interrupted", json_boolean(gt_interrupted));
	bn_ladder_analyze(doc);
	*ret_wrong = c.wrong;
	*ret = gt_take(doc);
	return 0;
}
