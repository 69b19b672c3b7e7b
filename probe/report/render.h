/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_RENDER_H
#define PR_RENDER_H
/* Render a gpuprobe/1 document in other formats, appended to out. */
#include "lib/buf.h"
#include "lib/json.h"

void pr_render_line(const json_t *doc, struct gt_buf *out);	/* one line for monitoring plug-ins */
void pr_render_markdown(const json_t *doc, struct gt_buf *out); /* text for a bug report */
void pr_render_metrics(const json_t *doc, struct gt_buf *out);	/* OpenMetrics for Prometheus, gauges only */
/* The check that decides the verdict: the cause, else the first check with the result "unknown", else NULL. */
const json_t *pr_deciding_check(const json_t *doc);
/* The problem of check c in a few words: what it found, without the explanation after ": ". c may be NULL. The caller frees it. */
char *pr_headline(const json_t *c);
/* Returns whether c is a failure or warning without a cause among the other checks. */
bool pr_is_problem(const json_t *c);
/* "Cause" if other checks name c as their cause, else "Failure" or "Warning". */
const char *pr_problem_label(const json_t *checks, const json_t *c);
/* Returns a sentence about the source of the kernel log, or about what was not examined; NULL: the source is unknown. */
const char *pr_log_note(const json_t *doc);
/* Prints the report on stdout. verbose: a table of all checks; quiet: the verdict only. */
void pr_print_report(const json_t *doc, bool verbose, bool quiet, bool color);
#endif
