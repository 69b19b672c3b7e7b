/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TXN_H
#define TN_TXN_H
/* Transactions: apply a plan, verify it, revert it. */
#include "tune/plan/plan.h"

struct tn_apply_opts {
	bool persist;	/* persist in /etc, for the next boot */
	bool temporary; /* experiment of this process: stays open until tn_revert(), and other processes are refused meanwhile.
			 * If this process dies, also by kill -9, the next call finds an interrupted transaction */
};
/*
 * Writes the plan's changes, the journal first. A failure restores all old values (exit 1). An empty plan is success
 * and leaves no trace. *ret_report (may be NULL) lists the result per tunable; the caller owns it. It is set on failure
 * too.
 */
int tn_apply(struct gt_fsroot *fs, const struct tn_plan *plan, const struct tn_apply_opts *opts, json_t **ret_report,
	     struct gt_err *err);
/*
 * Restores the values from before apply, newest first. Skips values that another program changed since. While this
 * process has an experiment open, it reverts only that. Nothing to revert is success. *ret_exit: 0; TN_EXIT_DRIFT if a
 * value was skipped because another program set it or this version lacks its tunable; TN_EXIT_PENDING if values stay
 * until the next boot.
 */
int tn_revert(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Undoes an interrupted transaction. *ret_exit as in tn_revert(). No such transaction is success. */
int tn_recover(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Reports per applied tunable the expected and the current value, the value after a reboot and the line that sets it.
 * *ret_exit: 0, 4, 5 or 6. Reads only. */
int tn_verify(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Reports what is applied, since when and by which program. *ret_exit: 0, 5 or 6. Reads only. */
int tn_status_report(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);

/* Returns { "knobs": { "vm.swappiness": "60", "block.read_ahead:vda": "128", … }, "tuners": [ "irqbalance", … ],
 * "held_by_gputune": [ … ] } with every tunable that the host has. host may be NULL. */
json_t *tn_settings(struct gt_fsroot *fs, const struct pr_host *host);
#endif
