/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_SOURCE_H
#define RT_SOURCE_H
/*
 * Where samples come from. A source is one const struct of functions; sample i can be had at any time, from any thread. It has
 * either windows of tokens or encoded images with a label.
 */
#include "lib/err.h"
#include "runtime/data/loader.h"

struct rt_lengths;
struct rt_source;
/* A worker's memory: grows to the largest sample, and is then reused. */
struct rt_scratch {
	unsigned char *bytes; /* a file's */
	size_t bytes_cap;
	struct rt_image_scratch *image;
};
int rt_scratch_bytes(struct rt_scratch *w, size_t n, struct gt_err *err);

struct rt_source_ops {
	const char *name;
	/* x, y: seq ids each. */
	int (*tokens)(const struct rt_source *s, uint64_t i, int32_t *x, int32_t *y, struct gt_err *err);
	/* Document i: its ids, x and y filled up to width. NULL: samples have one length. */
	int (*document)(const struct rt_source *s, uint64_t i, int64_t width, int32_t *x, int32_t *y, uint64_t *ret_tokens,
			struct gt_err *err);
	/* Before batch `ticket`: files are still what they were. May be NULL. */
	int (*check)(const struct rt_source *s, uint64_t ticket, struct gt_err *err);
	/* NULL: a source of tokens. The encoded image into w->bytes. -EBADMSG: this sample is unusable. */
	int (*image)(const struct rt_source *s, uint64_t i, struct rt_scratch *w, size_t *ret_len, int64_t *ret_label,
		     struct gt_err *err);
	/* "shard.tar: KEY at 10240"; the caller frees it. */
	char *(*where)(const struct rt_source *s, uint64_t i);
	void (*free)(struct rt_source *s);
};
struct rt_source {
	const struct rt_source_ops *ops;
	enum rt_data_kind kind;
	uint64_t n;	/* samples, both parts */
	uint64_t files;
	uint64_t bytes; /* of all files */
	json_t *truncated; /* shards that end early: sentences */
	struct rt_lengths *lengths; /* of documents, grouped by them */
};
void rt_source_free(struct rt_source *s);

int rt_source_tokens(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
		     struct gt_err *err);
int rt_source_documents(const struct rt_loader_options *o, const struct gt_strv *files, bool text, struct rt_source **ret,
			struct gt_err *err);
int rt_source_shards(const struct rt_loader_options *o, const struct gt_strv *files, struct rt_source **ret, struct gt_err *err);
int rt_source_folder(const struct rt_loader_options *o, const char *path, struct rt_source **ret, struct gt_err *err);
#endif
