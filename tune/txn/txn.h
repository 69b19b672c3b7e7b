/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TXN_H
#define TN_TXN_H
/* What applying, undoing and looking share. */
#include "tune/txn/journal.h"
#include "tune/boot/persist.h"

/* The lock and the journal behind it, mended if its end was torn. Refuses (3) while a living process is at work; with
 * `clean` also if something was interrupted (6). close(*ret_fd) ends it. */
int tn_txn_open(struct gt_fsroot *fs, bool clean, int *ret_fd, struct tn_journal **ret, struct gt_err *err);
/* Exit 6 and the sentence if something was interrupted, 3 if a living process is at work; 0 otherwise. */
int tn_txn_check(const struct tn_journal *j, bool clean, struct gt_err *err);

/* What is held per knob and device: the newest value of each, in the order in which they were first held. *ret is an array of
 * pointers into j; the caller frees it. */
size_t tn_held(const struct tn_journal *j, const struct tn_entry ***ret);

const struct tn_tx *tn_entry_tx(const struct tn_journal *j, const struct tn_entry *e); /* NULL: not of j */
/* The entry under the name that its device has in this boot: a copy whose path and instance are its own. False, and the path NULL:
 * that device is not here, whatever has its old name. host: NULL at first, found out when needed and the caller's to free. */
bool tn_entry_here(struct gt_fsroot *fs, const struct tn_journal *j, const struct tn_entry *e, struct pr_host **host,
		   struct tn_entry *ret);
void tn_entry_here_clear(struct tn_entry *here);
/* Is the missing file of a path in /proc or /sys hidden: the file system is not mounted here, or another one is mounted over it? */
bool tn_path_hidden(struct gt_fsroot *fs, const char *path);
/* Is the missing file of a value gone: of a device that was removed, or of a knob that another kernel lacks? Otherwise the host
 * must have it, and whether its value is back is unknown. */
bool tn_entry_gone(struct gt_fsroot *fs, const struct tn_entry *e, bool other_boot);
/* Are these two of j about one thing, so that the newer takes the other's place? Within a boot the name says it; over a boot what
 * the lines that keep them say of their device, where they do. */
bool tn_entry_same(const struct tn_journal *j, const struct tn_entry *a, const struct tn_entry *b);

/* The same as one transaction, made of the files of ours in /etc, which are everybody's to read. Old values are not known (NULL).
 * but NULL, for those who may not read the journal: all files; one that was edited since has no new_value. Otherwise only files
 * that are wholly ours and that no transaction of `but` keeps: its state was lost. No transaction if there are none. */
int tn_kept_load(struct gt_fsroot *fs, const struct tn_journal *but, struct tn_journal **ret, struct gt_err *err);
#define TN_KEPT_LOST "kept, but the record of it is lost: gputune revert removes it"

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

/* Reports. */
json_t *tn_report_new(const char *command);
json_t *tn_report_value(json_t *report, const struct tn_entry *e, const char *result);
void tn_report_set_str(json_t *o, const char *key, const char *value);
#endif
