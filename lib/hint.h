/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_HINT_H
#define GT_HINT_H
/* Suggestions for misspelled words. */
#include <stddef.h>

/* Returns word i of a set, such as the ids of checks; NULL after the last. */
typedef const char *gt_word(size_t i);

/* Returns "did you mean X?" for the nearest word within two edits, else a copy of `otherwise`. The caller frees it. */
char *gt_hint(const char *word, gt_word *all, const char *otherwise);
/* Returns the number of single-letter edits between two words, 9 if one has 64 letters or more. */
unsigned gt_edits(const char *a, const char *b);
#endif
