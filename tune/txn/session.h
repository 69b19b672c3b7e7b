/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_SESSION_H
#define TN_SESSION_H
/* Access to the journal by one process at a time. */
#include "tune/txn/journal.h"

/* The lock and the journal, repaired if its end was torn. Refuses (3) while another process works on it; with `clean` also if a
 * transaction was interrupted (6). close(*ret_fd) ends it. */
int tn_txn_open(struct gt_fsroot *fs, bool clean, int *ret_fd, struct tn_journal **ret, struct gt_err *err);
/* Exit 6 and the sentence if a transaction was interrupted, 3 if another process works on one; 0 otherwise. */
int tn_txn_check(const struct tn_journal *j, bool clean, struct gt_err *err);
#endif
