/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_TOKENS_H
#define RT_TOKENS_H
#include "lib/err.h"
#include "runtime/data/files.h"
#include "runtime/data/source.h"

struct rt_token_file {
	int bytes;	 /* bytes of an id: 1, 2, 4 */
	uint64_t at;	 /* offset of the first id */
	uint64_t tokens;
};
/* Parses the first `have` bytes of a file of len bytes. -EBADMSG: truncated, or an unknown version. -EINVAL: not the
 * requested type. The returned range is inside the file. */
int rt_token_file_parse(const unsigned char *p, uint64_t have, uint64_t len, enum rt_token_type type, const char *name,
			struct rt_token_file *ret, struct gt_err *err);

/* Mapped files of ids, concatenated. */
struct rt_token_map {
	struct rt_map map;
	char *path;
	struct rt_token_file head;
	uint64_t first; /* index of the file's first window, or of its first token among all files */
};
struct rt_tokens {
	struct rt_source base;
	struct rt_token_map *file;
	size_t n;
	int64_t seq, vocab;
	uint64_t tokens; /* number of tokens in all files */
	/* for documents: documents.c */
	uint64_t *sample;
};
/* Maps the files. The caller sets up windows and documents. */
int rt_tokens_open(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_tokens **ret,
		   struct gt_err *err);
void rt_tokens_free(struct rt_source *s);
const struct rt_token_map *rt_tokens_file(const struct rt_tokens *t, uint64_t i); /* the last file whose first is <= i */
/* Checks that some of the files still have their length. The ticket selects the files. */
int rt_tokens_check(const struct rt_source *s, uint64_t ticket, struct gt_err *err);
/* Copies seq + 1 ids to x and, shifted by one, to y. -ERANGE: an id is not in the vocabulary. at: index of the first id
 * in its file. */
int rt_tokens_take(const struct rt_tokens *t, const struct rt_token_map *f, uint64_t at, int64_t seq, int32_t *x, int32_t *y,
		   struct gt_err *err);

/* Finds the end of the document that starts at id `at` of `tokens` ids, including its end mark, and the start of the
 * next document. */
uint64_t rt_document_end(const unsigned char *p, int bytes, uint64_t tokens, uint64_t at, const struct rt_documents *how,
			 uint64_t *ret_next);
#endif
