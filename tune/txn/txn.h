/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_TXN_H
#define TN_TXN_H
/* Transactions: apply a plan, verify it, put it back. */
#include "tune/plan/plan.h"

struct tn_apply_opts {
	bool persist;	/* also for the next boot, in /etc */
	bool temporary; /* an experiment of this living process: stays open until tn_revert; other processes are refused
			 * meanwhile; if this one dies, also by kill -9, the next call finds it interrupted */
};
/*
 * Write the plan's changes, journal first. On failure everything is put back (exit 1). Nothing to do is success and leaves
 * no trace. *ret_report (may be NULL; set also on a failure, rolled back or not wholly) lists per knob what was done; the
 * caller owns it.
 */
int tn_apply(struct gt_fsroot *fs, const struct tn_plan *plan, const struct tn_apply_opts *opts, json_t **ret_report,
	     struct gt_err *err);
/*
 * Put back what is held, newest first, only where the value is still ours. While this process has an experiment open it
 * ends that and nothing else. Nothing to do is success. *ret_exit is 0, TN_EXIT_DRIFT if someone else's value, or one of a
 * knob that this version lacks, was left alone, or TN_EXIT_PENDING if values stay until the next boot.
 */
int tn_revert(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Undo a transaction that was interrupted; ret_exit as above. Success and nothing done if there is none. */
int tn_recover(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* Per knob held: expected, actual, value after reboot and who decides it. *ret_exit: 0, 4, 5 or 6; reads only. */
int tn_verify(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);
/* What is held, since when, by whom. *ret_exit: 0, 5 or 6; reads only. */
int tn_status_report(struct gt_fsroot *fs, json_t **ret_report, int *ret_exit, struct gt_err *err);

/* { "knobs": { "vm.swappiness": "60", "block.read_ahead:vda": "128", … }, "tuners": [ "irqbalance", … ],
 *   "held_by_gputune": [ … ] }: every knob that the host has, whatever its value. host may be NULL. */
json_t *tn_settings(struct gt_fsroot *fs, const struct pr_host *host);
#endif
