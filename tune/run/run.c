/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares the environment of a command, and starts the command in this process. */
#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include "lib/log.h"
#include "probe/check/distro.h"
#include "probe/host/visible.h"
#include "tune/launch/launcher.h"
#include "tune/launch/rank.h"
#include "tune/launch/rank_library.h"
#include "tune/preload/rank_variables.h"
#include "tune/profiles/select.h"
#include "tune/run/rank_plan.h"
#include "tune/run/run.h"
#include "tune/launch/settings.h"
#include "tune/launch/wrapper.h"
#include "tune/model/tunable.h"
#include "tune/profiles/profile.h"

#ifndef MPOL_PREFERRED_MANY
#define MPOL_PREFERRED_MANY 5 /* since Linux 5.15 */
#endif

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static void leave_out(struct tn_run *r, const char *why)
{
	tn_run_skip(r, r->setting->id, "%s", why);
}

/* --gpu is more than a setting: it selects the CPUs next to those GPUs. Variables of the environment must not select
 * other GPUs. */
static void name_gpus(const struct tn_launch *c, struct tn_run *r)
{
	const char *user = tn_run_user(c, "CUDA_VISIBLE_DEVICES"), *order = tn_run_value(c, "CUDA_DEVICE_ORDER");

	if (!c->gpus && user && pr_usable_gpus(c->host))
		tn_run_keep(r, "CUDA_VISIBLE_DEVICES", user, "set by the user");
	if (!c->gpus)
		return;
	tn_run_replace(r, "CUDA_VISIBLE_DEVICES", c->gpus, "set by --gpu%s%.60s", user ? ", instead of the user's " : "",
		       user ? user : "");
	if (*c->gpus >= '0' && *c->gpus <= '9' && !pr_one_model(c->host) && !gt_streq(order, "PCI_BUS_ID"))
		tn_run_replace(r, "CUDA_DEVICE_ORDER", "PCI_BUS_ID", "the numbers of --gpu are nvidia-smi's%s%.20s",
			       order ? ", instead of the user's " : "", order ? order : "");
}

static void prepare(struct tn_launch *c, const struct tn_profile *profile, const struct tn_run_opts *o, struct tn_run *r)
{
	const struct tn_launch_setting *s = r->setting;
	const char *asked = tn_profile_get(profile, s->id);
	const char *option = s == &tn_launch_allocator ? o->allocator : s == &tn_launch_omp_runtime ? o->runtime : NULL;
	bool named = o->only && gt_strv_has(o->only, s->id), by_option = option != NULL || (s == &tn_launch_loader && o->loader);

	if (!tn_knob_selected(s->id, o->only) && !by_option)
		return;
	if (o->image && (s == &tn_launch_allocator || s == &tn_launch_omp_runtime)) {
		leave_out(r, "it would preload a library of this host, which the image may lack");
		return;
	}
	if (o->skip && o->skip->n && tn_knob_selected(s->id, o->skip)) {
		leave_out(r, "excluded by --skip");
		return;
	}
	if (!named && !by_option && gt_streq(asked, "off")) {
		leave_out(r, "excluded by the profile");
		return;
	}
	if (option)
		asked = strcmp(option, "auto") ? option : "on";
	/* selecting a family does not enable its opt-in settings */
	c->chosen = named || by_option || (asked && strcmp(asked, "off"));
	c->asked = asked && strcmp(asked, "on") && strcmp(asked, "off") ? asked : NULL;
	s->prepare(c, r);
}

static void count_processes(const struct tn_launch *c, struct tn_run *r)
{
	struct tn_processes p = tn_processes_of(c);

	r->processes_kind = p.kind;
	r->processes = p.n > 0 ? (unsigned)p.n : 0;
	r->processes_reason = tn_processes_why(c, &p);
}

int tn_run_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_run_opts *opts, struct tn_run **ret,
		struct gt_err *err)
{
	static const struct tn_run_opts defaults = { 0 };
	const struct tn_run_opts *o = opts ? opts : &defaults;
	gt_auto(pr_host) *own = NULL;
	gt_auto(tn_profile) *profile = NULL;
	__attribute__((cleanup(tn_command_clear))) struct tn_command command;
	struct tn_launch c = { .fs = fs, .program = o->program, .gpus = o->gpus, .workers = o->workers,
			       .rank_library = o->rank_library, .loader = o->loader, .loader_force = o->loader_force };
	struct tn_rank rank = { o->rank, o->ranks, true, NULL };
	struct tn_run *r;
	int e = host ? 0 : pr_host_discover(fs, &(struct pr_discover_opts){ .launch = true }, &own, err);

	tn_command_find(o->argv, o->envp ? o->envp : environ, &command);
	c.argv = command.argv;
	c.envp = command.envp;
	c.host = host ? host : own;
	c.rank = o->ranks ? &rank : NULL;
	if (e >= 0)
		e = tn_knob_check_list(o->only, "--only", err);
	if (e >= 0)
		e = tn_knob_check_list(o->skip, "--skip", err);
	if (e >= 0)
		e = tn_profile_load(fs, c.host, o->profile, &profile, err);
	if (e < 0)
		return e;
	r = gt_xcalloc(1, sizeof(*r));
	r->profile = gt_xstrdup(profile->name);
	count_processes(&c, r);
	for (size_t i = 0; tn_launch_settings[i]; i++) {
		r->setting = tn_launch_settings[i];
		if (r->setting == &tn_launch_cuda_order)
			name_gpus(&c, r);
		prepare(&c, profile, o, r);
	}
	if (r->for_descendants) {
		r->rank_program = tn_own_program(fs);
		r->rank_plan = tn_rank_plan(r, o);
	}
	for (size_t i = 0; i < r->n_var; i++) {
		gt_autofree char *reason = r->var[i].reason;

		r->var[i].reason = pr_for_distro(c.host, reason, "\t", "");
	}
	*ret = r;
	return 0;
}

json_t *tn_run_to_json(const struct tn_run *r)
{
	static const char *const kind[] = { "one", "launcher", "unknown" };
	gt_autofree char *cpus = gt_set_format(&r->cpus), *nodes = gt_set_format(&r->mem_nodes);
	json_t *vars = json_array();

	for (size_t i = 0; i < r->n_var; i++) {
		const struct tn_var *v = &r->var[i];

		json_array_append_new(vars, json_pack("{s:s, s:s, s:s, s:o, s:o}", "knob", v->setting->id, "name", v->name,
						      "status", tn_var_status_name(v->status), "value", gt_json_str(v->value),
						      "reason", gt_json_str(v->reason)));
	}
	return json_pack("{s:s, s:s, s:{s:s, s:o, s:s}, s:o, s:{s:s, s:o}, s:{s:s, s:s, s:o}, s:{s:o, s:o}}", "schema",
			 TN_RUN_SCHEMA, "profile", r->profile, "processes", "kind", kind[r->processes_kind], "count",
			 r->processes ? json_integer(r->processes) : json_null(), "reason", r->processes_reason, "environment",
			 vars, "cpus", "list", cpus, "reason", gt_json_str(r->cpus_reason), "memory", "policy",
			 *nodes ? "preferred" : r->mem_kept ? "kept" : "default", "nodes", nodes,
			 "reason", gt_json_str(r->mem_reason), "files", "limit",
			 r->files ? json_integer(r->files) : json_null(), "reason", gt_json_str(r->files_reason));
}

/* ---- start of the command ---------------------------------------------------------------------------------------- */

static void enter_cpus(const struct gt_set *cpus)
{
	size_t size = CPU_ALLOC_SIZE(GT_SET_MAX);
	cpu_set_t *mask;

	if (!gt_set_count(cpus))
		return;
	mask = gt_xcalloc(1, size);
	gt_set_for_each(cpu, cpus)
		CPU_SET_S((size_t)cpu, size, mask);
	if (sched_setaffinity(0, size, mask) < 0) {
		gt_autofree char *list = gt_set_format(cpus);

		gt_warn("cannot bind to CPUs %s (%s): running on all allowed CPUs", list, strerror(errno));
	}
	free(mask);
}

static void enter_nodes(const struct gt_set *nodes)
{
	unsigned long mask[GT_SET_MAX / 64] = { 0 };
	unsigned n = gt_set_count(nodes);
	long r;

	if (!n)
		return;
	gt_set_for_each(node, nodes)
		mask[node / 64] |= 1ul << node % 64;
	r = syscall(SYS_set_mempolicy, n > 1 ? MPOL_PREFERRED_MANY : MPOL_PREFERRED, mask, 1024ul);
	if (r < 0)
		gt_warn("the kernel refuses a memory policy here (%s): memory stays where it is first touched", strerror(errno));
}

/* Only raises the limit, and only up to the hard limit, which needs no privilege. */
static void enter_files(int64_t files)
{
	struct rlimit l;

	if (!files || getrlimit(RLIMIT_NOFILE, &l) < 0 || (rlim_t)files <= l.rlim_cur)
		return;
	l.rlim_cur = GT_MIN((rlim_t)files, l.rlim_max);
	if (setrlimit(RLIMIT_NOFILE, &l) < 0)
		gt_warn("cannot raise the limit of open files to %ld (%s)", (long)files, strerror(errno));
}

/* Sets the variables of the library that a surrounding gputune run may have preloaded, too. */
static int enter_plan(const struct tn_run *r)
{
	gt_autofree char *rank = tn_rank_identity(environ);

	if (rank && setenv(TN_RANK_DONE, rank, 1) < 0)
		return -1;
	if (!r->rank_program || !r->rank_plan)
		return 0;
	return setenv(TN_RANK_PROGRAM, r->rank_program, 1) < 0 ? -1 : setenv(TN_RANK_PLAN, r->rank_plan, 1);
}

int tn_run_enter(const struct tn_run *r, struct gt_err *err)
{
	for (size_t i = 0; i < r->n_var; i++)
		if (r->var[i].status == TN_VAR_SET && setenv(r->var[i].name, r->var[i].value, 1) < 0)
			return gt_fail_errno(err, errno, "cannot set %s", r->var[i].name);
	if (enter_plan(r) < 0)
		return gt_fail_errno(err, errno, "cannot set " TN_RANK_PLAN);
	enter_cpus(&r->cpus);
	enter_nodes(&r->mem_nodes);
	enter_files(r->files);
	return 0;
}
