/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_HTML_H
#define BN_HTML_H
/* The frame of a one-file page: no network, no script, dark and light, narrow and wide. */
#include "lib/buf.h"
#include "lib/json.h"

extern const char bn_page_css[];
void bn_html_open(struct gt_buf *out, const char *title, const char *description);
void bn_html_close(struct gt_buf *out);
/* The class of colour of a verdict; of what is none of ours, and so may be anybody's text, "inconclusive". */
const char *bn_html_class(const char *verdict);
/* The answer, first on the page: what stands before the first ": " of the headline, large, and the rest. verdict: its
 * colour, as bn_html_class() has it; soft: one more line, or NULL. */
void bn_html_verdict(struct gt_buf *out, const char *verdict, const char *headline, const char *soft);
void bn_html_nav(struct gt_buf *out, const char *const *section); /* pairs of id and name, then NULL */
void bn_html_section(struct gt_buf *out, const char *id, const char *heading); /* closes with </section> */
/* <td>/<th scope="row"> with escaped text; class may be NULL. */
void bn_html_cell(struct gt_buf *out, const char *tag, const char *class_name, const char *text);
/* A data cell that carries its column's name, for the stacked form on narrow screens. Class "w": may break anywhere. */
void bn_html_data(struct gt_buf *out, const char *class_name, const char *head, const char *text);
/* Settings {key, moves_it} that may be a cause, as a list in a cell; say: what is said of one. none: where there are none. */
void bn_html_list_cell(struct gt_buf *out, const char *head, const json_t *list, const char *none,
		       void (*say)(const json_t *item, struct gt_buf *out));
/* Opens a table with its caption and column heads; "</tbody></table>" ends it. Class "stack" stacks it on narrow screens. */
void bn_html_table(struct gt_buf *out, const char *class_name, const char *caption, const char *const *heads,
		   const char *const *classes, size_t n);
void bn_html_notes(struct gt_buf *out, const json_t *warnings); /* an array of {text, hint}; nothing where it is empty */
/* Any document as data that no parser of HTML can leave: every "<" is written as \u003c. */
void bn_html_json(struct gt_buf *out, const char *id, const json_t *doc);
#endif
