/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_EXPORT_H
#define BN_EXPORT_H
/* A result for other programs: metrics for the textfile collector of Prometheus, and the session as a Chrome trace. */
#include "lib/buf.h"
#include "lib/json.h"

/* Prints the effects, verdicts and levels of an analysed result (gpubench/1) or a receipt (gpubench-receipt) in base
 * units, without raw samples. The text is valid as Prometheus text format and as OpenMetrics. */
void bn_openmetrics(const json_t *doc, struct gt_buf *out);

/* Returns launches as slices, one row per workload and one per pair. Temperature, clock, load and pressure are
 * counters, outliers are instants. The trace opens in chrome://tracing and Perfetto. */
json_t *bn_chrome_trace(const json_t *doc);
#endif
