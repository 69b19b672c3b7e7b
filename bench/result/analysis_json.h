/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ANALYSIS_JSON_H
#define BN_ANALYSIS_JSON_H
#include "bench/result/analyze.h"

/* Writes levels, comparisons, guards_open, outliers, warnings, summary, verdict and exit_code into the document.
 * Existing members are replaced. */
void bn_analysis_write(const struct bn_analysis *a, json_t *doc);
/* Analyses the session and writes the analysis into data->doc. Returns the exit code. */
int bn_analyze(const struct bn_data *data, const struct bn_limits *limits);
#endif
