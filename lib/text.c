/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/text.h"

char *gt_cut(char **rest, const char *sep)
{
	char *word = *rest ? *rest + strspn(*rest, sep) : NULL;

	if (!word || !*word) {
		*rest = NULL;
		return NULL;
	}
	*rest = word + strcspn(word, sep);
	if (**rest)
		*(*rest)++ = '\0';
	return word;
}

struct gt_words gt_words(const char *list, const char *sep)
{
	char *copy = list ? gt_xstrdup(list) : NULL;

	return (struct gt_words){ .copy = copy, .rest = copy, .sep = sep };
}

void gt_words_clear(struct gt_words *w)
{
	free(w->copy);
}

bool gt_span_in(const char *list, const char *sep, const char *word, size_t n)
{
	for (const char *p = list ? list : ""; *(p += strspn(p, sep)); p += strcspn(p, sep))
		if (strcspn(p, sep) == n && !strncmp(p, word, n))
			return true;
	return false;
}

bool gt_word_in(const char *list, const char *sep, const char *word)
{
	return gt_span_in(list, sep, word, strlen(word));
}

const char *gt_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *gt_dirname(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return gt_xstrdup(".");
	return slash == path ? gt_xstrdup("/") : gt_xstrndup(path, (size_t)(slash - path));
}
