/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LOG_RATES_H
#define PR_LOG_RATES_H
#include "probe/check/check.h"

/* Sets the finding if the rate of corrected errors, or a counter of uncorrected errors, of the running check's subject is
 * too high. Returns whether it is. Evaluates PCIe (log.pcie) and memory (log.hardware). */
bool pr_log_judge_rates(const struct pr_context *c, struct pr_finding *f);
#endif
