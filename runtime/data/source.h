/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SOURCE_H
#define RT_SOURCE_H
/*
 * The interface of a source of samples: one const struct of functions. Sample i is available at any time and in any
 * thread. A source has either windows of tokens or encoded images with labels.
 */
#include "lib/err.h"
#include "runtime/data/loader.h"

struct rt_lengths;
struct rt_source;
/* Memory of a worker. Grows to the largest sample and is then reused. */
struct rt_scratch {
	unsigned char *bytes; /* contents of a file */
	size_t bytes_cap;
	struct rt_image_scratch *image;
};
int rt_scratch_bytes(struct rt_scratch *w, size_t n, struct gt_err *err);

struct rt_source_ops {
	const char *name;
	/* Fills x and y with seq ids each. */
	int (*tokens)(const struct rt_source *s, uint64_t i, int32_t *x, int32_t *y, struct gt_err *err);
	/* Fills x and y with the ids of document i and padding up to width. NULL: all samples have one length. */
	int (*document)(const struct rt_source *s, uint64_t i, int64_t width, int32_t *x, int32_t *y, uint64_t *ret_tokens,
			struct gt_err *err);
	/* Checks before batch `ticket` that the files are unchanged. May be NULL. */
	int (*check)(const struct rt_source *s, uint64_t ticket, struct gt_err *err);
	/* Reads the encoded image into w->bytes. -EBADMSG: this sample is unusable. NULL: a source of tokens. */
	int (*image)(const struct rt_source *s, uint64_t i, struct rt_scratch *w, size_t *ret_len, int64_t *ret_label,
		     struct gt_err *err);
	/* Returns "shard.tar: KEY at 10240"; freed by the caller. */
	char *(*where)(const struct rt_source *s, uint64_t i);
	void (*free)(struct rt_source *s);
};
struct rt_source {
	const struct rt_source_ops *ops;
	enum rt_data_kind kind;
	uint64_t n;	/* samples of both parts */
	uint64_t files;
	uint64_t bytes; /* size of all files together */
	json_t *truncated; /* messages about truncated shards */
	struct rt_lengths *lengths; /* lengths of documents, which are grouped by length */
};
void rt_source_free(struct rt_source *s);
GT_DEFINE_AUTO(rt_source, rt_source_free);

int rt_source_tokens(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
		     struct gt_err *err);
int rt_source_documents(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
			struct gt_err *err);
int rt_source_shards(const struct rt_loader_options *o, const struct gt_strv *files, struct rt_source **ret, struct gt_err *err);
int rt_source_folder(const struct rt_loader_options *o, const char *path, struct rt_source **ret, struct gt_err *err);
#endif
