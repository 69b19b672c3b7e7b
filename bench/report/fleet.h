/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_REPORT_FLEET_H
#define BN_REPORT_FLEET_H
/* The judgement of many hosts and the history of one, rendered. */
#include <stdio.h>
#include "bench/result/text.h"

/* The answer in one line: "WORSE: there are hosts that the others leave behind". */
struct bn_text bn_fleet_headline(const json_t *doc);
struct bn_text bn_history_headline(const json_t *doc);
/* As text, as a page and as Markdown. */
void bn_fleet_text(const json_t *doc, FILE *out, bool color);
void bn_history_text(const json_t *doc, FILE *out, bool color);
void bn_fleet_html(const json_t *doc, struct gt_buf *out);
void bn_history_html(const json_t *doc, struct gt_buf *out);
void bn_fleet_markdown(const json_t *doc, struct gt_buf *out);
void bn_history_markdown(const json_t *doc, struct gt_buf *out);
#endif
