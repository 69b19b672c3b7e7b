/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RECEIPT_H
#define TN_RECEIPT_H
/* Plans from receipts of gpubench prove (gpubench-receipt/2). */
#include "tune/plan/plan.h"

/*
 * Makes a plan of the kept tunables with their proven values. All other tunables are skipped. Exit 3 for a receipt of another
 * host, kernel or major driver version. Also exit 3 for one older than 90 days, and for one without a confirmed tunable. Exit 3
 * also for a value that no plan may have and for a statement that contradicts the samples. Exit 64 if the file is no receipt.
 */
int tn_plan_from_receipt(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, const char *path,
			 struct tn_plan **ret, struct gt_err *err);
/* Adds the kept changes of a receipt to the plan. path is the file that doc was read from. doc is untrusted input, so
 * all of it is checked. Pure. marks: fingerprint of this host (probe/host/machine_fingerprint.h). */
int tn_plan_take_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks,
			 struct tn_plan *plan, struct gt_err *err);
#endif
