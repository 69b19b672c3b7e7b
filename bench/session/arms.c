/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include "bench/session/arms.h"
#include "bench/result/thinned.h"
#include "bench/session/environ.h"
#include "bench/session/restore_watchdog.h"
#include "bench/result/result.h"
#include "bench/session/launch_env.h"
#include "bench/stats/rng.h"
#include "lib/cli.h"
#include "lib/file.h"
#include "lib/log.h"
#include "lib/spawn.h"
#include "lib/text.h"
#include "probe/host/visible.h"
#include "tune/knob/list.h"
#include "tune/run/run.h"
#include "tune/launch/settings.h"
#include "tune/model/tunable.h"

#define PAD_MAX	4096

extern char **environ;

/* Returns whether a factor, given by kind and index, is on in this arm. */
static bool is_on(const struct bn_arms *a, bool changed, enum bn_factor_kind kind, size_t index)
{
	for (size_t i = 0; i < a->n_factor; i++)
		if (a->factor[i].kind == kind && a->factor[i].index == index)
			return a->on[changed][i];
	return false;
}

/* Returns the kernel arguments of this arm, separated by blanks. */
static char *boot_args(const struct bn_arms *a, bool changed)
{
	gt_auto_buf args = { 0 };

	for (size_t i = 0; i < a->n_factor; i++)
		if (a->factor[i].kind == BN_FACTOR_BOOT && a->on[changed][i])
			gt_buf_printf(&args, "%s%s", args.len ? " " : "", a->kernel_args->v[a->factor[i].index]);
	return args.len ? gt_buf_take(&args) : gt_xstrdup("");
}

static int enter_boot(const struct bn_arms *a, bool changed, struct gt_err *err)
{
	gt_autofree char *args = boot_args(a, changed);

	return bn_boots_enter(a->boots, a->block, a->nth, args, err);
}

static int arms_enter(void *ctx, bool changed, struct gt_err *err)
{
	struct bn_arms *a = ctx;
	struct tn_apply_opts opts = { .temporary = true };
	gt_autofree struct tn_item *items = NULL;
	struct tn_plan part;
	int r;

	r = a->boots ? enter_boot(a, changed, err) : 0;
	if (r < 0 || (!a->plan && !a->lock))
		return r;
	part = a->plan ? *a->plan : *a->lock; /* this plan borrows its items from the other plans */
	part.n_item = 0;
	part.item = items = gt_xcalloc((a->plan ? a->plan->n_item : 0) + (a->lock ? a->lock->n_item : 0) + 1, sizeof(*items));
	for (size_t i = 0; a->plan && i < a->plan->n_item; i++)
		if (is_on(a, changed, BN_FACTOR_ITEM, i))
			items[part.n_item++] = a->plan->item[i];
	for (size_t i = 0; a->lock && i < a->lock->n_item; i++)
		if (a->lock->item[i].status == TN_CHANGE)
			items[part.n_item++] = a->lock->item[i];
	if (!part.n_item)
		return 0;
	r = bn_restore_watchdog_start(a->fs, err);
	if (r < 0)
		return r;
	r = tn_apply(a->fs, &part, &opts, NULL, err);
	if (r < 0) {
		if (err)
			err->exit_status = BN_EXIT_INVALID;
		return gt_fail_prefix(err, "cannot apply the changes");
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
	if (r < 0) {
		if (err) /* gputune's exit status has another meaning in gpubench ("results wrong") */
			err->exit_status = BN_EXIT_INVALID;
		return gt_fail_prefix(err, "cannot restore the host's settings (run gputune recover)");
	}
	if (exit_status == TN_EXIT_DRIFT)
		return gt_fail_exit(
			err, BN_EXIT_INVALID, EBUSY,
			"another program changed a setting during the session; that value was kept (see gputune status)");
	return 0;
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

/* Returns the CPUs that this process and its launches may use, or NULL if the kernel does not report them. */
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

/* Returns the value of NAME on a command line: "on" for a bare word, NULL if NAME is absent. The last occurrence
 * counts. */
static char *kernel_arg(const char *cmdline, const char *name)
{
	char *found = NULL;
	size_t len = strlen(name);

	gt_each_word(w, cmdline, " ") {
		if (strncmp(w, name, len) != 0 || (w[len] && w[len] != '='))
			continue;
		free(found);
		found = gt_xstrdup(w[len] ? w + len + 1 : "on");
	}
	return found;
}

/* Records the values of the factors' kernel arguments on the command line of the running kernel. */
static void boot_settings(const struct bn_arms *a, json_t *flat)
{
	gt_autofree char *line = NULL;

	if (!a->boots || gt_fs_read_line(a->fs, "/proc/cmdline", &line) < 0)
		return;
	for (size_t i = 0; i < a->n_factor; i++) {
		const struct bn_factor *f = &a->factor[i];
		gt_autofree char *now = f->kind == BN_FACTOR_BOOT ? kernel_arg(line, f->id + strlen("boot.")) : NULL;

		if (now)
			json_object_set_new(flat, f->id, gt_json_str(now));
	}
}

#define AS_DESIGNED "as designed" /* value of a setting that differs from block to block */

/* The kernel sets one of a pair of settings, such as vm.dirty_bytes and vm.dirty_ratio, to zero when the other is
 * written. This is part of the change, so the counterpart is not compared. If another program writes the counterpart,
 * the changed setting itself shows it. */
static void drop_counterparts(const struct bn_arms *a, json_t *flat)
{
	static const char proc_sys[] = "/proc/sys/";

	for (size_t i = 0; i < a->n_factor; i++) {
		const struct bn_factor *f = &a->factor[i];
		const char *path = f->kind == BN_FACTOR_ITEM ? a->plan->item[f->index].pair_path : NULL;
		gt_autofree char *key =
			path && gt_starts_with(path, proc_sys) ? gt_xstrdup(path + strlen(proc_sys)) : NULL;
		bool declared = false;

		for (char *p = key; p && *p; p++)
			*p = *p == '/' ? '.' : *p;
		for (size_t k = 0; k < a->n_factor; k++)
			declared |= gt_streq(a->factor[k].id, key);
		if (key && !declared)
			json_object_del(flat, key);
	}
}

/* The kernel resets some settings when another one changes, such as the energy preference when the governor changes.
 * Such a setting is not compared, unless it is itself a factor of these arms. In a design it is recorded as set by the
 * design. */
static void drop_side_effects(const struct bn_arms *a, bool changed, json_t *flat)
{
	for (size_t i = 0; i < a->n_factor; i++) {
		const struct bn_factor *f = &a->factor[i];
		const struct tn_item *item = f->kind == BN_FACTOR_ITEM ? &a->plan->item[f->index] : NULL;
		gt_autofree char *key = item ? tn_tunable_side_label(item->knob, item->instance) : NULL;
		bool declared = false;

		for (size_t k = 0; key && k < a->n_factor; k++)
			declared |= gt_streq(a->factor[k].id, key) && (a->design || a->on[0][k] != a->on[1][k]);
		if (key && !declared)
			json_object_del(flat, key);
		else if (key && a->design && a->on[changed][i])
			json_object_set_new(flat, key, json_string(AS_DESIGNED));
	}
}

/* Returns gputune's snapshot as one flat object, plus the environment of the launches of this arm. */
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
		if (bn_changes_launch(*e))
			set_env(flat, *e);
	for (size_t i = 0; i < a->n_factor; i++) {
		const struct bn_factor *f = &a->factor[i];

		if (!a->on[changed][i])
			continue;
		if (f->kind == BN_FACTOR_VAR || f->kind == BN_FACTOR_ENV || f->kind == BN_FACTOR_CPUS)
			json_object_set_new(flat, f->id, gt_json_str(f->to));
	}
	boot_settings(a, flat);
	drop_counterparts(a, flat);
	drop_side_effects(a, changed, flat);
	for (size_t i = 0; a->design && i < a->n_factor; i++) { /* not compared, because the design changes them */
		const struct bn_factor *f = &a->factor[i];
		const char *now = gt_json_get_str(flat, f->id, NULL);

		if (gt_streq(now, a->on[changed][i] ? f->to : f->from))
			json_object_set_new(flat, f->id, json_string(AS_DESIGNED));
	}
	return flat;
}

struct child {
	struct bn_arms *arms;
	bool changed;
	uint64_t salt;
};

/* Applies the part of the run's environment and placement that is on in this arm. */
static int enter_run(const struct bn_arms *a, bool changed, struct gt_err *err)
{
	struct tn_run part = *a->run; /* a view */
	gt_autofree struct tn_var *var = gt_xcalloc(part.n_var + 1, sizeof(*var));

	for (size_t i = 0; i < part.n_var; i++) {
		var[i] = a->run->var[i];
		if (var[i].status == TN_VAR_SET && !is_on(a, changed, BN_FACTOR_VAR, i))
			var[i].status = TN_VAR_SKIPPED;
	}
	part.var = var;
	if (!is_on(a, changed, BN_FACTOR_CPUS, 0))
		part.cpus = (struct gt_set){ 0 };
	if (!is_on(a, changed, BN_FACTOR_NODES, 0))
		part.mem_nodes = (struct gt_set){ 0 };
	return tn_run_enter(&part, err);
}

static int set_user_env(const struct bn_arms *a, bool changed, struct gt_err *err)
{
	for (size_t i = 0; a->env && i < a->env->n; i++) {
		const char *pair = a->env->v[i], *eq = strchr(pair, '=');
		gt_autofree char *name = gt_xstrndup(pair, (size_t)(eq - pair));

		if (is_on(a, changed, BN_FACTOR_ENV, i) && setenv(name, eq + 1, 1) < 0)
			return gt_fail_errno(err, errno, "cannot set %s", name);
	}
	return 0;
}

/* Runs in the child process of a launch, before it executes gpubench or the user's command. */
static int enter_child(void *arg, struct gt_err *err)
{
	struct child *c = arg;
	char pad[PAD_MAX + 1];
	struct bn_rng rng;
	size_t len;
	int r;

	/* The size of the environment shifts the stack and changes alignment, so it is randomised for each launch. */
	bn_rng_seed(&rng, c->salt);
	len = (size_t)bn_rng_below(&rng, PAD_MAX);
	memset(pad, 'x', len);
	pad[len] = '\0';
	setenv("GPUBENCH_PAD", pad, 1);
	r = c->arms->run ? enter_run(c->arms, c->changed, err) : 0;
	return r < 0 ? r : set_user_env(c->arms, c->changed, err);
}

/* Returns the last line of a program's stderr with control characters replaced, or its exit status as text. */
static char *last_stderr_line(const char *errout, int status)
{
	gt_autofree char *copy = gt_xstrdup(errout ? errout : "");
	char *line = NULL;

	gt_each_line(l, copy)
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
	gt_autofree char *text = why ? gt_xstrdup(why) : last_stderr_line(sp->errout, sp->status);

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

/* Returns the document of a finished process, or one with "failure". */
static json_t *launch_result(struct bn_arms *a, const struct gt_spawn *sp, bool is_command, int r)
{
	if (r == -ETIMEDOUT)
		return failed(sp, "did not end in time");
	if (r == -EINTR) /* the measurement of this launch is lost; the session ends normally */
		return failed(sp, "interrupted");
	if (!is_command)
		return launch_document(sp);
	return sp->status ? failed(sp, NULL) : bn_command_document(a->command, sp);
}

/* Returns the value of a variable in a launch of this arm: from --env, else set by gputune, else from the environment
 * of gpubench. */
static const char *variable(const struct bn_arms *a, bool changed, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; a->env && i < a->env->n; i++)
		if (is_on(a, changed, BN_FACTOR_ENV, i) && !strncmp(a->env->v[i], name, len) && a->env->v[i][len] == '=')
			return a->env->v[i] + len + 1;
	for (size_t i = 0; a->run && i < a->run->n_var; i++) {
		const struct tn_var *v = &a->run->var[i];

		if (is_on(a, changed, BN_FACTOR_VAR, i) && v->status == TN_VAR_SET && gt_streq(v->name, name))
			return v->value;
	}
	return getenv(name);
}

/* Lists the PCI addresses of the GPUs that a launch of this arm can use. Returns false if they cannot be determined;
 * then all GPUs count. */
static bool visible_gpus(const struct bn_arms *a, bool changed, struct gt_strv *ret)
{
	const char *list = variable(a, changed, "CUDA_VISIBLE_DEVICES"), *order = variable(a, changed, "CUDA_DEVICE_ORDER");
	struct gt_visible visible;

	if (!list || !pr_usable_gpus(a->host) || (!gt_streq(order, "PCI_BUS_ID") && !pr_one_model(a->host)))
		return false;
	pr_visible(a->fs, a->host, list, &visible);
	for (size_t i = 0; i < visible.n; i++) {
		const struct pr_gpu *gpu = visible.v[i].gpu < 0 ? NULL : pr_usable_gpu(a->host, (size_t)visible.v[i].gpu);

		if (!gpu) {
			gt_strv_clear(ret);
			return false;
		}
		gt_strv_add(ret, gpu->pci->address);
	}
	return true;
}

/* Adds the GPU readings to the launch's document. */
static void record_gpus(struct bn_arms *a, bool changed, json_t *answer, json_t *doc)
{
	struct gt_strv visible = { 0 };
	bool known = answer && visible_gpus(a, changed, &visible);

	bn_gpu_monitor_store(a->gpu_monitor, answer, known ? &visible : NULL, doc);
	gt_strv_clear(&visible);
}

/* Returns the number of steps of a launch of a command: the values that its metric has, if that is not the wall time. */
static size_t steps_of(const struct bn_arms *a, bool is_command, json_t *metrics)
{
	size_t n = json_array_size(json_object_get(json_array_get(metrics, 0), "samples"));

	return is_command && a->command->source != BN_WALL ? n : 0;
}

/*
 * Adds the energy of the GPUs as a metric: joules of one launch, whose work is the same in both arms. If the command
 * prints a value for each step, it is joules per step, because a job with a time limit has more steps in the faster arm.
 */
static void add_energy(const struct bn_arms *a, const char *workload, bool is_command, json_t *doc)
{
	double joules = gt_json_get_real(json_object_get(doc, "env"), "gpu_energy_j", NAN);
	json_t *metrics = json_object_get(doc, "metrics");
	size_t steps = steps_of(a, is_command, metrics);

	if (!isfinite(joules) || !metrics)
		return;
	json_array_append_new(metrics, json_pack("{s:o, s:s, s:s, s:s, s:f, s:b, s:i, s:b, s:[f]}", "id",
						 json_sprintf("%s.energy", workload), "unit", steps ? "J/step" : "J",
						 "direction", "lower", "role",
						 bn_role_name[BN_EXPLORE], "margin", .01, "tail", 0, "warmup", 0, "warmup_auto", 0,
						 "samples", steps ? joules / (double)steps : joules));
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
	bool is_command = !w->run;
	struct gt_spawn sp = { .argv = is_command ? a->command->argv : argv, .in_child = enter_child, .arg = &c,
			       .timeout_s = is_command ? a->command->timeout_s : 60 + 40 * w->launch_s,
			       .max_output = is_command ? BN_COMMAND_OUTPUT_MAX : 8u << 20, .cancel = &gt_interrupted };
	struct bn_environ before, after;
	gt_autofree char *boot = NULL;
	json_t *doc, *readings;
	int r;

	if (is_command)
		bn_command_begin(a->command);
	if (is_command || w->gpu)
		bn_gpu_monitor_begin(a->gpu_monitor);
	bn_environ_read(a->fs, &before);
	r = gt_spawn(&sp, err);
	bn_environ_read(a->fs, &after);
	readings = bn_gpu_monitor_end(a->gpu_monitor);
	if (r < 0 && r != -ETIMEDOUT && r != -EINTR) {
		gt_spawn_clear(&sp);
		json_decref(readings);
		if (is_command && err)
			err->exit_status = GT_EXIT_USAGE;
		return gt_fail_prefix(err, "%s", workload);
	}
	if (r < 0)
		gt_err_clear(err);
	doc = launch_result(a, &sp, is_command, r);
	json_object_set_new(doc, "wall_s", gt_json_real(sp.wall_s));
	json_object_set_new(doc, "env", bn_environ_json(&before, &after));
	record_gpus(a, changed, readings, doc);
	add_energy(a, workload, is_command, doc);
	if (a->boots && gt_fs_read_line(a->fs, "/proc/sys/kernel/random/boot_id", &boot) == 0)
		json_object_set_new(json_object_get(doc, "env"), "boot_id", gt_json_str(boot));
	gt_spawn_clear(&sp);
	*ret = doc;
	return 0;
}

static int arms_save(void *ctx, json_t *doc, struct gt_err *err)
{
	struct bn_arms *a = ctx;
	int r = 0;

	if (!a->out || gt_streq(a->out, "-"))
		return 0;
	r = bn_thinned_write(a->out, a->session_doc ? a->session_doc : doc, err);
	if (r < 0 && r != -E2BIG && a->saved)
		gt_fail_suffix(err, "; the samples so far are saved: free some space, then continue with: gpubench run --resume %s",
			       a->out);
	a->saved |= r == 0;
	return r;
}

static double arms_now_s(void *ctx)
{
	return gt_now_s();
}

static double arms_suspended_s(void *ctx)
{
	return gt_suspended_s();
}

static void arms_block(void *ctx, int64_t block, int nth)
{
	struct bn_arms *a = ctx;

	a->block = block;
	a->nth = nth;
	if (a->next_block)
		a->next_block(a, block);
}

void bn_arms_ops(struct bn_arms *arms, struct bn_ops *ret)
{
	*ret = (struct bn_ops){ .ctx = arms, .block = arms_block, .enter = arms_enter, .leave = arms_leave,
				.launch = arms_launch, .settings = arms_settings, .save = arms_save,
				.now_s = arms_now_s, .suspended_s = arms_suspended_s };
}

static struct bn_factor *add_factor(struct bn_arms *a, enum bn_factor_kind kind, size_t index, const char *id, const char *from,
				    const char *to, const char *when)
{
	a->factor = gt_xrealloc(a->factor, (a->n_factor + 1) * sizeof(*a->factor));
	a->factor[a->n_factor] = (struct bn_factor){ .kind = kind, .index = index, .id = gt_xstrdup(id),
						     .from = from ? gt_xstrdup(from) : NULL, .to = to ? gt_xstrdup(to) : NULL,
						     .when = when };
	return &a->factor[a->n_factor++];
}

static void plan_factors(struct bn_arms *a)
{
	for (size_t i = 0; a->plan && i < a->plan->n_item; i++) {
		const struct tn_item *item = &a->plan->item[i];
		const struct tn_tunable *k = item->knob;
		gt_autofree char *label = NULL;
		struct bn_factor *f;

		if (item->status != TN_CHANGE)
			continue;
		label = tn_tunable_label(k, item->instance);
		f = add_factor(a, BN_FACTOR_ITEM, i, label, item->current, item->wanted, tn_effect_name(k->takes_effect));
		f->knob = k->id;
		f->mechanism = *k->mechanism ? k->mechanism : NULL;
		f->unmoved = k->unmoved;
	}
}

static void run_factors(struct bn_arms *a)
{
	const struct tn_run *run = a->run;

	for (size_t i = 0; run && i < run->n_var; i++) {
		const struct tn_var *v = &run->var[i];
		gt_autofree char *id = gt_xasprintf("env.%s", v->name);
		struct bn_factor *f;

		if (v->status != TN_VAR_SET)
			continue;
		f = add_factor(a, BN_FACTOR_VAR, i, id, getenv(v->name), v->value, "environment of the run");
		f->knob = v->setting->id;
		f->mechanism = v->setting->mechanism;
		f->unmoved = v->setting->unmoved;
	}
	if (run && gt_set_count(&run->cpus)) {
		gt_autofree char *cpus = gt_set_format(&run->cpus), *was = affinity();

		if (!gt_streq(cpus, was))
			add_factor(a, BN_FACTOR_CPUS, 0, "run.cpus", was, cpus, "affinity of the run");
	}
	if (run && gt_set_count(&run->mem_nodes)) {
		gt_autofree char *nodes = gt_set_format(&run->mem_nodes);

		add_factor(a, BN_FACTOR_NODES, 0, "run.mem_nodes", NULL, nodes, "memory policy of the run");
	}
}

static void boot_factors(struct bn_arms *a)
{
	gt_autofree char *line = NULL, *base = NULL;

	if (!a->kernel_args || !a->kernel_args->n || gt_fs_read_line(a->fs, "/proc/cmdline", &line) < 0)
		return;
	base = bn_boots_base(line, NULL);
	for (size_t i = 0; i < a->kernel_args->n; i++) {
		const char *arg = a->kernel_args->v[i], *eq = strchr(arg, '=');
		gt_autofree char *name = gt_xstrndup(arg, eq ? (size_t)(eq - arg) : strlen(arg));
		gt_autofree char *id = gt_xasprintf("boot.%s", name), *was = kernel_arg(base, name);

		add_factor(a, BN_FACTOR_BOOT, i, id, was, eq ? eq + 1 : "on", "boot");
	}
}

void bn_arms_init(struct bn_arms *a)
{
	plan_factors(a);
	run_factors(a);
	for (size_t i = 0; a->env && i < a->env->n; i++) {
		const char *pair = a->env->v[i], *eq = strchr(pair, '=');
		gt_autofree char *name = gt_xstrndup(pair, (size_t)(eq - pair));
		gt_autofree char *id = gt_xasprintf("env.%s", name);

		add_factor(a, BN_FACTOR_ENV, i, id, getenv(name), eq + 1, "environment of the run");
	}
	boot_factors(a);
	a->on[0] = gt_xcalloc(a->n_factor + 1, sizeof(bool));
	a->gpu_monitor = gt_xcalloc(1, sizeof(*a->gpu_monitor));
	*a->gpu_monitor = (struct bn_gpu_monitor)BN_GPU_MONITOR_INIT;
	a->on[1] = gt_xcalloc(a->n_factor + 1, sizeof(bool));
	memset(a->on[1], true, a->n_factor * sizeof(bool));
}

void bn_arms_clear(struct bn_arms *a)
{
	for (size_t i = 0; i < a->n_factor; i++) {
		free(a->factor[i].id);
		free(a->factor[i].from);
		free(a->factor[i].to);
	}
	free(a->factor);
	free(a->on[0]);
	free(a->on[1]);
	if (a->gpu_monitor)
		bn_gpu_monitor_close(a->gpu_monitor);
	free(a->gpu_monitor);
	a->gpu_monitor = NULL;
	a->factor = NULL;
	a->n_factor = 0;
	a->on[0] = a->on[1] = NULL;
}

size_t bn_arms_declare(const struct bn_arms *a, json_t *doc)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_factor; i++) {
		const struct bn_factor *f = &a->factor[i];

		if (a->on[0][i] == a->on[1][i])
			continue;
		bn_declare(doc, f->id, a->on[0][i] ? f->to : f->from, a->on[0][i] ? f->from : f->to, f->when);
		n++;
	}
	return n;
}
