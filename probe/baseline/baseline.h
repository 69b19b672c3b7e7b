/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_BASELINE_H
#define PR_BASELINE_H
/*
 * Compares a host with a baseline. A baseline is one of
 *
 *   a report       gpuprobe/1, the output of `gpuprobe --json` on a healthy host
 *   a capture      of such a host; converted to a report first
 *   expectations   lines "PATH OPERATOR VALUE" after [expect], patterns of paths after [allow]; first line
 *                  gpuprobe-baseline/1
 *
 * Values are compared by path: "kernel.release", "gpus[0000:17:00.0].link_width", "check.gpu.ecc". Values that differ
 * between two healthy hosts of one kind (names, free memory, clocks) are excluded. A value that is unreadable on this
 * host is unknown, not a difference.
 */
#include "lib/err.h"
#include "lib/json.h"

/* The values of a report by path, sorted. */
struct pr_value {
	char *path, *text;
	bool number;       /* text is a number */
	bool count;        /* the length of a list, at the path of the list itself */
	const char *state; /* "unknown", "unreadable" …: the reason why there is no value; NULL: there is one */
	char *element;     /* innermost list element that contains the value: "gpus[0000:17:00.0]"; NULL: none */
};
struct pr_values {
	struct pr_value *v;
	size_t n;
};
void pr_values_of(const json_t *report, struct pr_values *ret);
void pr_values_clear(struct pr_values *v);
const struct pr_value *pr_values_find(const struct pr_values *v, const char *path);

/* Matches a pattern in which '*' stands for any text and '?' for one character. No other character is special. */
bool pr_glob(const char *pattern, const char *s);

/* Compare a report with a second report, or with expectations (text), and return the document gpuprobe-baseline/1.
 * name: name of the text for error messages, which have exit status 64. allow: patterns of paths whose differences are
 * listed but do not count. */
json_t *pr_baseline_reports(const json_t *here, const json_t *golden, const struct gt_strv *allow);
int pr_baseline_expect(const json_t *here, const char *text, const char *name, const struct gt_strv *allow,
		       json_t **ret, struct gt_err *err);
#endif
