/* SPDX-License-Identifier: Apache-2.0 */
/* Reverts all applied transactions, or recovers an interrupted one, and updates the journal. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "tune/boot/persist.h"
#include "tune/txn/persisted_files.h"
#include "tune/txn/report.h"
#include "tune/txn/session.h"
#include "tune/txn/txn.h"
#include "tune/txn/undo.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

struct undo {
	struct gt_fsroot *fs;
	struct tn_journal *j;
	json_t *report;
	size_t restored, foreign, unknown, failed, stays;
	char first_failure[256];
	const char *remedy;
};

static const char *remedy_of(const struct tn_entry *e, int code)
{
	if (code == -EROFS)
		return "remount its file system read-write";
	if (code == -ENOENT)
		return "mount the missing file system as on the host";
	if (code == -EPERM && e->kind == TN_ENTRY_FILE)
		return "remove the immutable attribute (lsattr -d shows it, chattr -i removes it) from the file and its directory";
	return "remove the cause";
}

static void note_undone(void *ctx, const struct tn_entry *e, enum tn_undo r, const char *now, int code)
{
	struct undo *u = ctx;
	json_t *line = tn_report_value(u->report, e, tn_undo_name(r));

	if (now)
		tn_report_set_str(line, "actual", now);
	u->restored += r == TN_UNDO_RESTORED;
	u->foreign += r == TN_UNDO_FOREIGN;
	u->unknown += r == TN_UNDO_UNKNOWN;
	u->stays += r == TN_UNDO_STAYS;
	if (r == TN_UNDO_FAILED && !u->failed++) {
		snprintf(u->first_failure, sizeof(u->first_failure), "%s: %s", e->path, tn_setting_error(e->path, code));
		u->remedy = remedy_of(e, code);
	}
}

/* A file in /etc that could not be removed sets the value again at the next boot. */
static bool file_failed(const struct undo *u, const struct tn_entry *e)
{
	const struct tn_tunable *k = tn_entry_knob(e);
	const char *path = k ? tn_persist_file(tn_tunable_form(k)) : NULL;

	for (size_t i = 0; path && i < u->j->n_tx; i++)
		for (size_t n = 0; n < u->j->tx[i].n_entry; n++)
			if (u->j->tx[i].entry[n].failed && !strcmp(u->j->tx[i].entry[n].path, path))
				return true;
	return false;
}

static bool is_left(const struct undo *u, const struct tn_entry *e)
{
	return e->failed || e->unknown || e->stays || file_failed(u, e);
}

/* Keeps only the entries that could not be undone, for recover. */
static void keep_failed(const struct undo *u, struct tn_tx *t)
{
	for (size_t k = t->n_entry; k-- > 0;)
		if (!is_left(u, &t->entry[k]))
			tn_tx_drop(t, k);
	t->state = TN_TX_UNDOING;
	free(t->process.by);
	tn_process_self(&t->process);
}

/* Keeps only entries of tunables that this version lacks, for a version that has them. */
static void keep_unknown(struct tn_tx *t)
{
	for (size_t k = t->n_entry; k-- > 0;)
		if (!t->entry[k].unknown)
			tn_tx_drop(t, k);
	t->state = TN_TX_COMMITTED;
}

/* Ends transaction i, unless an entry failed or is unknown. Values that stay until the next boot are kept as pending,
 * so that status reports them. Returns whether the transaction is still in the journal. */
static bool close_tx(struct undo *u, size_t i)
{
	struct tn_tx *t = &u->j->tx[i];
	bool failed = false, stays = false, unknown = false;

	for (size_t k = 0; k < t->n_entry; k++) {
		failed |= t->entry[k].failed || file_failed(u, &t->entry[k]);
		stays |= t->entry[k].stays;
		unknown |= t->entry[k].unknown;
	}
	if (failed) {
		keep_failed(u, t);
		return true;
	}
	if (unknown) {
		keep_unknown(t);
		return true;
	}
	if (!stays) {
		tn_journal_drop(u->j, i);
		return false;
	}
	t->state = TN_TX_PENDING;
	free(t->boot_id);
	t->boot_id = gt_xstrdup(u->j->boot_id);
	return true;
}

/* Collects the transactions in this state, newest first. The caller frees *ret. */
static size_t find_in_state(const struct tn_journal *j, enum tn_tx_status status, struct tn_tx ***ret)
{
	size_t n = 0;

	*ret = gt_xcalloc(GT_MAX(j->n_tx, 1u), sizeof(**ret));
	for (size_t i = j->n_tx; i-- > 0;)
		if (tn_tx_status(j, &j->tx[i]) == status)
			(*ret)[n++] = &j->tx[i];
	return n;
}

/* Undoes all transactions in this state, newest first, then rewrites the journal. */
static int undo_all(struct undo *u, enum tn_tx_status status, struct gt_err *err)
{
	gt_autofree struct tn_tx **set = NULL;
	size_t n = find_in_state(u->j, status, &set);
	int r = n && status == TN_STATUS_HELD ? tn_journal_undo(u->fs, u->j, set, n) : 0;
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot write the journal in %s (%s): nothing is changed",
				    TN_STATE_DIR, strerror(-r));
	tn_undo(u->fs, u->j, set, n, note_undone, u);
	for (size_t i = 0; i < u->j->n_tx;) /* oldest first: the files of later transactions can persist it */
		i += tn_tx_status(u->j, &u->j->tx[i]) != status || close_tx(u, i);
	r = tn_journal_rewrite(u->fs, u->j);
	if (u->failed) /* a journal that was not rewritten lists more than is left */
		return gt_fail_exit(err, TN_EXIT_INTERRUPTED, EIO,
				    "%zu value%s or file%s could not be restored (%s); all others are restored. The journal "
				    "keeps the rest: %s, then run gputune recover", u->failed, u->failed == 1 ? "" : "s",
				    u->failed == 1 ? "" : "s", u->first_failure, u->remedy);
	if (r < 0)
		return gt_fail_exit(
			err, TN_EXIT_INTERRUPTED, -r,
			"everything is restored, but the journal in %s could not be closed (%s): run gputune recover",
			TN_STATE_DIR, strerror(-r));
	return 0;
}

/* Removes persisted files without a record. Their values stay until the next boot. */
static int remove_unrecorded(struct undo *u, struct gt_err *err)
{
	gt_auto(tn_journal) *unrecorded = NULL;
	int r = tn_persisted_load(u->fs, u->j, &unrecorded, err);

	for (size_t i = 0; r >= 0 && unrecorded->n_tx && i < unrecorded->tx->n_entry; i++) {
		const struct tn_entry *e = &unrecorded->tx->entry[i];
		gt_autofree char *now = NULL;

		if (e->kind == TN_ENTRY_FILE) {
			r = tn_file_remove(u->fs, e->path);
			if (r < 0)
				return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot remove %s: %s", e->path, strerror(-r));
			tn_report_value(u->report, e, "removed");
		} else if (tn_value_read(u->fs, e->path, &now) >= 0 && tn_value_equal(now, e->new_value)) {
			note_undone(u, e, TN_UNDO_STAYS, NULL, 0);
		}
	}
	return r;
}

static bool is_lost(struct gt_fsroot *fs, const struct tn_journal *j)
{
	gt_auto(tn_journal) *unrecorded = NULL;

	return tn_persisted_load(fs, j, &unrecorded, NULL) >= 0 && unrecorded->n_tx;
}

static int finish(struct undo *u, int r, json_t **ret_report, int *ret_exit)
{
	tn_report_set_str(u->report, "result",
			  r < 0        ? "failed"
			  : u->foreign ? "partly"
			  : u->unknown ? "unknown"
			  : u->stays   ? "pending"
				       : "reverted");
	json_object_set_new(u->report, "restored", json_integer((json_int_t)u->restored));
	json_object_set_new(u->report, "changed_by_others", json_integer((json_int_t)u->foreign));
	json_object_set_new(u->report, "unknown_to_this_version", json_integer((json_int_t)u->unknown));
	if (ret_report)
		*ret_report = u->report;
	else
		json_decref(u->report);
	if (r < 0)
		return r;
	if (ret_exit)
		*ret_exit = u->foreign || u->unknown ? TN_EXIT_DRIFT : u->stays ? TN_EXIT_PENDING : 0;
	return 0;
}

/* Returns whether the journal has nothing to undo. No file is created then. */
static bool is_empty(const struct tn_journal *j, bool recover)
{
	if (j->torn)
		return false;
	return recover ? !tn_journal_find(j, TN_STATUS_INTERRUPTED) :
			 !tn_journal_find(j, TN_STATUS_HELD) && !tn_journal_find(j, TN_STATUS_EXPERIMENT);
}

static int undo(struct gt_fsroot *fs, bool recover, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	struct undo u = { .fs = fs };
	gt_autoclose int lock = -1;
	enum tn_tx_status status;
	int r = tn_journal_load(fs, &j, err);

	if (r >= 0)
		r = tn_txn_check(j, !recover, err);
	if (r < 0)
		return r;
	if (!is_empty(j, recover) || (!recover && is_lost(fs, j))) {
		tn_journal_free(gt_take(j));
		r = tn_txn_open(fs, !recover, &lock, &j, err);
		if (r < 0)
			return r;
	}
	u.j = j;
	status = recover ? TN_STATUS_INTERRUPTED : tn_journal_find(j, TN_STATUS_EXPERIMENT) ? TN_STATUS_EXPERIMENT : TN_STATUS_HELD;
	u.report = tn_report_new(recover ? "recover" : "revert");
	if (lock >= 0)
		r = undo_all(&u, status, err);
	if (lock >= 0 && r >= 0 && status == TN_STATUS_HELD)
		r = remove_unrecorded(&u, err);
	return finish(&u, r, ret_report, ret_exit);
}

int tn_revert(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	return undo(fs, false, ret_report, ret_exit, err);
}

int tn_recover(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	return undo(fs, true, ret_report, ret_exit, err);
}
