/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TEXT_H
#define GT_TEXT_H
/* Words, lines and file names in text. */
#include "lib/util.h"

/* Returns the next word of *rest, or NULL if there is none or *rest is NULL. Words are separated by bytes of sep.
 * Terminates the word with NUL and advances *rest past it. */
char *gt_cut(char **rest, const char *sep);

struct gt_words {
	char *copy, *rest;
	const char *sep;
	bool ended;
};
struct gt_words gt_words(const char *list, const char *sep);
void gt_words_clear(struct gt_words *w);
#define gt_auto_words	__attribute__((cleanup(gt_words_clear))) struct gt_words

/* gt_each_word(w, "a, b", ", ") runs its body with char *w for each word of a list. The list is not changed; NULL is an
 * empty list. w is valid until the loop ends. */
#define gt_each_word(word, list, separators)                                                                           \
	for (gt_auto_words gt_in_##word = gt_words(list, separators); !gt_in_##word.ended; gt_in_##word.ended = true)  \
		for (char *word; (word = gt_cut(&gt_in_##word.rest, gt_in_##word.sep));)

/* gt_each_line(line, text) runs its body with char *line for each non-empty line of text. Splits the text in place;
 * NULL is an empty text. Use strsep(3) if empty lines count, as for line numbers. */
#define gt_each_line(line, text)                                                                                       \
	for (char *gt_after_##line = (text), *line; (line = gt_cut(&gt_after_##line, "\n"));)

bool gt_word_in(const char *list, const char *sep, const char *word); /* list NULL: false */
bool gt_span_in(const char *list, const char *sep, const char *word, size_t n); /* for a word of n bytes */
const char *gt_basename(const char *path); /* the part after the last slash */
char *gt_dirname(const char *path); /* the directory: "/" of "/a", "." of "a"; the caller frees it */
#endif
