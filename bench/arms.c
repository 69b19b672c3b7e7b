/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "bench/arms.h"
#include "bench/environ.h"
#include "bench/result.h"
#include "bench/rng.h"
#include "lib/cli.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "tune/knob.h"

#define PAD_MAX	4096

extern char **environ;

static int arms_enter(void *ctx, bool changed, struct gt_err *err)
{
	struct bn_arms *a = ctx;
	struct tn_apply_opts opts = { .temporary = true };
	int r;

	if (!changed || !a->plan || tn_plan_changes(a->plan) == 0)
		return 0;
	r = tn_apply(a->fs, a->plan, &opts, NULL, err);
	if (r < 0) {
		if (err)
			err->exit_status = BN_EXIT_INVALID;
		return gt_fail_prefix(err, "cannot bring the host into the changed state");
	}
	a->applied = true;
	return 0;
}

static int arms_leave(void *ctx, bool changed, struct gt_err *err)
{
	struct bn_arms *a = ctx;
	int exit_status = 0, r;

	if (!a->applied)
		return 0;
	a->applied = false;
	r = tn_revert(a->fs, NULL, &exit_status, err);
	if (r < 0)
		return gt_fail_prefix(err, "cannot put the host's settings back (gputune recover can)");
	if (exit_status == TN_EXIT_DRIFT)
		return gt_fail_exit(
			err, BN_EXIT_INVALID, EBUSY,
			"someone else changed a setting while it was ours; it was left alone (gputune status)");
	return 0;
}

/* Variables that change how a launch runs, besides those that a treatment sets. */
static bool telling(const char *name)
{
	static const char *const stems[] = {"OMP_",      "GOMP_",   "KMP_",    "MKL_",           "OPENBLAS_",
					    "DNNL_",     "ONEDNN_", "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD",
					    "TCMALLOC_", "CUDA_",   "NCCL_",   "GPUBENCH_SIM"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(stems); i++)
		if (gt_starts_with(name, stems[i]))
			return true;
	return false;
}

static void set_env(json_t *settings, const char *pair)
{
	const char *eq = strchr(pair, '=');
	gt_autofree char *key = NULL;

	if (!eq)
		return;
	key = gt_xasprintf("env.%.*s", (int)(eq - pair), pair);
	json_object_set_new(settings, key, gt_json_str(eq + 1));
}

/* The CPUs that we may run on, and so would a launch; NULL if the kernel does not say. */
static char *affinity(void)
{
	gt_auto_set cpus = { 0 };
	cpu_set_t mask;

	CPU_ZERO(&mask);
	if (sched_getaffinity(0, sizeof(mask), &mask) < 0)
		return NULL;
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &mask))
			gt_set_add(&cpus, i);
	return gt_set_format(&cpus);
}

/* gputune's snapshot made flat, with the environment that the launches of this arm get. */
static json_t *arms_settings(void *ctx, bool changed)
{
	struct bn_arms *a = ctx;
	gt_auto_json *snap = tn_settings(a->fs, a->host);
	json_t *flat = json_object(), *tuners = json_object_get(snap, "tuners");
	gt_autofree char *cpus = affinity();
	gt_autofree char *names = json_dumps(tuners ? tuners : json_null(), JSON_ENCODE_ANY | JSON_COMPACT);

	json_object_update(flat, json_object_get(snap, "knobs"));
	json_object_set_new(flat, "tuners", gt_json_str(names));
	json_object_set_new(flat, "run.cpus", gt_json_str(cpus));
	for (char **e = environ; *e; e++)
		if (telling(*e))
			set_env(flat, *e);
	if (!changed)
		return flat;
	for (size_t i = 0; a->run && i < a->run->n_var; i++)
		if (a->run->var[i].status == TN_VAR_SET) {
			gt_autofree char *pair = gt_xasprintf("%s=%s", a->run->var[i].name, a->run->var[i].value);

			set_env(flat, pair);
		}
	if (a->run && gt_set_count(&a->run->cpus)) {
		gt_autofree char *theirs = gt_set_format(&a->run->cpus);

		json_object_set_new(flat, "run.cpus", json_string(theirs));
	}
	for (size_t i = 0; a->env && i < a->env->n; i++)
		set_env(flat, a->env->v[i]);
	return flat;
}

struct child {
	struct bn_arms *arms;
	bool changed;
	uint64_t salt;
};

/* In the launch's process, before it becomes gpubench again. */
static int enter_child(void *arg, struct gt_err *err)
{
	struct child *c = arg;
	char pad[PAD_MAX + 1];
	struct bn_rng rng;
	size_t len;
	int r = 0;

	gt_cli_restore_signals();
	/* The size of the environment moves the stack and with it alignment: let it differ from launch to launch. */
	bn_rng_seed(&rng, c->salt);
	len = (size_t)bn_rng_below(&rng, PAD_MAX);
	memset(pad, 'x', len);
	pad[len] = '\0';
	setenv("GPUBENCH_PAD", pad, 1);
	if (!c->changed)
		return 0;
	if (c->arms->run)
		r = tn_run_enter(c->arms->run, err);
	for (size_t i = 0; r >= 0 && c->arms->env && i < c->arms->env->n; i++) {
		const char *pair = c->arms->env->v[i], *eq = strchr(pair, '=');
		gt_autofree char *name = gt_xstrndup(pair, (size_t)(eq - pair));

		if (setenv(name, eq + 1, 1) < 0)
			r = gt_fail_errno(err, errno, "cannot set %s", name);
	}
	return r < 0 ? r : 0;
}

/* The last line of talk, without what a terminal might obey. */
static char *last_words(const char *errout, int status)
{
	gt_autofree char *copy = gt_xstrdup(errout ? errout : "");
	char *line = NULL, *save = NULL;

	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		line = l;
	if (!line)
		return status > 128 ? gt_xasprintf("killed by signal %d", status - 128)
				    : gt_xasprintf("exit status %d", status);
	for (char *p = line; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return gt_xasprintf("%.300s", gt_starts_with(line, "gpubench: ") ? line + 10 : line);
}

static json_t *failed(const struct gt_spawn *sp, const char *why)
{
	gt_autofree char *text = why ? gt_xstrdup(why) : last_words(sp->errout, sp->status);

	return json_pack("{s:o}", "failure", gt_json_str(text));
}

static json_t *launch_document(const struct gt_spawn *sp)
{
	gt_auto_json *doc = NULL;
	struct gt_err err = { 0 };

	if (sp->status != 0 && sp->status != BN_EXIT_WRONG)
		return failed(sp, NULL);
	if (gt_json_parse(sp->out, sp->out_len, "launch", &doc, &err) < 0 ||
	    gt_json_check_schema(doc, BN_LAUNCH_SCHEMA, "launch", &err) < 0)
		return failed(sp, err.msg);
	return json_incref(doc);
}

static int arms_launch(void *ctx, const char *workload, bool changed, uint64_t seed, uint64_t salt, json_t **ret,
		       struct gt_err *err)
{
	struct bn_arms *a = ctx;
	const struct bn_workload *w = bn_workload_find(workload);
	struct child c = { a, changed, salt };
	gt_autofree char *seed_text = gt_xasprintf("%llu", (unsigned long long)seed);
	gt_autofree char *salt_text = gt_xasprintf("%llu", (unsigned long long)salt);
	char *argv[] = { a->exe, "launch", (char *)workload, "--json", "--seed", seed_text, "--salt", salt_text,
			 a->data ? "--data" : NULL, (char *)a->data, NULL };
	struct gt_spawn sp = { .argv = argv, .timeout_s = 60 + 40 * w->launch_s, .max_output = 8u << 20,
			       .in_child = enter_child, .arg = &c, .cancel = &gt_interrupted };
	struct bn_environ before, after;
	json_t *doc;
	int r;

	bn_environ_read(a->fs, &before);
	r = gt_spawn(&sp, err);
	bn_environ_read(a->fs, &after);
	if (r == -ETIMEDOUT) {
		gt_err_clear(err);
		doc = failed(&sp, "did not end in time");
	} else if (r == -EINTR) { /* what this launch measured is lost; the session ends in order */
		gt_err_clear(err);
		doc = failed(&sp, "interrupted");
	} else if (r < 0) {
		gt_spawn_clear(&sp);
		return gt_fail_prefix(err, "%s", workload);
	} else {
		doc = launch_document(&sp);
	}
	json_object_set_new(doc, "wall_s", gt_json_real(sp.wall_s));
	json_object_set_new(doc, "env", bn_environ_json(&before, &after));
	gt_spawn_clear(&sp);
	*ret = doc;
	return 0;
}

static int arms_save(void *ctx, const json_t *doc, struct gt_err *err)
{
	struct bn_arms *a = ctx;
	gt_autofree char *text = NULL;

	if (!a->out || gt_streq(a->out, "-"))
		return 0;
	text = gt_json_text(doc);
	return gt_file_write(a->out, text, strlen(text), 0644, err);
}

static double arms_now_s(void *ctx)
{
	return gt_now_s();
}

void bn_arms_ops(struct bn_arms *arms, struct bn_ops *ret)
{
	*ret = (struct bn_ops){ .ctx = arms, .enter = arms_enter, .leave = arms_leave, .launch = arms_launch,
				.settings = arms_settings, .save = arms_save, .now_s = arms_now_s };
}

static size_t declare_plan(const struct tn_plan *plan, json_t *doc)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->n_item; i++) {
		const struct tn_item *item = &plan->item[i];
		gt_autofree char *label = NULL;

		if (item->status != TN_CHANGE)
			continue;
		label = tn_knob_label(item->knob, item->instance);
		bn_declare(doc, label, item->current, item->wanted, tn_effect_name(item->knob->takes_effect));
		n++;
	}
	return n;
}

static size_t declare_run(const struct tn_run *run, json_t *doc)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];
		gt_autofree char *id = gt_xasprintf("env.%s", v->name);

		if (v->status != TN_VAR_SET)
			continue;
		bn_declare(doc, id, getenv(v->name), v->value, "environment of the run");
		n++;
	}
	if (gt_set_count(&run->cpus)) {
		gt_autofree char *cpus = gt_set_format(&run->cpus), *was = affinity();

		if (!gt_streq(cpus, was)) {
			bn_declare(doc, "run.cpus", was, cpus, "affinity of the run");
			n++;
		}
	}
	if (gt_set_count(&run->mem_nodes)) {
		gt_autofree char *nodes = gt_set_format(&run->mem_nodes);

		bn_declare(doc, "run.mem_nodes", NULL, nodes, "memory policy of the run");
		n++;
	}
	return n;
}

size_t bn_arms_declare(const struct bn_arms *a, json_t *doc)
{
	size_t n = 0;

	if (a->plan)
		n += declare_plan(a->plan, doc);
	if (a->run)
		n += declare_run(a->run, doc);
	for (size_t i = 0; a->env && i < a->env->n; i++) {
		const char *pair = a->env->v[i], *eq = strchr(pair, '=');
		gt_autofree char *name = gt_xstrndup(pair, (size_t)(eq - pair));
		gt_autofree char *id = gt_xasprintf("env.%s", name);

		bn_declare(doc, id, getenv(name), eq + 1, "environment of the run");
		n++;
	}
	return n;
}
