/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the plan: compares the desired value of each tunable with the current one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "sysctl/sysctl.h"
#include "tune/boot/predict.h"
#include "tune/knob/list.h"
#include "tune/profiles/profile.h"
#include "tune/model/namespaced.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"
#include "tune/plan/plan.h"
#include "tune/profiles/select.h"

struct make {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const struct tn_plan_opts *opts;
	const struct tn_profile *profile;
	struct tn_facts facts;
	struct tn_boot boot;
	struct tn_plan *plan;
};

void tn_item_clear(struct tn_item *i)
{
	free(i->instance);
	free(i->path);
	free(i->current);
	free(i->wanted);
	free(i->pair_path);
	free(i->pair_current);
	free(i->reason);
	free(i->remedy);
	free(i->conflict);
	free(i->at_boot);
	free(i->at_boot_by);
	free(i->at_boot_may);
}

void tn_plan_free(struct tn_plan *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_item; i++)
		tn_item_clear(&p->item[i]);
	free(p->item);
	free(p->profile);
	free(p->host);
	free(p->boot_id);
	free(p->kernel);
	json_decref(p->outside);
	free(p);
}

struct tn_item *tn_plan_add(struct tn_plan *p, const struct tn_tunable *k, const char *instance)
{
	struct tn_item *i;

	p->item = gt_xrealloc(p->item, (p->n_item + 1) * sizeof(*p->item));
	i = &p->item[p->n_item++];
	*i = (struct tn_item){ .knob = k, .instance = instance ? gt_xstrdup(instance) : NULL };
	i->path = tn_tunable_path(k, instance);
	i->pair_path = tn_tunable_pair_path(k);
	return i;
}

static void set_status(struct tn_item *i, enum tn_status status, const char *reason)
{
	char *copy = gt_xstrdup(reason); /* reason may point to i->reason */

	free(i->reason);
	i->reason = copy;
	i->status = status;
}

bool tn_tunable_good(const struct tn_tunable *k, const char *want, const char *have, const char *pair)
{
	if (tn_value_equal(have, want))
		return true;
	/* the zero of a pair only means that the other one is in force */
	if (pair && tn_value_equal(have, "0") && strcmp(pair, "0"))
		return false;
	return tn_value_reaches(k->op, have, want);
}

bool tn_item_good(const struct tn_item *i, const char *current)
{
	return tn_tunable_good(i->knob, i->wanted, current, i->pair_current);
}

bool tn_item_left_out(const struct tn_item *i)
{
	return i->status == TN_BLOCKED && i->chosen && (!i->current || tn_is_nvml_path(i->path));
}

bool tn_item_persists(const struct tn_item *i)
{
	const struct tn_tunable *k = i->knob;

	return i->status == TN_ALREADY && i->chosen && i->current && i->wanted && tn_tunable_form(k) != TN_NO_FORM &&
	       tn_item_good(i, i->current) && !tn_tunable_good(k, i->wanted, i->at_boot, i->pair_path ? "in force" : NULL);
}

/* Reads the current value. If there is none, sets the item's status and returns false. */
static bool read_current(const struct make *m, struct tn_item *i)
{
	gt_autofree char *why = NULL;
	int r;

	r = tn_value_read(m->fs, i->path, &i->current);
	if (!r && i->pair_path) {
		r = tn_value_read(m->fs, i->pair_path, &i->pair_current);
		if (r == -ENOENT) { /* this kernel lacks the counterpart */
			free(i->pair_path);
			i->pair_path = NULL;
			r = 0;
		}
	}
	if (!r)
		return true;
	if (r == -ENOENT && tn_is_nvml_path(i->path))
		why = gt_xstrdup("NVML does not provide it on this GPU");
	else
		why = gt_xasprintf(r == -ENOENT ? "this host has no %s" : "cannot read %s: %s", i->path,
				   tn_setting_error(i->path, r));
	set_status(i, r == -ENOENT ? TN_NOT_APPLICABLE : TN_BLOCKED, why);
	return false;
}

struct tn_now tn_item_now(struct gt_fsroot *fs, const struct tn_item *i, char **offered)
{
	gt_autofree char *path = tn_tunable_offers_path(i->knob, i->instance);
	struct stat st = { .st_mode = S_IWUSR }; /* a captured host has no modes */

	if (path)
		tn_setting_read(fs, path, offered);
	if (gt_fs_dir(fs))
		gt_fs_stat(fs, i->path, &st);
	return (struct tn_now){ .instance = i->instance,
				.current = i->current,
				.pair = i->pair_current,
				.offered = *offered,
				.read_only = !(st.st_mode & S_IWUSR) };
}

/* Skips the item if a file of another program sets the other form to at least the same amount. gputune's file would
 * replace it. */
static bool other_form_is_set(const struct make *m, struct tn_item *i)
{
	const struct sc_assign *a = tn_boot_pair(m->boot.sysctl, i->knob);
	const struct sc_key *key = a ? sc_key_find(tn_tunable_key(i->knob)) : NULL;
	gt_autofree char *why = NULL, *taken = a ? sc_taken(key->counterpart, a->value) : NULL;
	int64_t pair, want;

	if (!a || tn_value_number(taken, &pair) < 0 || tn_value_number(i->wanted, &want) < 0)
		return false;
	if (i->knob->from_pair && i->knob->from_pair(m->host, pair) > want)
		return false;
	why = gt_xasprintf("%s:%u sets the other form to %s at boot; not changed", a->file, a->line, taken);
	set_status(i, TN_SKIPPED, why);
	free(gt_take(i->wanted));
	return true;
}

/* Keeps those of several numbers that are further than the wanted value. */
static void keep_further(struct tn_item *i, const char *other)
{
	char *further = other ? tn_value_further(i->knob->op, i->wanted, other) : NULL;

	if (!further)
		return;
	free(i->wanted);
	i->wanted = further;
}

/* A file of another program may go further in the same direction. gputune's file must not reduce that at the next boot. */
static void respect_files(struct make *m, struct tn_item *i)
{
	gt_autofree char *by = NULL, *further = tn_boot_further(&m->boot, i->knob, i->path, i->wanted, &by);

	keep_further(i, further);
}

/* Rejects a value outside the range of this host, whatever its source. */
static bool out_of_range(const struct make *m, struct tn_item *i, const char *asked)
{
	const struct sc_assign *a = tn_tunable_key(i->knob) ? sc_boot_value(m->boot.others, tn_tunable_key(i->knob)) : NULL;
	bool by_file = a && !gt_streq(asked, i->wanted);
	gt_autofree char *why = NULL;
	struct gt_err e = { 0 };

	if (tn_tunable_check_value(i->knob, m->host, i->wanted, &e) >= 0)
		return false;
	why = by_file ? gt_xasprintf("%s:%u sets it to %s at boot, but %s: correct that line", a->file, a->line, i->wanted, e.msg) :
			gt_xasprintf("not written: %s", e.msg);
	set_status(i, by_file ? TN_ADVICE : TN_BLOCKED, why);
	free(gt_take(i->wanted));
	return true;
}

static void apply_desired(struct make *m, struct tn_item *i, const struct tn_desired *w, const char *asked)
{
	const struct tn_tunable *k = i->knob;
	const char *lacks;

	set_status(i, w->status, w->reason);
	if (w->status != TN_CHANGE)
		return;
	i->wanted = gt_xstrdup(asked ? asked : w->value);
	if (other_form_is_set(m, i))
		return;
	respect_files(m, i);
	if (out_of_range(m, i, asked))
		return;
	if (asked && strcmp(asked, w->value))
		set_status(i, TN_CHANGE, "set by the profile");
	if (tn_item_good(i, i->current)) {
		set_status(i, TN_ALREADY, tn_value_equal(i->current, i->wanted) ? "already set" :
				   k->op == TN_RAISE			 ? "already higher; never lowered" :
									   "already lower; never raised");
		return;
	}
	if (!i->pair_path) /* the zero of a pair is not a number to compare */
		keep_further(i, i->current);
	if (!i->chosen) {
		gt_autofree char *why = gt_xasprintf("opt-in: %s", i->reason);

		set_status(i, TN_SKIPPED, why);
		return;
	}
	lacks = tn_not_writable(m->fs, i->path);
	i->precondition_fails = lacks;
	i->preconditions_met += !lacks;
	i->outside = lacks;
	if (lacks)
		set_status(i, TN_BLOCKED, tn_is_namespaced(tn_tunable_key(k), NULL) ?
						  "read-only in this container: its start sets it" : lacks);
}

static void add_conflict(struct gt_buf *b, const char *what)
{
	if (what)
		gt_buf_printf(b, "%s%s", b->len ? "; " : "", what);
}

/* Returns whether the module is loaded before systemd-sysctl writes. */
static bool loaded_first(struct gt_fsroot *fs, const char *module)
{
	gt_auto_strv files = { 0 };
	bool found = false;

	sc_dropins(fs, "modules-load.d", ".conf", SC_NEXT_BOOT, NULL, &files, NULL);
	for (size_t i = 0; i < files.n && !found; i++) {
		gt_autofree char *text = NULL;
		char *rest, *line;

		if (gt_fs_read(fs, files.v[i], &text, NULL) < 0)
			continue;
		for (rest = text; !found && (line = strsep(&rest, "\n"));)
			found = !strcmp(gt_strip(line), module);
	}
	return found;
}

/* Returns a sentence if a module that is loaded late creates the file: a value written before that is lost. NULL: no
 * such module. The caller frees it. */
static char *loaded_late(const struct make *m, const struct tn_tunable *k)
{
	const char *driver = k->module ? k->module(m->host) : NULL;
	gt_autofree char *name = driver ? gt_xstrdup(driver) : NULL, *loaded = NULL;

	for (char *p = name; p && *p; p++)
		if (*p == '-')
			*p = '_';
	loaded = name ? gt_xasprintf("/sys/module/%s/initstate", name) : NULL; /* a built-in module has no state */
	if (!loaded || !gt_fs_exists(m->fs, loaded) || (tn_tunable_key(k) && loaded_first(m->fs, name)))
		return NULL;
	return gt_xasprintf("it exists only after the module %s is loaded; a value written earlier at boot is lost",
			    name);
}

/* Collects conflicts: active tuners, and files that override gputune's file at boot. */
static void find_conflict(struct make *m, struct tn_item *i)
{
	gt_autofree char *override = NULL, *may = NULL, *late = NULL;
	gt_auto_buf b = { 0 };

	gt_each_word(r, i->knob->rivals ? i->knob->rivals : "", " ") {
		const char *tuner = tn_facts_tuner(&m->facts, r);
		gt_autofree char *what = tuner ? gt_xasprintf("%s may set it too", tuner) : NULL;

		add_conflict(&b, what);
	}
	if (i->wanted) {
		override = tn_boot_overridden(&m->boot, i->knob, i->path, i->wanted, &may);
		late = loaded_late(m, i->knob);
	}
	add_conflict(&b, override);
	add_conflict(&b, may);
	add_conflict(&b, late);
	if (b.len)
		i->conflict = gt_buf_take(&b);
}

static void predict_boot(struct make *m, struct tn_item *i)
{
	gt_autofree char *late = NULL;
	struct tn_udev_answer a;

	if (!tn_boot_knows(i->knob))
		return;
	tn_boot_ask(&m->boot, i->knob, i->path, &a);
	i->at_boot = a.value;
	i->at_boot_by = a.by;
	i->at_boot_may = a.may;
	late = a.value ? loaded_late(m, i->knob) : NULL;
	if (!late)
		return;
	i->at_boot_may = a.may ? gt_xasprintf("%s; %s", a.may, late) : gt_take(late);
	free(a.may);
}

/* Takes the status and the text from the finding of gpuprobe. */
static void set_finding(const struct make *m, struct tn_item *i)
{
	static const enum tn_status status[] = { [PR_PASS] = TN_ALREADY,
						 [PR_ADVICE] = TN_ADVICE,
						 [PR_SKIP] = TN_NOT_APPLICABLE,
						 [PR_NOT_KNOWN] = TN_SKIPPED,
						 [PR_WARN] = TN_ADVICE,
						 [PR_FAIL] = TN_ADVICE };
	const struct pr_context c = { .host = m->host, .fs = m->fs };
	struct pr_finding f;

	pr_judge_one(&c, i->knob->check, &f);
	set_status(i, status[f.result], f.what);
	i->remedy = *f.remedy ? gt_xstrdup(f.remedy) : NULL;
}

static bool is_chosen(const struct make *m, const struct tn_tunable *k)
{
	return k->tag != 'B' || m->opts->optional || tn_knob_named(k->id, m->opts->only) || tn_profile_get(m->profile, k->id);
}

static bool is_demanded(const struct make *m, const struct tn_tunable *k)
{
	const struct gt_strv *set = m->opts->set;
	size_t n = strlen(k->id);

	for (size_t i = 0; set && i < set->n; i++)
		if (!strncmp(set->v[i], k->id, n) && set->v[i][n] == '=')
			return true;
	return false;
}

static void consider(struct make *m, const struct tn_tunable *k, const char *instance)
{
	const char *asked = tn_profile_get(m->profile, k->id);
	struct tn_ctx ctx = { .host = m->host, .facts = &m->facts };
	struct tn_item *i = tn_plan_add(m->plan, k, instance);
	gt_autofree char *offered = NULL;
	struct tn_now now;
	struct tn_desired w = { 0 };

	if (m->opts->skip && m->opts->skip->n && tn_knob_selected(k->id, m->opts->skip)) {
		set_status(i, TN_SKIPPED, "excluded by --skip");
		return;
	}
	if (gt_streq(asked, "off") && !tn_knob_named(k->id, m->opts->only)) {
		set_status(i, TN_SKIPPED, "excluded by the profile");
		return;
	}
	if (k->check) {
		set_finding(m, i);
		return;
	}
	i->chosen = is_chosen(m, k);
	i->demanded = is_demanded(m, k);
	i->precondition_fails = !read_current(m, i);
	if (i->precondition_fails)
		return;
	now = tn_item_now(m->fs, i, &offered);
	ctx.asked = asked && strcmp(asked, "on") && strcmp(asked, "off") ? asked : NULL;
	i->preconditions_met = 1 + tn_tunable_desired(k, &ctx, &now, &w);
	i->precondition_fails = k->preconditions[i->preconditions_met - 1];
	apply_desired(m, i, &w, ctx.asked);
	predict_boot(m, i);
	if (tn_item_persists(i)) {
		gt_autofree char *why = gt_xasprintf("%s; not persistent: apply --persist writes it to a file", i->reason);

		set_status(i, TN_ALREADY, why);
	}
	find_conflict(m, i);
}

static void consider_all(struct make *m)
{
	for (size_t n = 0; tn_tunables[n]; n++) {
		const struct tn_tunable *k = tn_tunables[n];
		gt_auto_strv instances = { 0 };

		if (!tn_knob_selected(k->id, m->opts->only))
			continue;
		if (!k->instances) {
			consider(m, k, NULL);
			continue;
		}
		k->instances(m->fs, m->host, &instances);
		for (size_t i = 0; i < instances.n; i++)
			consider(m, k, instances.v[i]);
		if (!instances.n) {
			struct tn_item *i = tn_plan_add(m->plan, k, NULL);

			i->precondition_fails = true;
			i->demanded = is_demanded(m, k);
			set_status(i, TN_NOT_APPLICABLE, "not on this host");
		}
	}
}

static int get_host(struct gt_fsroot *fs, const struct pr_host *given, bool nvml, struct pr_host **own, const struct pr_host **ret,
		    struct gt_err *err)
{
	struct pr_discover_opts o = { .no_nvml = !nvml, .hardware = true };
	int r = given ? 0 : pr_host_discover(fs, &o, own, err);

	if (r < 0)
		return r;
	*ret = given ? given : *own;
	return 0;
}

int tn_host_get(struct gt_fsroot *fs, const struct pr_host *given, struct pr_host **own, const struct pr_host **ret,
		struct gt_err *err)
{
	return get_host(fs, given, false, own, ret, err);
}

/* Returns whether the selection has a subject that gpuprobe judges. Such checks need NVML. */
static bool selects_check(const struct tn_plan_opts *o)
{
	for (size_t i = 0; tn_tunables[i]; i++)
		if (tn_tunables[i]->check && tn_knob_selected(tn_tunables[i]->id, o->only))
			return true;
	return false;
}

int tn_plan_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts,
		 struct tn_plan **ret, struct gt_err *err)
{
	static const struct tn_plan_opts defaults = { 0 };
	struct make m = { .fs = fs, .opts = opts ? opts : &defaults };
	gt_auto(pr_host) *own = NULL;
	gt_auto(tn_profile) *profile = NULL;
	int r = get_host(fs, host, selects_check(m.opts), &own, &m.host, err);

	if (r >= 0)
		r = tn_knob_check_list(m.opts->only, "--only", err);
	if (r >= 0)
		r = tn_knob_check_list(m.opts->skip, "--skip", err);
	if (r >= 0)
		r = tn_profile_load(fs, m.host, m.opts->profile, &profile, err);
	for (size_t i = 0; r >= 0 && m.opts->set && i < m.opts->set->n; i++)
		r = tn_profile_set(profile, m.opts->set->v[i], err);
	if (r >= 0)
		r = tn_boot_load(fs, &m.boot, err);
	if (r < 0) {
		tn_boot_clear(&m.boot);
		return r;
	}
	m.profile = profile;
	m.plan = gt_xcalloc(1, sizeof(*m.plan));
	m.plan->profile = gt_xstrdup(profile->name);
	m.plan->host = gt_xstrdup(m.host->identity);
	m.plan->boot_id = gt_xstrdup(m.host->kernel.boot_id.v ? m.host->kernel.boot_id.v : "");
	m.plan->kernel = gt_xstrdup(m.host->kernel.release.v ? m.host->kernel.release.v : "");
	m.plan->optional = m.opts->optional;
	tn_facts_read(fs, &m.facts);
	consider_all(&m);
	tn_boot_clear(&m.boot);
	tn_facts_clear(&m.facts);
	*ret = m.plan;
	return 0;
}

size_t tn_plan_changes(const struct tn_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_item; i++)
		n += p->item[i].status == TN_CHANGE;
	return n;
}

size_t tn_plan_outside(const struct tn_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_item; i++)
		n += p->item[i].outside;
	return n;
}
