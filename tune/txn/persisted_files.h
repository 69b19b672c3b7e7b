/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PERSISTED_FILES_H
#define TN_PERSISTED_FILES_H
/* The files of gputune in /etc, read without the journal. */
#include "tune/txn/journal.h"

/* Returns them as one transaction. Every user can read these files. Old values are not known (NULL). but NULL, for users who cannot
 * read the journal: all files; one that was edited has no new_value. Otherwise only files that are wholly gputune's and that no
 * transaction of `but` keeps: its record was lost. No transaction if there are none. */
int tn_persisted_load(struct gt_fsroot *fs, const struct tn_journal *but, struct tn_journal **ret, struct gt_err *err);
#define TN_PERSISTED_LOST "kept, but the record of it is lost: gputune revert removes it"
#endif
