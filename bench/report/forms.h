/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_FORMS_H
#define BN_FORMS_H
/* The kinds of documents that have a report. The command that makes a document prints it, and so does `gpubench report`. */
#include "bench/report/view.h"
#include "bench/result/outputs.h"
#include "lib/cli.h"

/* The view of each kind of document. Pure. page: adds the blocks that only the page shows, such as the plots of each
 * metric. */
struct bn_view *bn_view_result(const json_t *doc, bool page);
struct bn_view *bn_view_receipt(const json_t *receipt);
struct bn_view *bn_view_fleet(const json_t *doc);
struct bn_view *bn_view_history(const json_t *doc);
struct bn_view *bn_view_ladder(const json_t *doc);

/* How a kind of document is printed, except the result of a session. */
struct bn_form {
	const char *schema;
	const char *what; /* "a receipt" */
	struct bn_view *(*view)(const json_t *doc);
	void (*openmetrics)(const json_t *doc, struct gt_buf *out); /* NULL: none */
	const char *older; /* an older schema that is rendered in the same way, or NULL */
};
extern const struct bn_form bn_form_receipt, bn_form_fleet, bn_form_history, bn_form_ladder;

/* Returns the form for a document's schema in any version, or NULL. */
const struct bn_form *bn_form_of(const json_t *doc);
/* Fails like gt_json_check_schema() unless the document has the schema of the form or the older one. */
int bn_form_check_schema(const struct bn_form *form, const json_t *doc, const char *path, struct gt_err *err);
/* Writes the page and Markdown, like bn_output_write(). */
void bn_view_write(const struct bn_view *v, const struct bn_outputs *out, int *r, struct gt_err *err);
/* Writes the files. Prints the view (with --json the document) unless one of the files is stdout. Fails with exit
 * status 64 for an output that the form does not have. */
int bn_form_publish(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out);
/* Does the same for a session, which can also write its trace. The view is printed even if a file cannot be written. */
int bn_result_publish(struct gt_cli *cli, json_t *doc, const struct bn_outputs *out);
/* Ends a command that judges results: calls bn_form_publish() and returns the exit status of the judgement. An
 * inconclusive one without require_conclusive returns 0. Errors are a negative errno. */
int bn_form_publish_verdict(struct gt_cli *cli, const struct bn_form *form, const json_t *doc, const struct bn_outputs *out,
			    bool require_conclusive);
#endif
