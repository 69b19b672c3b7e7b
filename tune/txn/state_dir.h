/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_STATE_DIR_H
#define TN_STATE_DIR_H
/* The state directory, /var/lib/gputune, and the lock in it. */
#include "lib/err.h"
#include "lib/fsroot.h"

/* Checks that only root, or the user who runs this on a tree of their own, can write the directory and the journal in it. Exit 3
 * and a sentence if not. */
int tn_state_dir_check(struct gt_fsroot *fs, struct gt_err *err);
/* The state directory and its lock. Exit 3 if another gputune is at work or the directory cannot be written. */
int tn_journal_lock(struct gt_fsroot *fs, int *ret_fd, struct gt_err *err);
/* Returns when no other process holds the lock of the journal; at once where there is none. */
void tn_wait_for_lock(struct gt_fsroot *fs);
#endif
