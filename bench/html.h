/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_HTML_H
#define BN_HTML_H
/* The frame of a one-file page: no network, no script, dark and light, narrow and wide. */
#include "lib/buf.h"
#include "lib/json.h"

void bn_html_open(struct gt_buf *out, const char *title, const char *description);
void bn_html_close(struct gt_buf *out);
void bn_html_section(struct gt_buf *out, const char *id, const char *heading); /* closes with </section> */
/* <td>/<th scope="row"> with escaped text; class may be NULL. */
void bn_html_cell(struct gt_buf *out, const char *tag, const char *class_name, const char *text);
/* Any document as data that no parser of HTML can leave: every "<" is written as \u003c. */
void bn_html_json(struct gt_buf *out, const char *id, const json_t *doc);
#endif
