/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_BASELINE_PRIV_H
#define PR_BASELINE_PRIV_H
#include "probe/baseline/baseline.h"

enum pr_grade { PR_GRADE_SAME, PR_GRADE_WARNING, PR_GRADE_CRITICAL, PR_GRADE_UNKNOWN };

struct pr_comparison {
	struct pr_values here;
	const struct gt_strv *allow;
	json_t *differences, *allowed;
	size_t compared, counts[4];
};

void pr_baseline_start(struct pr_comparison *c, const json_t *here, const struct gt_strv *allow);
/* Adds one difference. here or expected NULL: missing on that side. */
void pr_baseline_differ(struct pr_comparison *c, enum pr_grade g, const char *path, const char *here,
			const char *expected);
/* Returns the document and frees the content of the comparison. */
json_t *pr_baseline_finish(struct pr_comparison *c, const char *kind);
enum pr_grade pr_grade_of_check(const char *result);
/* Returns whether healthy hosts of one kind differ at this path. */
bool pr_baseline_excluded(const char *path);
/*
 * Returns the part of a value that is compared between hosts: of the command line all words except those about the disk,
 * of a size all digits except the last. The caller frees it. NULL: the whole text.
 */
char *pr_baseline_text(const struct pr_value *value);
/* Returns whether a smaller value at this path means broken hardware. */
bool pr_is_hardware(const char *path);
#endif
