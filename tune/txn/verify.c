/* SPDX-License-Identifier: Apache-2.0 */
/* The report of gputune verify: which applied values are still set, and which will be set after the next boot. Reads
 * only. A user who cannot read the journal gets what the files in /etc show, and a note that the report is incomplete. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "tune/boot/predict.h"
#include "tune/plan/plan.h"
#include "tune/txn/device_renamed.h"
#include "tune/txn/held.h"
#include "tune/txn/persisted_files.h"
#include "tune/txn/report.h"
#include "tune/txn/session.h"
#include "tune/txn/txn.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

struct verify {
	struct gt_fsroot *fs;
	const struct tn_journal *j;
	struct tn_boot boot;
	struct tn_facts facts;
	struct pr_host *host; /* NULL: not discovered yet */
	json_t *report;
	size_t drift, boot_drift;
};

#define HIDDEN "its file is missing, but the host must have it: mount /proc and /sys as on the host"

/* Appends to the list of programs and files that override the value. */
static void add_overridden(json_t *o, const char *what)
{
	const char *old = gt_json_get_str(o, "overridden", NULL);
	gt_autofree char *both = old ? gt_xasprintf("%s; %s", old, what) : gt_xstrdup(what);

	tn_report_set_str(o, "overridden", both);
}

/* Reports a udev rule that sets the current value: it ran at an event of the device. */
static void find_overriding_rules(struct verify *v, const char *path, const char *now, json_t *o)
{
	gt_autofree char *what = NULL;
	struct tn_udev_answer a;

	tn_udev_ask(&v->boot.udev, path, NULL, &a);
	if (tn_value_equal(a.value, now))
		what = gt_xasprintf("%s sets %s", a.by, a.value);
	else
		what = gt_take(a.may);
	if (what)
		add_overridden(o, what);
	tn_udev_answer_clear(&a);
}

/* Reports each line of sysctl.d that sets the current value: sysctl --system or a restarted unit applied it. */
static void find_overriding_files(struct verify *v, const struct tn_tunable *k, const char *path, const char *now, json_t *o)
{
	gt_autofree char *key = tn_tunable_key(k) ? sc_normalize(tn_tunable_key(k)) : NULL;

	for (size_t i = 0; key && i < v->boot.sysctl->n_all; i++) {
		const struct sc_assign *a = &v->boot.sysctl->all[i];
		gt_autofree char *what = NULL;

		if (!a->value || !sc_value_equal(key, a->value, now) || fnmatch(a->key, key, FNM_PATHNAME | FNM_PERIOD))
			continue;
		what = gt_xasprintf("%s:%u sets %s", a->file, a->line, a->value);
		add_overridden(o, what);
	}
	for (size_t i = 0; !key && i < v->boot.tmpfiles.n; i++) {
		const struct tn_tmpfile *l = &v->boot.tmpfiles.line[i];
		gt_autofree char *what = NULL;

		if (!tn_value_equal(l->value, now) || !tn_tmpfile_matches(l, path))
			continue;
		what = gt_xasprintf("%s sets %s", l->by, l->value);
		add_overridden(o, what);
	}
	if (!key)
		find_overriding_rules(v, path, now, o);
}

/* Reports programs and files that may have changed the value. */
static void find_overriding(struct verify *v, const struct tn_entry *e, const char *now, json_t *o)
{
	const struct tn_tunable *k = tn_entry_knob(e);

	if (k)
		find_overriding_files(v, k, e->path, now, o);
	gt_each_word(r, k && k->rivals ? k->rivals : "", " ") {
		const char *tuner = tn_facts_tuner(&v->facts, r);
		gt_autofree char *what = tuner ? gt_xasprintf("%s sets it too", tuner) : NULL;

		if (what)
			add_overridden(o, what);
	}
	if (!gt_json_get_str(o, "overridden", NULL))
		add_overridden(o, "no file and no known tuner sets it: changed by hand or by a program");
}

/* Compares the current value. Beyond the applied value in the direction of the operation is no drift. */
static const char *judge(struct verify *v, const struct tn_entry *e, const char *now)
{
	const struct tn_tunable *k = tn_entry_knob(e);
	gt_autofree char *path = k ? tn_tunable_pair_path(k) : NULL, *pair = NULL;

	if (tn_value_equal(now, e->new_value))
		return "ok";
	if (path)
		tn_value_read(v->fs, path, &pair);
	if (!k || !tn_tunable_good(k, e->new_value, now, pair))
		return "drift";
	return k->op == TN_RAISE ? "higher" : "lower";
}

/* Adds the result of the kernel value: as judged, or "n/a" if the device or the tunable is gone. A file that the host
 * must have is drift. */
static void verify_value(struct verify *v, const struct tn_entry *e, bool other_boot)
{
	gt_autofree char *now = NULL;
	bool known = tn_path_allowed(e->path);
	int r = known ? tn_value_read(v->fs, e->path, &now) : -ENOENT;
	bool gone = r == -ENOENT && (!known || tn_entry_gone(v->fs, e, other_boot));
	const char *result = gone ? "n/a" : r < 0 ? "drift" : judge(v, e, now);
	json_t *o = tn_report_value(v->report, e, result);
	bool drift = !strcmp(result, "drift");

	tn_report_set_str(o, "actual", r == -ENOENT ? "not there" : r < 0 ? strerror(-r) : now);
	v->drift += drift;
	if (r >= 0 && drift)
		find_overriding(v, e, now, o);
	if (r == -ENOENT && drift)
		add_overridden(o, HIDDEN);
}

static bool has_path(const struct tn_tx *t, const char *path)
{
	for (size_t i = 0; i < t->n_entry; i++)
		if (!strcmp(t->entry[i].path, path))
			return true;
	return false;
}

/* Returns whether a file of gputune persists the value. Each file has the values of its own transaction and of all
 * earlier ones. */
static bool is_persisted(const struct tn_journal *j, const struct tn_entry *e)
{
	const struct tn_tunable *k = tn_entry_knob(e);
	const char *file = k ? tn_persist_file(tn_tunable_form(k)) : NULL;
	bool later = false;

	for (size_t i = j->n_tx; file && i-- > 0;) {
		if (tn_tx_status(j, &j->tx[i]) != TN_STATUS_HELD)
			continue;
		later |= has_path(&j->tx[i], file);
		if (later && has_path(&j->tx[i], e->path))
			return true;
	}
	return false;
}

/* No plan accepts such a value, and the file of gputune protects against it. */
static bool is_out_of_range(struct verify *v, const struct tn_tunable *k, const char *value)
{
	const struct pr_host *host = v->host;

	return tn_host_get(v->fs, host, &v->host, &host, NULL) >= 0 && tn_tunable_check_value(k, host, value, NULL) < 0;
}

/* Reports a file of another program that goes further than gputune's file, which overrides it. It was created or
 * changed after gputune wrote its file. */
static char *reduces_other(struct verify *v, const struct tn_tunable *k, const char *path, const struct tn_udev_answer *at_boot)
{
	gt_autofree char *further = NULL, *by = NULL;
	const char *own_file = tn_persist_file(tn_tunable_form(k));

	if (!own_file || !at_boot->by || !gt_starts_with(at_boot->by, own_file))
		return NULL;
	further = tn_boot_further(&v->boot, k, path, at_boot->value, &by);
	if (!further || is_out_of_range(v, k, further))
		return NULL;
	return gt_xasprintf("%s sets %s, but %s %s it to %s: gputune apply --persist --only %s uses the other value", by, further,
			    at_boot->by, k->op == TN_RAISE ? "lowers" : "raises", at_boot->value, k->id);
}

/* Predicts the value after the next boot and finds the line that sets it. */
static void verify_boot(struct verify *v, const struct tn_entry *e, bool persisted)
{
	const struct tn_tunable *k = tn_entry_knob(e);
	json_t *values = json_object_get(v->report, "values"), *o = json_array_get(values, json_array_size(values) - 1);
	gt_autofree char *overridden = NULL, *may = NULL;
	const char *result = gt_json_get_str(o, "result", "");
	struct tn_udev_answer a;
	bool fits;

	if (!k || !tn_boot_knows(k))
		return;
	tn_boot_ask(&v->boot, k, e->path, &a);
	json_object_set_new(o, "at_boot", tn_boot_json(a.value, a.by, a.may));
	overridden = persisted ? reduces_other(v, k, e->path, &a) : NULL;
	/* 0 means that the counterpart is in force */
	fits = !overridden && tn_tunable_good(k, e->new_value, a.value, e->pair_path ? "in force" : NULL);
	if (persisted && !overridden)
		overridden = tn_boot_overridden(&v->boot, k, e->path, e->new_value, &may);
	if (persisted && !overridden && !fits && strcmp(result, "n/a")) /* a device that is absent has no matching rule */
		overridden = gt_xasprintf("no line in %s sets it any more", tn_persist_file(tn_tunable_form(k)));
	tn_udev_answer_clear(&a);
	if (may)
		add_overridden(o, may);
	if (!overridden || fits)
		return;
	add_overridden(o, overridden);
	if (strcmp(result, "drift") && strcmp(result, "n/a")) {
		tn_report_set_str(o, "result", "lost at boot");
		v->boot_drift++;
	}
}

static void verify_file(struct verify *v, const struct tn_entry *e)
{
	gt_autofree char *now = NULL;
	int r = gt_fs_read(v->fs, e->path, &now, NULL);
	bool ok = r >= 0 && gt_streq(now, e->new_value);

	tn_report_value(v->report, e, ok ? "ok" : r == -ENOENT ? "removed" : r < 0 ? strerror(-r) : "changed by another program");
	v->drift += !ok;
}

/* Verifies a value under the current name of its device. An absent device is skipped. */
static void verify_held(struct verify *v, const struct tn_tx *t, const struct tn_entry *e)
{
	struct tn_entry here;
	bool hidden;

	if (tn_entry_here(v->fs, v->j, e, &v->host, &here)) {
		verify_value(v, &here, tn_tx_other_boot(v->j, t));
		verify_boot(v, &here, is_persisted(v->j, e));
	} else {
		hidden = tn_path_hidden(v->fs, e->path);
		tn_report_set_str(tn_report_value(v->report, e, hidden ? "drift" : "n/a"), "actual", "not there");
		v->drift += hidden;
	}
	tn_entry_here_clear(&here);
}

static void verify_all(struct verify *v)
{
	const struct tn_entry **held = NULL;
	size_t n = tn_held(v->j, &held);

	for (size_t i = 0; i < n; i++) {
		if (held[i]->kind == TN_ENTRY_VALUE)
			verify_held(v, tn_entry_tx(v->j, held[i]), held[i]);
		else
			verify_file(v, held[i]);
	}
	free(held);
}

/* Files of gputune without a record in the journal are applied at each boot and would never be removed. */
static int verify_unrecorded(struct verify *v, struct gt_err *err)
{
	gt_auto(tn_journal) *unrecorded = NULL;
	int r = tn_persisted_load(v->fs, v->j, &unrecorded, err);

	for (size_t i = 0; r >= 0 && unrecorded->n_tx && i < unrecorded->tx->n_entry; i++) {
		if (unrecorded->tx->entry[i].kind == TN_ENTRY_VALUE) {
			verify_value(v, &unrecorded->tx->entry[i], true);
			continue;
		}
		tn_report_value(v->report, &unrecorded->tx->entry[i], TN_PERSISTED_LOST);
		v->drift++;
	}
	return r;
}

/* Another process works on the journal: neither drift nor failure. */
static int report_busy(json_t **ret_report, int *ret_exit)
{
	*ret_report = tn_report_new("verify");
	tn_report_set_str(*ret_report, "result", "busy");
	*ret_exit = TN_EXIT_PENDING;
	return 0;
}

/* Reports by the given journal. */
static int make_report(struct gt_fsroot *fs, const struct tn_journal *j, bool all, json_t **ret_report, int *ret_exit,
		       struct gt_err *err)
{
	struct verify v = { .fs = fs, .j = j };
	int r;

	if (tn_journal_find(j, TN_STATUS_BUSY))
		return report_busy(ret_report, ret_exit);
	r = tn_txn_check(j, true, err);
	if (r >= 0)
		r = tn_boot_load(fs, &v.boot, err);
	if (r < 0) {
		tn_boot_clear(&v.boot);
		return r;
	}
	v.report = tn_report_new("verify");
	tn_facts_read(fs, &v.facts);
	verify_all(&v);
	r = all ? verify_unrecorded(&v, err) : 0;
	tn_facts_clear(&v.facts);
	tn_boot_clear(&v.boot);
	pr_host_free(v.host);
	if (r < 0) {
		json_decref(v.report);
		return r;
	}
	*ret_exit = tn_held_exit(j, v.drift || v.boot_drift, all);
	tn_report_set_all(v.report, all);
	tn_report_set_str(v.report, "result", v.drift	     ? "drift" :
					      v.boot_drift   ? "lost at boot" :
					      !all	     ? "not known" :
					      *ret_exit	     ? "pending" :
					      json_array_size(json_object_get(v.report, "values")) ? "ok" :
												     "nothing applied");
	*ret_report = v.report;
	return 0;
}

static bool same(const struct tn_journal *a, const struct tn_journal *b)
{
	bool is = a->n_tx == b->n_tx;

	for (size_t i = 0; is && i < a->n_tx; i++) {
		const struct tn_tx *t = &a->tx[i], *u = &b->tx[i];

		is = t->id == u->id && t->time == u->time && t->state == u->state && t->n_entry == u->n_entry;
		for (size_t k = 0; is && k < t->n_entry; k++)
			is = !strcmp(t->entry[k].path, u->entry[k].path) &&
			     gt_streq(t->entry[k].new_value, u->entry[k].new_value);
	}
	return is;
}

/* Needs no lock and no privileges. A bad result may come from a change in the meantime, so the journal is read and
 * verified once more. */
int tn_verify(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	bool all;
	int r = tn_held_load(fs, &j, &all, err);

	for (int tries = 0; r >= 0 && tries < 2; tries++) {
		gt_auto(tn_journal) *before = NULL;
		gt_auto_json *report = NULL;
		int found = make_report(fs, j, all, &report, ret_exit, err);

		if (found < 0 || *ret_exit) {
			before = gt_take(j);
			r = tn_held_load(fs, &j, &all, err);
		}
		if (!before || (r >= 0 && same(before, j))) {
			if (found >= 0)
				*ret_report = gt_take(report);
			return found;
		}
	}
	return r < 0 ? r : report_busy(ret_report, ret_exit);
}
