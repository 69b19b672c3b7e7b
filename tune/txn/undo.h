/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_UNDO_H
#define TN_UNDO_H
/* Undo of transactions: restores values and files. */
#include "tune/txn/journal.h"

enum tn_undo {
	TN_UNDO_BACK,	  /* has the old value already */
	TN_UNDO_RESTORED,
	TN_UNDO_FOREIGN,  /* set by another program since: skipped */
	TN_UNDO_UNKNOWN,  /* this version lacks the tunable: skipped, reported, stays in the journal */
	TN_UNDO_GONE,	  /* the file no longer exists */
	TN_UNDO_STAYS,	  /* the change is from another boot: stays until the next boot */
	TN_UNDO_FAILED,
};
const char *tn_undo_name(enum tn_undo u);
/* Restores what the transactions in set (newest first) changed. Each value returns in one step to the state before the
 * oldest of them, if it still equals what gputune wrote. The kernel refuses some values while another tuned value is
 * set (an energy preference under governor performance). Failed ones are therefore tried once more at the end. done()
 * is called once per value. e is the newest entry with the old value of the oldest. now: the current value, for
 * TN_UNDO_FOREIGN. code: a negative errno, for TN_UNDO_FAILED. */
typedef void tn_undo_done(void *ctx, const struct tn_entry *e, enum tn_undo u, const char *now, int code);
void tn_undo(struct gt_fsroot *fs, const struct tn_journal *j, struct tn_tx *const *set, size_t n, tn_undo_done *done, void *ctx);
#endif
