/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OUTLIER_H
#define BN_OUTLIER_H
/*
 * Launches far from the others of their arm, with what else went on on the host at the time. They are named and never
 * removed: who knows the cause can mend the host, and who removed them would report a host that does not exist.
 */
#include "bench/result/data.h"

/* Array of {seq, block, arm, metric, deviation_pct, cause, code}; cause null where nothing else stood out. */
json_t *bn_outliers(const struct bn_data *data);
#endif
