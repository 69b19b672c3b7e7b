/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_CHECK_PLAN_H
#define TN_CHECK_PLAN_H
#include "tune/plan/plan.h"

/* Checks that this is the plan's host and that no changed item differs from the plan. Exit 3 with a sentence if not. */
int tn_plan_check_host(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, struct gt_err *err);
/* Checks that the item's value is the same as in the plan and that its preconditions hold. Exit 3 with a sentence if
 * not. */
int tn_plan_check_item(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_plan *plan, const struct tn_item *i,
		       struct gt_err *err);
#endif
