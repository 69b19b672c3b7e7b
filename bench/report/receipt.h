/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_REPORT_RECEIPT_H
#define BN_REPORT_RECEIPT_H
/* A receipt, rendered. */
#include <stdio.h>
#include "bench/result/text.h"

void bn_prove_html(const json_t *receipt, struct gt_buf *out);
void bn_prove_text(const json_t *receipt, FILE *out, bool color);
void bn_prove_markdown(const json_t *receipt, struct gt_buf *out);
/* A change of a receipt by itself: "-2.4 % [-2.9, -1.8]", or "-" where that was not measured. */
struct bn_text bn_prove_alone(const json_t *knob);
/* What the effects of a receipt's changes are effects of: a sentence, static. */
const char *bn_prove_meaning(const json_t *receipt);
/* Its changes as bars, among the others and alone, between that of all together and that of what is kept (ablation.c). */
void bn_prove_ablation(const json_t *receipt, struct gt_buf *out);
/* Of one change of a receipt, to be put behind its verdict: ", a guard is worse", or nothing. */
const char *bn_prove_guard(const json_t *knob);
/* The answer in one line, and its class of colour: "better", "same" or "inconclusive". */
const char *bn_prove_headline(const json_t *receipt, struct gt_buf *out);
/* "cpu.governor powersave -> performance (midway; confirm)" */
void bn_prove_difference(const json_t *confounder, struct gt_buf *out);
#endif
