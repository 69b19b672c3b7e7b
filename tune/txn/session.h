/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_SESSION_H
#define TN_SESSION_H
/* Exclusive access to the journal. */
#include "tune/txn/journal.h"

/* Takes the lock and loads the journal; repairs a torn end. Exit 3 while another process works on it. With `clean` also
 * exit 6 if a transaction was interrupted. close(*ret_fd) releases the lock. */
int tn_txn_open(struct gt_fsroot *fs, bool clean, int *ret_fd, struct tn_journal **ret, struct gt_err *err);
/* Exit 6 with a sentence if a transaction was interrupted, exit 3 if another process works on one; else 0. */
int tn_txn_check(const struct tn_journal *j, bool clean, struct gt_err *err);
#endif
