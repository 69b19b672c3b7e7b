/* SPDX-License-Identifier: Apache-2.0 */
/* Putting back: newest first, only where the value is still ours. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/log.h"
#include "tune/txn.h"
#include "tune/value.h"

const char *tn_undo_name(enum tn_undo u)
{
	static const char *const name[] = {
		[TN_UNDO_BACK] = "as before",
		[TN_UNDO_RESTORED] = "restored",
		[TN_UNDO_FOREIGN] = "changed by someone else",
		[TN_UNDO_UNKNOWN] = "unknown to this version, left alone",
		[TN_UNDO_GONE] = "not there any more",
		[TN_UNDO_STAYS] = "stays until reboot",
		[TN_UNDO_FAILED] = "failed",
	};

	return name[u];
}

/* ---- one entry ----------------------------------------------------------------------------------------------------
 */

static enum tn_undo undo_file(struct gt_fsroot *fs, const struct tn_entry *e, char **ret_now, int *ret_code)
{
	gt_autofree char *now = NULL;
	struct stat st;
	int r = tn_file_sweep(fs, e->path);

	if (r >= 0 && gt_fs_lstat(fs, e->path, &st) >= 0 && S_ISLNK(st.st_mode)) {
		if (ret_now)
			*ret_now = gt_xstrdup("a link");
		return TN_UNDO_FOREIGN;
	}
	if (r >= 0)
		r = gt_fs_read(fs, e->path, &now, NULL);
	if (r < 0 && r != -ENOENT) {
		*ret_code = r;
		return TN_UNDO_FAILED;
	}
	if (gt_streq(now, e->old))
		return TN_UNDO_BACK;
	if (!gt_streq(now, e->new_value)) {
		if (ret_now)
			*ret_now = gt_xstrdup(now ? "another content" : "removed");
		return TN_UNDO_FOREIGN;
	}
	r = e->old ? tn_file_write(fs, e->path, e->old) : tn_file_remove(fs, e->path);
	if (r >= 0)
		return TN_UNDO_RESTORED;
	*ret_code = r;
	return TN_UNDO_FAILED;
}

/* Is the old state there, of the value and, where there is one, its counterpart? */
static bool is_back(struct gt_fsroot *fs, const struct tn_entry *e, const char *now)
{
	gt_autofree char *pair = NULL;

	if (!tn_value_equal(now, e->old))
		return false;
	return !e->pair_path || (tn_value_read(fs, e->pair_path, &pair) >= 0 && tn_value_equal(pair, e->pair_old));
}

/* Of a pair the one that was not zero is written; the kernel zeroes the other. */
static int write_old(struct gt_fsroot *fs, const struct tn_entry *e)
{
	if (e->pair_path && !strcmp(e->old, "0"))
		return tn_value_write(fs, e->pair_path, e->pair_old);
	return tn_value_write(fs, e->path, e->old);
}

/* What is to be there once the value is back: what was before, or what somebody has set since. The caller frees it. */
static char *side_wanted(struct gt_fsroot *fs, const struct tn_entry *e, bool cut)
{
	const char *left = e->side_left ? e->side_left : e->side_old;
	gt_autofree char *now = NULL;

	if (!e->side_path || tn_value_read(fs, e->side_path, &now) < 0)
		return NULL;
	/* of a transaction that was cut short nobody knows who has set it: most likely the kernel, in its middle */
	return gt_xstrdup(cut || tn_value_equal(now, left) ? e->side_old : now);
}

/* The kernel has set it anew with the value: it has to come after. */
static int write_side(struct gt_fsroot *fs, const struct tn_entry *e, const char *wanted)
{
	gt_autofree char *now = NULL;
	int r = wanted ? tn_value_read(fs, e->side_path, &now) : 0;

	if (r < 0 || !wanted || tn_value_equal(now, wanted))
		return r;
	return tn_value_write(fs, e->side_path, wanted);
}

/* cut: the transaction did not come to its end, or its undoing did not. */
static enum tn_undo undo_entry(struct gt_fsroot *fs, const struct tn_entry *e, bool other_boot, bool cut, char **ret_now,
			       int *ret_code)
{
	gt_autofree char *now = NULL, *side = NULL;
	int r;

	if (!e->knob)
		return undo_file(fs, e, ret_now, ret_code);
	if (!tn_path_allowed(e->path))
		return TN_UNDO_UNKNOWN;
	r = tn_value_read(fs, e->path, &now);
	if (r == -ENOENT)
		return TN_UNDO_GONE;
	if (r < 0) {
		*ret_code = r;
		return TN_UNDO_FAILED;
	}
	side = other_boot ? NULL : side_wanted(fs, e, cut);
	if (is_back(fs, e, now)) {
		r = cut ? write_side(fs, e, side) : 0;
		*ret_code = r;
		return r < 0 ? TN_UNDO_FAILED : TN_UNDO_BACK;
	}
	if (!tn_value_equal(now, e->new_value) && !(e->got && tn_value_equal(now, e->got))) {
		if (ret_now)
			*ret_now = gt_take(now);
		return TN_UNDO_FOREIGN;
	}
	if (other_boot) /* the old value is of a kernel that is gone; ours came from our file */
		return TN_UNDO_STAYS;
	r = write_old(fs, e);
	free(gt_take(now));
	if (r >= 0)
		r = tn_value_read(fs, e->path, &now);
	if (r >= 0 && !is_back(fs, e, now))
		r = -EIO;
	if (r >= 0)
		r = write_side(fs, e, side);
	*ret_code = r < 0 ? r : 0;
	return r < 0 ? TN_UNDO_FAILED : TN_UNDO_RESTORED;
}

void tn_undo_tx(struct gt_fsroot *fs, const struct tn_journal *j, struct tn_tx *t, bool again, tn_undo_done *done, void *ctx)
{
	bool other_boot = tn_tx_other_boot(j, t), cut = t->state != TN_TX_COMMITTED;

	for (size_t k = t->n_entry; k-- > 0;) {
		struct tn_entry *e = &t->entry[k];
		gt_autofree char *now = NULL;
		enum tn_undo u;
		int code = 0;

		if (again ? !e->failed : tn_entry_over(j, t, e))
			continue;
		u = undo_entry(fs, e, other_boot, cut || again, &now, &code);
		e->failed = u == TN_UNDO_FAILED;
		e->stays = u == TN_UNDO_STAYS;
		if (again || !e->failed)
			done(ctx, e, u, now, code);
	}
}

/* ---- transactions -------------------------------------------------------------------------------------------------
 */

struct undo {
	struct gt_fsroot *fs;
	struct tn_journal *j;
	json_t *report;
	size_t restored, foreign, failed, stays;
	char first_failure[256];
};

static void note_undone(void *ctx, const struct tn_entry *e, enum tn_undo r, const char *now, int code)
{
	struct undo *u = ctx;
	json_t *line = tn_report_value(u->report, e, tn_undo_name(r));

	if (now)
		tn_report_set_str(line, "actual", now);
	u->restored += r == TN_UNDO_RESTORED;
	u->foreign += r == TN_UNDO_FOREIGN || r == TN_UNDO_UNKNOWN;
	u->stays += r == TN_UNDO_STAYS;
	if (r == TN_UNDO_FAILED && !u->failed++)
		snprintf(u->first_failure, sizeof(u->first_failure), "%s: %s", e->path, strerror(-code));
}

/* Transaction i is over, unless something of it failed. What stays until the next boot is kept as pending, so that it can be
 * told. Returns whether it is still in the journal. */
static bool close_tx(struct undo *u, size_t i)
{
	struct tn_tx *t = &u->j->tx[i];
	bool stays = false;

	for (size_t k = 0; k < t->n_entry; k++) {
		if (t->entry[k].failed)
			return true;
		stays |= t->entry[k].stays;
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

/* Undo all transactions that are seen so, newest first; then close the journal. */
static int undo_all(struct undo *u, enum tn_seen seen, struct gt_err *err)
{
	int r = 0;

	for (size_t i = u->j->n_tx; i-- > 0 && r >= 0;)
		if (tn_tx_seen(u->j, &u->j->tx[i]) == seen && seen == TN_SEEN_HELD)
			r = tn_journal_undo(u->fs, &u->j->tx[i]);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot write the journal in %s (%s): nothing is changed",
				    TN_STATE_DIR, strerror(-r));
	for (int again = 0; again < 2; again++)
		for (size_t i = u->j->n_tx; i-- > 0;)
			if (tn_tx_seen(u->j, &u->j->tx[i]) == seen)
				tn_undo_tx(u->fs, u->j, &u->j->tx[i], again, note_undone, u);
	for (size_t i = 0; i < u->j->n_tx;) /* oldest first: a later one's file says that this one was kept */
		i += tn_tx_seen(u->j, &u->j->tx[i]) != seen || close_tx(u, i);
	if (u->failed)
		return gt_fail_exit(err, TN_EXIT_INTERRUPTED, EIO,
				    "%zu value%s could not be put back (%s); the others are back, the journal keeps "
				    "these: mend the cause, then run gputune "
				    "recover", u->failed, u->failed == 1 ? "" : "s", u->first_failure);
	r = tn_journal_rewrite(u->fs, u->j);
	if (r < 0)
		return gt_fail_exit(
			err, TN_EXIT_INTERRUPTED, -r,
			"everything is back, but the journal in %s could not be closed (%s): run gputune recover",
			TN_STATE_DIR, strerror(-r));
	return 0;
}

static int finish(struct undo *u, int r, json_t **ret_report, int *ret_exit)
{
	tn_report_set_str(u->report, "result",
			  r < 0        ? "failed"
			  : u->foreign ? "partly"
			  : u->stays   ? "pending"
				       : "reverted");
	json_object_set_new(u->report, "restored", json_integer((json_int_t)u->restored));
	json_object_set_new(u->report, "changed_by_others", json_integer((json_int_t)u->foreign));
	if (ret_report)
		*ret_report = u->report;
	else
		json_decref(u->report);
	if (r < 0)
		return r;
	if (ret_exit)
		*ret_exit = u->foreign ? TN_EXIT_DRIFT : u->stays ? TN_EXIT_PENDING : 0;
	return 0;
}

/* Without a journal there is nothing to undo, and nothing is made. */
static bool nothing(const struct tn_journal *j, bool recover)
{
	if (j->torn)
		return false;
	return recover ? !tn_journal_find(j, TN_SEEN_INTERRUPTED) :
			 !tn_journal_find(j, TN_SEEN_HELD) && !tn_journal_find(j, TN_SEEN_MINE);
}

static int undo(struct gt_fsroot *fs, bool recover, json_t **ret_report, int *ret_exit, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	struct undo u = { .fs = fs };
	gt_autoclose int lock = -1;
	int r = tn_journal_load(fs, &j, err);

	if (r >= 0)
		r = tn_txn_check(j, !recover, err);
	if (r < 0)
		return r;
	if (!nothing(j, recover)) {
		tn_journal_free(gt_take(j));
		r = tn_txn_open(fs, !recover, &lock, &j, err);
		if (r < 0)
			return r;
	}
	u.j = j;
	u.report = tn_report_new(recover ? "recover" : "revert");
	if (lock >= 0)
		r = undo_all(&u, recover			   ? TN_SEEN_INTERRUPTED :
				 tn_journal_find(j, TN_SEEN_MINE) ? TN_SEEN_MINE :
								    TN_SEEN_HELD, err);
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
