/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PLOTS_H
#define BN_PLOTS_H
/*
 * The plots of a result, drawn with svg.h. Arms differ by colour and by shape. Each has a title and a description.
 */
#include "lib/buf.h"
#include "lib/json.h"

/* All effects with their intervals; right is better. */
void bn_plot_forest(const json_t *doc, struct gt_buf *out);
/* Values of one metric in the order in which they were measured: drift is seen at once. */
void bn_plot_run_order(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
/* The change in each pair, A/A pairs beside them. */
void bn_plot_pairs(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
/* Histograms of all samples of one of doc.metrics, arm under arm (spread.c). False: there are none. */
bool bn_plot_spread(const json_t *doc, const json_t *metric, unsigned id, struct gt_buf *out);
/* The changes of a receipt as bars, among the others and alone, between that of all together and that of the kept ones. */
void bn_plot_ablation(const json_t *receipt, struct gt_buf *out);
#endif
