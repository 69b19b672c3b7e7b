/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_EXPORT_H
#define BN_EXPORT_H
/* A result for other programs: metrics for Prometheus' textfile collector, and the session as a Chrome trace. */
#include "lib/buf.h"
#include "lib/json.h"

/* Of an analysed result (gpubench/1) or a receipt (gpubench-receipt): effects, verdicts and levels in base units, never raw
 * samples. The text is valid in Prometheus' text format and in OpenMetrics. */
void bn_openmetrics(const json_t *doc, struct gt_buf *out);

/* Launches as slices, one row per workload and one per pair; temperature, clock, load and pressure as counters; outliers as
 * instants. Opens in chrome://tracing and Perfetto. */
json_t *bn_chrome_trace(const json_t *doc);
#endif
