/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_STATE_DIR_H
#define TN_STATE_DIR_H
/* The state directory, /var/lib/gputune, and the lock in it. */
#include "lib/err.h"
#include "lib/fsroot.h"

/* Checks who can write the directory and the journal in it: only root, or the user who runs this on a tree of their
 * own. Exit 3 with a sentence if others can. */
int tn_state_dir_check(struct gt_fsroot *fs, struct gt_err *err);
/* Creates the directory and takes the lock. Exit 3 if another process still holds it after wait_s seconds, or if the directory
 * cannot be written. */
int tn_journal_lock(struct gt_fsroot *fs, double wait_s, int *ret_fd, struct gt_err *err);
/* Waits until no other process holds the lock. Returns at once if the lock does not exist. */
void tn_wait_for_lock(struct gt_fsroot *fs);
#endif
