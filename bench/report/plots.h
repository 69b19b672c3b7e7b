/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PLOTS_H
#define BN_PLOTS_H
/*
 * The plots of documents, as inline SVG with title and description. Arms differ by colour and by shape.
 */
#include "lib/buf.h"
#include "lib/json.h"

/* All effects with their intervals; right is better. */
void bn_plot_forest(const json_t *doc, struct gt_buf *out);
/* Values of one metric in the order of measurement: shows drift. */
void bn_plot_run_order(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
/* The change in each pair, and in A/A pairs. */
void bn_plot_pairs(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
/* Histograms of all samples of one of doc.metrics, one arm below the other (samples_plot.c). False: no samples. */
bool bn_plot_samples(const json_t *doc, const json_t *metric, unsigned id, struct gt_buf *out);
/* The changes of a receipt as bars, among the others and alone. The rows before and after them are all changes together
 * and the kept changes. */
void bn_plot_ablation(const json_t *receipt, struct gt_buf *out);
#endif
