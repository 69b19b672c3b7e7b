/* SPDX-License-Identifier: Apache-2.0 */
/* Applies a plan: first every check that could fail, then the journal, then the host. */
#include <errno.h>
#include <string.h>
#include "lib/cli.h"
#include "lib/log.h"
#include "tune/plan/plan.h"
#include "tune/plan/check_plan.h"
#include "tune/boot/persist.h"
#include "tune/txn/device_renamed.h"
#include "tune/txn/held.h"
#include "tune/txn/report.h"
#include "tune/txn/session.h"
#include "tune/txn/txn.h"
#include "tune/txn/undo.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

struct apply {
	struct gt_fsroot *fs;
	const struct pr_host *host;
	const struct tn_plan *plan;
	const struct tn_apply_opts *opts;
	struct tn_journal *j;
	struct tn_tx *t;
	json_t *report;
	struct gt_err *err;
};

/* ---- entries of the transaction ---------------------------------------------------------------------------------- */

static struct tn_entry *add_value(struct apply *a, const struct tn_item *it, const char *value)
{
	struct tn_entry *e = tn_tx_add_value(a->t, it->knob->id, it->instance, it->path, it->current, value);

	e->line = tn_persist_line(a->host, it->knob, it->instance, value);
	if (it->pair_current) {
		e->pair_path = gt_xstrdup(it->pair_path);
		e->pair_old = gt_xstrdup(it->pair_current);
	}
	return e;
}

/* Writes the current value where a precondition needs that test. An item that fails the test is left out and reported.
 * Without the test it would fail within the transaction, and all other values would be rolled back. */
static bool refused(struct apply *a, const struct tn_item *it)
{
	const struct tn_entry e = { .knob = (char *)it->knob->id, .instance = it->instance, .path = it->path, .old = it->current,
				    .new_value = it->wanted };

	for (const struct tn_precondition *const *p = it->knob->preconditions; *p; p++)
		if ((*p)->test_write && tn_value_write(a->fs, it->path, it->current) == -EIO) {
			gt_autofree char *why = gt_xasprintf("left out: requires %s", (*p)->text);

			tn_report_value(a->report, &e, why);
			return true;
		}
	return false;
}

static void add_values(struct apply *a)
{
	for (size_t i = 0; i < a->plan->n_item; i++) {
		const struct tn_item *it = &a->plan->item[i];
		struct tn_entry *e;

		if (it->status != TN_CHANGE || refused(a, it))
			continue;
		e = add_value(a, it, it->wanted);
		e->side_path = tn_tunable_side_path(it->knob, it->instance);
		if (e->side_path && tn_value_read(a->fs, e->side_path, &e->side_old) < 0) /* this kernel lacks the file */
			free(gt_take(e->side_path));
	}
}

/* Returns whether the item is persisted already. A line for another device under the same name, or for an earlier size
 * of the device, does not count. A persisted value that does not reach the wanted one does not count either. */
static bool is_held(const struct apply *a, const struct tn_entry *const *held, size_t n, const struct tn_item *it)
{
	gt_autofree char *line = tn_persist_line(a->host, it->knob, it->instance, it->current);

	for (size_t i = 0; i < n; i++)
		if (line && held[i]->line ? tn_persist_same(held[i]->line, line) : !strcmp(held[i]->path, it->path))
			return tn_item_good(it, held[i]->new_value);
	return false;
}

/* Adds values that are already set but not persistent. Apply does not write them, and revert leaves them. A setting that is
 * read-only here cannot be set at the next boot either. */
static int add_persisted(struct apply *a)
{
	const struct tn_entry **held = NULL;
	size_t n = tn_held(a->j, &held);
	int r = 0;

	for (size_t i = 0; a->opts->persist && r >= 0 && i < a->plan->n_item; i++) {
		const struct tn_item *it = &a->plan->item[i];

		if (!tn_item_persists(it) || is_held(a, held, n, it) || tn_not_writable(a->fs, it->path))
			continue;
		r = tn_plan_check_item(a->fs, a->host, a->plan, it, a->err);
		if (r >= 0)
			add_value(a, it, it->current);
	}
	free(held);
	return r;
}

/* Uses the line from the time of the write: the device may be absent now, and its name may belong to another device. */
static struct tn_persisted persisted_of(const struct tn_entry *e)
{
	return (struct tn_persisted){ tn_entry_knob(e), e->instance, e->new_value, e->line };
}

/* Collects the newest value of each setting that was applied before or that this plan changes. The caller frees the array. */
static size_t settings_to_persist(const struct apply *a, struct tn_persisted **ret)
{
	const struct tn_entry **held = NULL;
	size_t n_held = tn_held(a->j, &held), n = 0;
	struct tn_persisted *keep = gt_xcalloc(n_held + a->t->n_entry + 1, sizeof(*keep));

	for (size_t i = 0; i < n_held; i++) {
		bool again = held[i]->kind == TN_ENTRY_FILE;

		for (size_t k = 0; k < a->t->n_entry; k++)
			again |= tn_entry_same(a->j, &a->t->entry[k], held[i]);
		if (!again && tn_entry_knob(held[i]))
			keep[n++] = persisted_of(held[i]);
	}
	for (size_t k = 0; k < a->t->n_entry; k++)
		keep[n++] = persisted_of(&a->t->entry[k]);
	free(held);
	*ret = keep;
	return n;
}

/* Adds the file of one form if its text changes. */
static int add_file(struct apply *a, enum tn_form form, const struct tn_persisted *keep, size_t n)
{
	gt_autofree char *text = tn_persist_text(a->host, form, keep, n), *old = NULL, *dir = NULL;
	const char *path = tn_persist_file(form);
	struct stat st;
	int r;

	if (!text)
		return 0;
	dir = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path));
	if (gt_fs_lstat(a->fs, path, &st) >= 0 && S_ISLNK(st.st_mode)) /* revert would replace the link by a file */
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, EEXIST,
				    "%s is a link; gputune neither follows nor replaces it: nothing is changed; move it away "
				    "first", path);
	r = gt_fs_read(a->fs, path, &old, NULL);
	if (r == -ENOENT) {
		if (!gt_fs_exists(a->fs, dir))
			return gt_fail_exit(a->err, TN_EXIT_REFUSED, ENOENT,
					    "%s does not exist, so settings cannot be persisted: nothing is changed; without "
					    "--persist they last until the next boot", dir);
	} else if (r < 0) {
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, -r, "cannot read %s: %s", path, strerror(-r));
	} else if (!tn_persist_is_unedited(old)) {
		return gt_fail_exit(
			a->err, TN_EXIT_REFUSED, EEXIST,
			"%s was changed by another program and is not overwritten: nothing is changed; move it away first",
			path);
	} else if (!strcmp(old, text)) {
		return 0;
	}
	if (gt_fs_access(a->fs, dir, W_OK) == -EROFS) /* found before any write, so that nothing has to be rolled back */
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, EROFS,
				    "%s is read-only: nothing is changed; without --persist settings last until the next boot",
				    dir);
	tn_tx_add_file(a->t, path, old, text);
	return 0;
}

static int add_files(struct apply *a)
{
	struct tn_persisted *keep = NULL;
	size_t n;
	int r = 0;

	if (!a->opts->persist)
		return 0;
	n = settings_to_persist(a, &keep);
	for (enum tn_form f = TN_SYSCTL_D; f <= TN_UDEV_RULE && !r; f++)
		r = add_file(a, f, keep, n);
	free(keep);
	return r;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int read_back(struct apply *a, struct tn_entry *e)
{
	gt_autofree char *got = NULL;
	int r = tn_value_read(a->fs, e->path, &got);

	if (r < 0)
		return gt_fail(a->err, -r, "cannot read %s back: %s", e->path, tn_setting_error(e->path, r));
	if (tn_value_equal(got, e->new_value))
		return 0;
	e->got = gt_take(got);
	r = tn_journal_got(a->fs, a->j, a->t, e); /* recover then recognises the value even if this process dies now */
	if (r < 0)
		gt_debug("cannot record in the journal what %s reads: %s", e->path, strerror(-r));
	return gt_fail(a->err, EINVAL, "%s was set to %s but reads %s%s", e->path, e->new_value, e->got,
		       tn_is_nvml_path(e->path) ? " (without persistence mode the driver drops it with the last client)" : "");
}

/* Records what the kernel reset together with the value. Revert can then distinguish it from a later change. */
static void note_side(struct apply *a, struct tn_entry *e)
{
	gt_autofree char *now = NULL;

	if (e->side_path && tn_value_read(a->fs, e->side_path, &now) >= 0 && !tn_value_equal(now, e->side_old))
		e->side_left = gt_take(now);
}

/* Returns whether the entry only persists a value that is already set. */
static bool only_persists(const struct tn_entry *e)
{
	return e->kind == TN_ENTRY_VALUE && gt_streq(e->old, e->new_value);
}

static int write_entry(struct apply *a, struct tn_entry *e)
{
	int r;

	if (gt_interrupted)
		return gt_fail(a->err, EINTR, "interrupted by a signal");
	if (e->kind == TN_ENTRY_FILE) {
		r = tn_file_write(a->fs, e->path, e->new_value);
		return r < 0 ? gt_fail(a->err, -r, "cannot write %s: %s", e->path, strerror(-r)) : 0;
	}
	if (only_persists(e))
		return 0;
	r = tn_value_write(a->fs, e->path, e->new_value);
	if (r < 0)
		return gt_fail(a->err, -r, "cannot set %s to %s: %s", e->path, e->new_value, tn_setting_error(e->path, r));
	note_side(a, e);
	return read_back(a, e);
}

struct rolled_back {
	struct apply *a;
	size_t failed;
};

static void note_rolled_back(void *ctx, const struct tn_entry *e, enum tn_undo u, const char *now, int code)
{
	struct rolled_back *b = ctx;
	json_t *line = tn_report_value(b->a->report, e, u == TN_UNDO_RESTORED ? "rolled back" : tn_undo_name(u));

	if (now)
		tn_report_set_str(line, "actual", now);
	if (u != TN_UNDO_FAILED)
		return;
	gt_warn("%s could not be restored to %s: %s", e->path, e->old ? e->old : "nothing", tn_setting_error(e->path, code));
	b->failed++;
}

/* Entries that were not reached still have their old value. */
static void roll_back(struct apply *a)
{
	struct rolled_back b = { .a = a };
	struct gt_err why = *a->err;
	int r;

	tn_undo(a->fs, a->j, &a->t, 1, note_rolled_back, &b);
	if (b.failed) {
		gt_fail_exit(a->err, TN_EXIT_INTERRUPTED, why.code,
			     "%s; then %zu value%s could not be restored: run gputune recover", why.msg, b.failed,
			     b.failed == 1 ? "" : "s");
		return;
	}
	tn_journal_drop(a->j, a->j->n_tx - 1);
	a->t = NULL;
	r = tn_journal_rewrite(a->fs, a->j);
	gt_fail_exit(a->err, TN_EXIT_FAILED, why.code, "%s; all old values are restored%s", why.msg,
		     r < 0 ? ", but the journal could not be closed: run gputune recover" : "");
}

static int write_all(struct apply *a)
{
	size_t i = 0;
	int r;

	if (!tn_journal_has_room(a->j, a->t))
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, EFBIG,
				    "the journal %s is full (%zu transactions, %zu KiB): nothing is changed; run gputune "
				    "revert, then apply again", TN_JOURNAL_PATH, a->j->n_tx - 1,
				    a->j->bytes >> 10);
	r = tn_journal_begin(a->fs, a->j, a->t);
	if (r < 0) {
		tn_journal_drop(a->j, a->j->n_tx - 1);
		a->t = NULL;
		tn_journal_rewrite(a->fs, a->j); /* removes a partly written record */
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, -r,
				    "cannot write the journal in %s (%s): nothing is changed", TN_STATE_DIR,
				    strerror(-r));
	}
	while (!r && i < a->t->n_entry)
		r = write_entry(a, &a->t->entry[i++]);
	if (!r && !a->opts->temporary) {
		r = tn_journal_commit(a->fs, a->j, a->t);
		if (r < 0)
			gt_fail(a->err, -r, "cannot write the journal in %s: %s", TN_STATE_DIR, strerror(-r));
	}
	if (r < 0)
		roll_back(a);
	return r;
}

/* ---- apply ------------------------------------------------------------------------------------------------------- */

static void report_all(struct apply *a)
{
	for (size_t i = 0; i < a->t->n_entry; i++)
		tn_report_value(a->report, &a->t->entry[i], only_persists(&a->t->entry[i]) ? "kept" : "written");
}

static int apply_locked(struct apply *a)
{
	int r = tn_plan_check_host(a->fs, a->host, a->plan, a->err);

	if (r < 0)
		return r;
	if (a->opts->temporary && tn_journal_find(a->j, TN_STATUS_EXPERIMENT))
		return gt_fail_exit(a->err, TN_EXIT_REFUSED, EBUSY,
				    "this process has an open experiment already: revert it first");
	a->t = tn_journal_new_tx(a->j);
	a->t->temporary = a->opts->temporary;
	free(a->t->profile);
	a->t->profile = gt_xstrdup(a->plan->profile);
	add_values(a);
	r = add_persisted(a);
	if (r >= 0)
		r = add_files(a);
	if (r < 0)
		return r;
	if (!a->t->n_entry)
		return 0;
	r = write_all(a);
	if (r >= 0)
		report_all(a);
	return r;
}

/* Adds the chosen settings that cannot be read or set. A saved plan has shown them already. */
static void report_left_out(json_t *report, const struct tn_plan *plan)
{
	gt_auto_json *list = json_array();

	for (size_t i = 0; i < plan->n_item; i++) {
		const struct tn_item *it = &plan->item[i];

		if (tn_item_left_out(it))
			json_array_append_new(list, json_pack("{s:s, s:o, s:s}", "knob", it->knob->id, "instance",
							      gt_json_str(it->instance), "reason", it->reason));
	}
	if (json_array_size(list))
		json_object_set(report, "left_out", list);
}

/* A value from the command line that cannot be set is an error; those of a profile are left out. */
static int check_demanded(const struct tn_plan *plan, struct gt_err *err)
{
	for (size_t i = 0; i < plan->n_item; i++) {
		const struct tn_item *it = &plan->item[i];
		gt_autofree char *label = tn_tunable_label(it->knob, it->instance);

		if (it->demanded && it->status != TN_CHANGE && it->status != TN_ALREADY)
			return gt_fail_exit(err, TN_EXIT_REFUSED, EINVAL, "%s: %s; nothing is changed", label, it->reason);
	}
	return 0;
}

static bool nothing_to_do(const struct tn_plan *plan, const struct tn_apply_opts *opts)
{
	return !tn_plan_changes(plan) && !opts->persist;
}

int tn_apply(struct gt_fsroot *fs, const struct tn_plan *plan, const struct tn_apply_opts *opts, json_t **ret_report,
	     struct gt_err *err)
{
	static const struct tn_apply_opts defaults = { 0 };
	struct gt_err scratch = { 0 };
	struct apply a = { .fs = fs, .plan = plan, .opts = opts ? opts : &defaults, .err = err ? err : &scratch };
	gt_auto_json *report = tn_report_new("apply");
	gt_auto(tn_journal) *j = NULL;
	gt_auto(pr_host) *own = NULL;
	gt_autoclose int lock = -1;
	int r = tn_host_get(fs, NULL, &own, &a.host, err);

	if (r >= 0)
		r = check_demanded(plan, a.err);
	if (r >= 0 && a.opts->persist && a.opts->temporary)
		r = gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "an experiment cannot be persistent");
	if (r >= 0 &&
	    nothing_to_do(plan, a.opts)) { /* an empty plan leaves no trace, but a plan of another host is refused */
		r = tn_journal_load(fs, &j, a.err);
		if (r >= 0)
			r = tn_txn_check(j, true, a.err);
		if (r >= 0)
			r = tn_plan_check_host(fs, a.host, plan, a.err);
	} else if (r >= 0) {
		r = tn_txn_open(fs, true, &lock, &j, a.err);
		if (r >= 0) {
			a.j = j;
			a.report = report;
			r = apply_locked(&a);
		}
	}
	tn_report_set_str(report, "result", r >= 0 ? "applied" : "failed");
	report_left_out(report, plan);
	if (r < 0 && !json_array_size(json_object_get(report, "values")) && !json_array_size(json_object_get(report, "files")))
		return r;
	if (ret_report)
		*ret_report = gt_take(report);
	return r < 0 ? r : 0;
}
