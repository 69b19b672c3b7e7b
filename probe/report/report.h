/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_REPORT_H
#define PR_REPORT_H
/* The report as a document, and its comparison with a baseline. */
#include "lib/buf.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/check/check.h"

/* Returns the document gpuprobe/1. j: the n findings about h. */
json_t *pr_report_json(const struct pr_host *h, const struct pr_judged *j, size_t n, int exit_code);
/* Discovers the host in fs and runs the checks. */
int pr_report_of(struct gt_fsroot *fs, json_t **ret, struct gt_err *err);
/* Compares a report with the baseline of any kind in a file ("-": standard input). Returns the document gpuprobe-baseline/1. */
int pr_baseline_compare(const json_t *here, const char *name, const struct gt_strv *allow, json_t **ret,
			struct gt_err *err);
void pr_baseline_line(const json_t *doc, struct gt_buf *out);
void pr_baseline_print(const json_t *doc, bool quiet);
#endif
