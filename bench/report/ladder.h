/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_REPORT_LADDER_H
#define BN_REPORT_LADDER_H
/* Ladders, rendered. */
#include <stdio.h>
#include "lib/buf.h"
#include "lib/json.h"

/* The answer in one line: what each ladder brings at most. Returns its class of colour: "better", "inconclusive", "measured" or
 * "invalid". */
const char *bn_ladder_headline(const json_t *doc, struct gt_buf *out);
void bn_ladder_text(const json_t *doc, FILE *out, bool color);
void bn_ladder_markdown(const json_t *doc, struct gt_buf *out);
void bn_ladder_html(const json_t *doc, struct gt_buf *out);
#endif
