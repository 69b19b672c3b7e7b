/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/hint.h"
#include "lib/util.h"

unsigned gt_edits(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned row[64];

	if (n >= GT_ARRAY_SIZE(row) || m >= GT_ARRAY_SIZE(row))
		return 9;
	for (size_t j = 0; j <= m; j++)
		row[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned diag = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned up = row[j];

			row[j] = GT_MIN(GT_MIN(up, row[j - 1]) + 1, diag + (a[i - 1] != b[j - 1]));
			diag = up;
		}
	}
	return row[m];
}

char *gt_hint(const char *word, gt_word *all, const char *otherwise)
{
	const char *best = NULL;
	unsigned distance = 3;

	for (size_t i = 0; all(i); i++)
		if (gt_edits(all(i), word) < distance) {
			distance = gt_edits(all(i), word);
			best = all(i);
		}
	return best ? gt_xasprintf("did you mean %s?", best) : gt_xstrdup(otherwise);
}
