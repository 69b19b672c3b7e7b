/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the rungs of ladders and records every launch. */
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bench/bench.h"
#include "bench/session/environ.h"
#include "bench/ladder/commands.h"
#include "bench/ladder/ladder.h"
#include "bench/ladder/outcome.h"
#include "bench/result/result.h"
#include "bench/stats/rng.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "probe/host/host.h"
#include "runtime/data/loader.h"

#define RUNGS_MAX  16
#define LAUNCH_S   1800 /* 30 minutes */

struct ladder_run {
	struct gt_cli *cli;
	const struct bn_ladder_request *q;
	char *exe;
	char *dir;	    /* has one directory per ladder, for the files of its commands */
	const char *ladder; /* id of the ladder that is running */
	json_t *doc;
	struct bn_rng rng;
	size_t done, total;
	bool wrong; /* a run had a wrong result */
};

/* ---- one launch ---- */

/* Replaces @dir in a word. */
static char *in_dir(const struct ladder_run *c, const char *word)
{
	if (!gt_starts_with(word, "@dir/"))
		return gt_xstrdup(word);
	return gt_xasprintf("%s/%s/%s", c->dir, c->ladder, word + strlen("@dir/"));
}

/* Runs a command. *ret: its document, NULL if it printed none that is valid. *ret_why: why it failed, or NULL. */
static int run_command(struct ladder_run *c, const json_t *words, const char *seed, json_t **ret, char **ret_why,
		       struct gt_err *err)
{
	const char *const more[] = {"--seed", seed, "--json", "--quiet"};
	gt_auto_strv argv = {0};
	gt_auto_spawn sp = {.timeout_s = LAUNCH_S, .max_output = 8u << 20, .cancel = &gt_interrupted};
	struct gt_err parse = {0};
	const char *why = NULL;
	json_t *w;
	size_t i;
	int r;

	gt_strv_add(&argv, c->exe);
	json_array_foreach(words, i, w) {
		gt_autofree char *word = in_dir(c, json_string_value(w));

		if (i > 0)
			gt_strv_add(&argv, word);
	}
	for (i = 0; i < GT_ARRAY_SIZE(more); i++)
		gt_strv_add(&argv, more[i]);
	sp.argv = argv.v;
	*ret = NULL;
	*ret_why = NULL;
	r = gt_spawn(&sp, err);
	if (r == -ETIMEDOUT) {
		gt_err_clear(err);
		*ret_why = gt_xstrdup("it did not end within 30 minutes");
		return 0;
	}
	if (r < 0)
		return r;
	if (sp.status != 0 && sp.status != BN_EXIT_WRONG)
		why = sp.errout && sp.errout[0] ? gt_strip(sp.errout) : "it ended without a message";
	else if (gt_json_parse(sp.out, sp.out_len, "its answer", ret, &parse) < 0)
		why = parse.msg;
	else if (gt_json_get_bool(*ret, "void", false))
		why = "the held-out loss did not fall: the run is void";
	else if (sp.status == BN_EXIT_WRONG)
		why = sp.errout && sp.errout[0] ? gt_strip(sp.errout) : "it computed a wrong result";
	c->wrong |= sp.status == BN_EXIT_WRONG;
	if (why)
		*ret_why = gt_xstrdup(gt_starts_with(why, "gpubench: ") ? why + strlen("gpubench: ") : why);
	return 0;
}

/* Runs the command of a rung, and its evaluation if it has one. Adds the results to `result`. */
static int measure(struct ladder_run *c, const json_t *rung, uint64_t round, json_t *result, struct gt_err *err)
{
	gt_autofree char *seed = gt_xasprintf("%llu", (unsigned long long)(1 + round));
	const json_t *evaluation = json_object_get(rung, "evaluation");
	gt_auto_json *doc = NULL, *evaluated = NULL;
	gt_autofree char *failure = NULL;
	int r = run_command(c, json_object_get(rung, "command"), seed, &doc, &failure, err);

	if (r < 0)
		return r;
	if (doc) {
		bn_ladder_outcome(doc, result);
		json_object_set(c->doc, "unit", json_object_get(doc, "unit"));
	}
	if (evaluation && !failure)
		r = run_command(c, evaluation, seed, &evaluated, &failure, err);
	if (r < 0)
		return r;
	if (evaluated)
		bn_ladder_evaluation(evaluated, result);
	json_object_set_new(result, "failure", gt_json_str(failure));
	return 0;
}

static int launch(struct ladder_run *c, json_t *rung, uint64_t round, struct gt_err *err)
{
	json_t *result = json_object();
	int r = measure(c, rung, round, result, err);

	if (r < 0) {
		json_decref(result);
		return r;
	}
	json_object_set_new(result, "round", json_integer((json_int_t)round));
	json_array_append_new(json_object_get(rung, "launches"), result);
	return 0;
}

/* ---- the whole ladder ---- */

static json_t *command_json(const struct bn_ladder_request *q, const struct bn_ladder *l, enum bn_ladder_command command,
			    const struct bn_rung *rung)
{
	gt_auto_strv argv = {0};
	json_t *words = json_array();

	bn_ladder_command(&argv, q, l, command, rung);
	for (size_t i = 0; i < argv.n; i++)
		json_array_append_new(words, gt_json_str(argv.v[i]));
	return words;
}

static json_t *ladder_json(const struct bn_ladder_request *q, const struct bn_ladder *l)
{
	json_t *rungs = json_array(), *setup = json_array();

	for (const struct bn_rung *s = l->setup; s && s->name; s++)
		json_array_append_new(setup, json_pack("{s:s, s:o}", "name", s->name, "command",
						       command_json(q, l, BN_LADDER_TRAIN, s)));
	for (const struct bn_rung *rung = l->rung; rung->name; rung++) {
		json_t *j;

		if (gt_streq(q->device, "cuda") ? rung->cpu_only : rung->gpu_only)
			continue;
		j = json_pack("{s:s, s:o, s:[]}", "name", rung->name, "command", command_json(q, l, l->command, rung), "launches");
		if (l->evaluate)
			json_object_set_new(j, "evaluation", command_json(q, l, BN_LADDER_INFER, NULL));
		json_array_append_new(rungs, j);
	}
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", l->id, "title", l->title, "what", l->what, "setup", setup, "rungs",
			 rungs);
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

	c->ladder = gt_json_get_str(ladder, "id", "");
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

/* Makes the directory of a ladder, and trains what its rungs need. */
static int set_up(struct ladder_run *c, const json_t *ladder, struct gt_err *err)
{
	const char *id = gt_json_get_str(ladder, "id", "");
	gt_autofree char *dir = gt_xasprintf("%s/%s", c->dir, id);
	json_t *step;
	size_t i;

	c->ladder = id;
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return gt_fail(err, errno, "cannot create %s", dir);
	json_array_foreach(json_object_get(ladder, "setup"), i, step) {
		const char *name = gt_json_get_str(step, "name", "");
		gt_autofree char *what = gt_xasprintf("%s: %s", id, name), *failure = NULL;
		gt_auto_json *doc = NULL;
		int r;

		if (!c->cli->quiet)
			gt_progress(what, (double)c->done++, (double)c->total);
		r = run_command(c, json_object_get(step, "command"), "1", &doc, &failure, err);
		if (r < 0)
			return r;
		if (failure)
			return gt_fail_exit(err, BN_EXIT_INVALID, EIO, "ladder %s, %s: %s", id, name, failure);
	}
	return 0;
}

static int set_up_all(struct ladder_run *c)
{
	json_t *l;
	size_t i;

	json_array_foreach(json_object_get(c->doc, "ladders"), i, l) {
		int r = gt_interrupted ? 0 : set_up(c, l, &c->cli->err);

		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

static int all_rounds(struct ladder_run *c)
{
	json_t *ladders = json_object_get(c->doc, "ladders"), *l;
	size_t i;
	int r;

	json_array_foreach(ladders, i, l)
		c->total += json_array_size(json_object_get(l, "setup")) +
			    json_array_size(json_object_get(l, "rungs")) * c->q->rounds;
	r = set_up_all(c);
	if (r < 0)
		return r;
	for (uint64_t round = 0; round < c->q->rounds; round++)
		json_array_foreach(ladders, i, l) {
			r = gt_interrupted ? 0 : one_round(c, l, round);
			if (r < 0)
				return r;
		}
	return 0;
}

/* Returns why the ladder cannot run with these options, or NULL. */
static const char *misfit(const struct bn_ladder_request *q, const struct bn_ladder *l, enum rt_data_kind kind)
{
	bool images = kind == RT_DATA_FOLDER || kind == RT_DATA_SHARDS;

	if (l->cpu_only && gt_streq(q->device, "cuda"))
		return "runs on the CPU only: leave out --device cuda";
	if (l->data == BN_LADDER_ANY_DATA && !q->data)
		return "needs --data: directories or tar shards of images, token files";
	if (l->data == BN_LADDER_IMAGES && (!q->data || !images))
		return "needs --data: a directory with one subdirectory of images per class, or tar shards of images";
	return NULL;
}

static const struct bn_ladder *find_ladder(const char *id, struct gt_err *err)
{
	gt_auto_buf names = {0};

	for (const struct bn_ladder *l = bn_ladders; l->id; l++) {
		if (gt_streq(id, l->id))
			return l;
		gt_buf_printf(&names, "%s%s", l == bn_ladders ? "" : l[1].id ? ", " : " and ", l->id);
	}
	gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "no ladder \"%s\"; the ladders are %s", id, names.s);
	return NULL;
}

static int choose(struct ladder_run *c, int argc, char *const *argv)
{
	json_t *ladders = json_object_get(c->doc, "ladders");
	enum rt_data_kind kind;
	int r = rt_data_guess(c->q->data, &kind, &c->cli->err);

	if (r < 0)
		return r;
	for (int i = 0; i < argc; i++) {
		const struct bn_ladder *l = find_ladder(argv[i], &c->cli->err);
		const char *why = l ? misfit(c->q, l, kind) : NULL;

		if (!l)
			return -EINVAL;
		if (why)
			return gt_fail_exit(&c->cli->err, GT_EXIT_USAGE, EINVAL, "the ladder %s %s", l->id, why);
		json_array_append_new(ladders, ladder_json(c->q, l));
	}
	for (const struct bn_ladder *l = bn_ladders; !argc && l->id; l++)
		if (!misfit(c->q, l, kind))
			json_array_append_new(ladders, ladder_json(c->q, l));
	return 0;
}

/* ---- directory of the commands ---- */

static int make_dir(struct ladder_run *c)
{
	const char *tmp = getenv("TMPDIR");

	tmp = tmp && tmp[0] ? tmp : "/tmp";
	c->dir = gt_xasprintf("%s/gpubench-ladder-XXXXXX", tmp);
	if (mkdtemp(c->dir))
		return 0;
	return gt_fail_exit(&c->cli->err, GT_EXIT_USAGE, errno,
			    "cannot create a directory for checkpoints in %s: %s (set TMPDIR)", tmp, strerror(errno));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void remove_dir(struct ladder_run *c)
{
	nftw(c->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free(c->dir);
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
	r = make_dir(&c);
	if (r < 0)
		return r;
	r = all_rounds(&c);
	remove_dir(&c);
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
