/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_FORMS_H
#define BN_FORMS_H
/* Documents that hold their answer, beside results of sessions: receipts, judgements of many results, ladders. Each is
 * drawn by the command that makes it, and from its file by `gpubench report`. */
#include <stdio.h>
#include "bench/report/view.h"
#include "bench/result/outputs.h"
#include "lib/cli.h"

struct bn_form {
	const char *schema;
	const char *what; /* "a receipt" */
	struct bn_view *(*view)(const json_t *doc); /* NULL: text, html and markdown render it */
	void (*text)(const json_t *doc, FILE *out, bool color);
	void (*html)(const json_t *doc, struct gt_buf *out);
	void (*markdown)(const json_t *doc, struct gt_buf *out);
	void (*openmetrics)(const json_t *doc, struct gt_buf *out); /* NULL: it has none */
	const char *older; /* a schema that is rendered in the same way; NULL: none */
};
extern const struct bn_form bn_form_receipt, bn_form_fleet, bn_form_history, bn_form_ladder;

/* The form of a document by its schema, whatever its version; NULL: none of these. */
const struct bn_form *bn_form_of(const json_t *doc);
/* Fails as gt_json_check_schema() unless the document has the schema of the form or the older one. */
int bn_form_check_schema(const struct bn_form *form, const json_t *doc, const char *path, struct gt_err *err);
/* Files and, unless stdout is taken by one of them, the table (or with --json the document). Exit 64 for a form it has
 * not. */
int bn_form_publish(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out);
/* The same of a session, whose trace can be written too. The table is printed even if a file cannot be written. */
int bn_result_publish(struct gt_cli *cli, json_t *doc, const struct bn_outputs *out);

/* The views, one for each kind of document. Pure. */
struct bn_view *bn_view_result(const json_t *doc);
/* How a command that judges results ends: bn_form_publish(), then the exit status that the judgement names, 0 for an
 * inconclusive one that nobody required; or a negative errno. */
int bn_form_publish_verdict(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out,
			    bool require_conclusive);
/* Foreign text inside Markdown: nothing in it is markup, a line break is a blank. */
void bn_md_text(struct gt_buf *out, const char *s);
/* One row of a table. */
void bn_md_row(struct gt_buf *out, const char *const *cells, size_t n);
#endif
