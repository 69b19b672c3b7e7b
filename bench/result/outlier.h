/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OUTLIER_H
#define BN_OUTLIER_H
/*
 * Launches far from the others of their arm, with the most likely cause on the host. Outliers are reported and never
 * removed. A user can fix the host once the cause is known. A report without outliers would describe a different host.
 */
#include "bench/result/data.h"

/* Returns an array of {seq, block, arm, metric, deviation_pct, cause, code}. cause is null if no reading was unusual. */
json_t *bn_outliers(const struct bn_data *data);
#endif
