/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RECEIPT_H
#define TN_RECEIPT_H
/* A plan from a receipt of gpubench prove, gpubench-receipt/2. */
#include "tune/plan/plan.h"

/*
 * Makes a plan of the kept knobs with their proven values; all other knobs are skipped. Refuses (exit 3) a receipt of another host,
 * kernel or driver major, one older than 90 days, and one without a confirmed knob. Refuses also a value that no plan may have and
 * a statement that the samples contradict. A file that is no receipt: exit 64.
 */
int tn_plan_from_receipt(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan_opts *opts, const char *path,
			 struct tn_plan **ret, struct gt_err *err);
/* Adds the kept changes of a receipt, read from the file path, to the plan. Checks all of doc, which is foreign input. Pure.
 * marks: fingerprint of this host (probe/host/machine_fingerprint.h). */
int tn_plan_take_receipt(const json_t *doc, const char *path, const struct pr_host *host, const json_t *marks,
			 struct tn_plan *plan, struct gt_err *err);
#endif
