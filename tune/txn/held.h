/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_HELD_H
#define TN_HELD_H
/* The settings that are applied now. */
#include "tune/txn/journal.h"

/* Finds the newest entry of each tunable and device, in the order in which they were first applied. *ret is an array of
 * pointers into j; the caller frees it. */
size_t tn_held(const struct tn_journal *j, const struct tn_entry ***ret);
/* Loads the journal. If this user cannot read it, reads the files in /etc instead, and *ret_all is false. */
int tn_held_load(struct gt_fsroot *fs, struct tn_journal **ret, bool *ret_all, struct gt_err *err);
/* Returns the exit status of verify and status. An interrupted transaction has priority over drift, because it must be
 * recovered first. */
int tn_held_exit(const struct tn_journal *j, bool drift, bool all);
#endif
