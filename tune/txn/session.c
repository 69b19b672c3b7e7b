/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "tune/model/exit.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/value.h"
#include "tune/txn/session.h"
#include "tune/txn/state_dir.h"

#define RECOVER_WAIT_S (TN_NVML_TIMEOUT_S + 5) /* a call of NVML of a killed gputune may still run */

int tn_txn_check(const struct tn_journal *j, bool clean, struct gt_err *err)
{
	const struct tn_tx *busy = tn_journal_find(j, TN_STATUS_BUSY), *cut = tn_journal_find(j, TN_STATUS_INTERRUPTED);

	if (busy)
		return gt_fail_exit(err, TN_EXIT_REFUSED, EBUSY,
				    "process %ld (%s) is running %s: try again later",
				    busy->process.pid, busy->process.by,
				    busy->temporary ? "an experiment" : "a transaction");
	if (clean && cut)
		return gt_fail_exit(
			err, TN_EXIT_INTERRUPTED, EAGAIN,
			"%s of process %ld (%s) was interrupted, and %zu value%s may still be changed: run gputune recover",
			cut->temporary ? "an experiment" : "a transaction", cut->process.pid, cut->process.by, cut->n_entry,
			cut->n_entry == 1 ? "" : "s");
	return 0;
}

int tn_txn_open(struct gt_fsroot *fs, bool clean, int *ret_fd, struct tn_journal **ret, struct gt_err *err)
{
	gt_auto(tn_journal) *j = NULL;
	gt_autoclose int fd = -1;
	int r = tn_journal_lock(fs, clean ? 0 : RECOVER_WAIT_S, &fd, err);

	if (r >= 0)
		r = tn_journal_load(fs, &j, err);
	if (r >= 0)
		r = tn_txn_check(j, clean, err);
	if (r < 0)
		return r;
	if (j->torn || j->unnumbered || tn_journal_find(j, TN_STATUS_VOID)) {
		r = tn_journal_rewrite(fs, j);
		if (r < 0)
			return gt_fail_exit(err, TN_EXIT_REFUSED, -r,
					    "cannot repair the journal in %s (%s): nothing is changed", TN_STATE_DIR,
					    strerror(-r));
		tn_journal_free(gt_take(j));
		r = tn_journal_load(fs, &j, err);
		if (r < 0)
			return r;
	}
	*ret_fd = fd;
	fd = -1;
	*ret = gt_take(j);
	return 0;
}
