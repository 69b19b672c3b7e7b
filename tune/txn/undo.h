/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_UNDO_H
#define TN_UNDO_H
/* Puts the values and files of transactions back. */
#include "tune/txn/journal.h"

enum tn_undo {
	TN_UNDO_BACK,	  /* holds the old value already */
	TN_UNDO_RESTORED,
	TN_UNDO_FOREIGN,  /* someone else's value: left alone */
	TN_UNDO_UNKNOWN,  /* of a knob that this version lacks: left alone, said, and kept in the journal */
	TN_UNDO_GONE,	  /* the knob is not there any more */
	TN_UNDO_STAYS,	  /* of another boot: stays until the next one */
	TN_UNDO_FAILED,
};
const char *tn_undo_name(enum tn_undo u);
/* Put back what these transactions changed, newest first in set: each value in one step to what was before the oldest of them,
 * only if it is still ours. The kernel refuses some values while another one is ours (an energy preference under the governor
 * performance): when all else is back, what failed is tried once more. done is told how each ended, once: e is the newest entry,
 * with the oldest one's old value. now: on TN_UNDO_FOREIGN what is there instead; code: on TN_UNDO_FAILED a negative errno. */
typedef void tn_undo_done(void *ctx, const struct tn_entry *e, enum tn_undo u, const char *now, int code);
void tn_undo(struct gt_fsroot *fs, const struct tn_journal *j, struct tn_tx *const *set, size_t n, tn_undo_done *done, void *ctx);
#endif
