/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PERSISTED_FILES_H
#define TN_PERSISTED_FILES_H
/* Files of gputune in /etc, read without the journal. */
#include "tune/txn/journal.h"

/* Returns them as one transaction, or none if there are no files. Every user can read these files. Old values are
 * unknown (NULL). but NULL, for users who cannot read the journal: all files; an edited one has new_value NULL.
 * Otherwise only files that gputune wrote whole and that no transaction of `but` has, because its record was lost. */
int tn_persisted_load(struct gt_fsroot *fs, const struct tn_journal *but, struct tn_journal **ret, struct gt_err *err);
#define TN_PERSISTED_LOST "persisted, but its record is lost: gputune revert removes it"
#endif
