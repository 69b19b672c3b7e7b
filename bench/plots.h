/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PLOTS_H
#define BN_PLOTS_H
/*
 * Plots as inline SVG. Horizontal positions are percentages and heights pixels, so that a plot fills its place at any
 * width and its text keeps its size. Arms differ by colour and by shape. Each has a title and a description.
 */
#include "lib/buf.h"
#include "lib/json.h"

/* All effects with their intervals; right is better. */
void bn_plot_forest(const json_t *doc, struct gt_buf *out);
/* Values of one metric in the order in which they were measured: drift is seen at once. */
void bn_plot_run_order(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
/* The change in each pair, A/A pairs beside them. */
void bn_plot_pairs(const json_t *doc, const json_t *comparison, unsigned id, struct gt_buf *out);
#endif
