/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_BASELINE_H
#define PR_BASELINE_H
/*
 * A host against what it should be. A baseline is one of
 *
 *   a report       gpuprobe/1, as `gpuprobe --json` of a host that is well writes it
 *   a capture      of such a host; the same is made of it
 *   expectations   lines "PATH OPERATOR VALUE" after [expect], patterns of paths after [allow]; first line
 *                  gpuprobe-baseline/1
 *
 * Compared are values by path: "kernel.release", "gpus[0000:17:00.0].link_width", "check.gpu.ecc". What differs between
 * two sound hosts of one kind (names, free memory, clocks) is left out; what is not readable here is unknown, not a
 * difference.
 */
#include "lib/err.h"
#include "lib/json.h"

/* The values of a report by path, sorted. */
struct pr_value {
	char *path, *text;
	bool number;       /* text is one */
	bool count;        /* the length of a list, at the list's own path */
	const char *state; /* "unknown", "unreadable" …: it has no value; NULL: it has */
	char *element;     /* "gpus[0000:17:00.0]": the innermost list element it is of; NULL: none */
};
struct pr_values {
	struct pr_value *v;
	size_t n;
};
void pr_values_of(const json_t *report, struct pr_values *ret);
void pr_values_clear(struct pr_values *v);
const struct pr_value *pr_values_find(const struct pr_values *v, const char *path);

/* Where '*' stands for anything and '?' for one character; nothing else is special. */
bool pr_glob(const char *pattern, const char *s);

/* The document gpuprobe-baseline/1 for a report against a report, or against expectations (text; name is for sentences,
 * which for those have exit status 64). allow: patterns of paths whose differences are listed but do not count. */
json_t *pr_baseline_reports(const json_t *here, const json_t *golden, const struct gt_strv *allow);
int pr_baseline_expect(const json_t *here, const char *text, const char *name, const struct gt_strv *allow,
		       json_t **ret, struct gt_err *err);
#endif
