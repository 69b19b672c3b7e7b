/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tar shards in the WebDataset layout: consecutive files whose names differ only after the first dot of their last
 * component form one sample. All headers are read when the shards are opened. Samples are then read by offset, in any
 * order.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "lib/json.h"
#include "lib/parse.h"
#include "runtime/data/files.h"
#include "runtime/data/source.h"
#include "runtime/data/tar.h"

#define LABEL_MAX	4096u		 /* bytes read from a .cls or .json file for a label */
#define IMAGE_MAX	(UINT64_C(1) << 30) /* bytes of an encoded image */
#define SAMPLES_MAX	(UINT64_C(1) << 32)
#define WINDOW		(256u << 10) /* bytes per read in the search for headers */

enum label { LABEL_NONE, LABEL_OK, LABEL_BAD };
struct sample {
	uint64_t at;
	uint32_t bytes, shard, name;
	int32_t label;
	enum label has_label;
};
struct shard {
	char *path;
	int fd;
};
struct shards {
	struct rt_source base;
	struct shard *shard;
	size_t n_shards;
	struct sample *sample;
	uint64_t cap;
	char *names; /* keys, concatenated */
	size_t names_len, names_cap;
};

/* ---- scan of one tar file ---- */

struct scan {
	struct shards *all;
	uint32_t shard;
	const char *path;
	int fd;
	unsigned char *window;
	uint64_t window_at, window_len, len;
	/* the current sample */
	char key[RT_TAR_NAME + 1];
	struct sample now;
	bool open, has_image;
};

/*
 * Headers are between files of any size. With small files, headers are read in larger windows; with large files, each
 * header is read by itself.
 */
static int scan_read(void *arg, uint64_t at, void *out, size_t n, struct gt_err *err)
{
	struct scan *s = arg;

	if (at < s->window_at || at + n > s->window_at + s->window_len) {
		size_t want = (size_t)GT_MIN((uint64_t)WINDOW, s->len - at);
		int r;

		if (n > want || at >= s->window_at + s->window_len + WINDOW)
			want = n;
		if (want > WINDOW)
			return rt_file_read_at(s->fd, s->path, at, out, n, err);
		r = rt_file_read_at(s->fd, s->path, at, s->window, want, err);
		if (r)
			return r;
		s->window_at = at;
		s->window_len = want;
	}
	memcpy(out, s->window + (at - s->window_at), n);
	return 0;
}

/* Splits a name into key and extension: "a/b.c/000.seg.png" is "a/b.c/000" and "seg.png". */
static const char *split(char *name)
{
	char *base = strrchr(name, '/'), *dot = strchr(base ? base + 1 : name, '.');

	if (!dot)
		return NULL;
	*dot = '\0';
	return dot + 1;
}

static int end_sample(struct scan *s, struct gt_err *err)
{
	struct shards *all = s->all;
	size_t len = strlen(s->key) + 1;

	if (!s->open || !s->has_image)
		return 0;
	if (all->base.n == all->cap) {
		all->cap = all->cap ? 2 * all->cap : 1024;
		all->sample = gt_xrealloc(all->sample, (size_t)all->cap * sizeof(*all->sample));
	}
	if (all->base.n >= SAMPLES_MAX || all->names_len + len > UINT32_MAX)
		return gt_fail(err, E2BIG, "%s: too many samples", s->path);
	if (all->names_len + len > all->names_cap) {
		all->names_cap = 2 * all->names_cap + 65536;
		all->names = gt_xrealloc(all->names, all->names_cap);
	}
	memcpy(all->names + all->names_len, s->key, len);
	s->now.name = (uint32_t)all->names_len;
	all->names_len += len;
	all->sample[all->base.n++] = s->now;
	return 0;
}

static void read_label(struct scan *s, uint64_t at, uint64_t size, bool json)
{
	char text[LABEL_MAX + 1] = "";
	gt_auto_json *doc = NULL;
	uint64_t v;

	if (s->now.has_label == LABEL_OK)
		return;
	s->now.has_label = json ? LABEL_NONE : LABEL_BAD;
	if (size > LABEL_MAX || scan_read(s, at, text, (size_t)size, NULL) < 0)
		return;
	if (!json && !gt_parse_u64(gt_strip(text), &v) && v <= INT32_MAX) {
		s->now.label = (int32_t)v;
		s->now.has_label = LABEL_OK;
	}
	if (json && !gt_json_parse(text, (size_t)size, "label", &doc, NULL)) {
		int64_t label = gt_json_get_int(doc, "label", gt_json_get_int(doc, "cls", -1));

		s->now.label = (int32_t)label;
		s->now.has_label = label >= 0 && label <= INT32_MAX ? LABEL_OK : LABEL_NONE;
	}
}

static void add_member(struct scan *s, const char *extension, uint64_t at, uint64_t size)
{
	if (gt_streq(extension, "jpg") || gt_streq(extension, "jpeg") || gt_streq(extension, "png")) {
		s->now.at = at;
		/* larger files keep their place in the order and are refused when they are read */
		s->now.bytes = (uint32_t)GT_MIN(size, IMAGE_MAX + 1);
		s->now.shard = s->shard;
		s->has_image = true;
	} else if (gt_streq(extension, "cls") || gt_streq(extension, "json")) {
		read_label(s, at, size, extension[0] == 'j');
	}
}

static int scan_shard(struct scan *s, struct gt_err *err)
{
	struct rt_tar t = { .read = scan_read, .arg = s, .len = s->len };
	gt_autofree struct rt_tar_entry *e = gt_xcalloc(1, sizeof(*e));
	struct gt_err why = { 0 };
	uint64_t at = 0;
	int r;

	while ((r = rt_tar_next(&t, e, &at, &why)) == 1) {
		const char *extension = split(e->name);

		if (!extension)
			continue;
		if (!s->open || strcmp(s->key, e->name) != 0) {
			r = end_sample(s, err);
			if (r)
				return r;
			memcpy(s->key, e->name, sizeof(s->key));
			s->now = (struct sample){ 0 };
			s->open = true;
			s->has_image = false;
		}
		add_member(s, extension, at, e->size);
	}
	if (r == -EBADMSG && s->all->base.n) { /* samples before the damage are usable */
		gt_autofree char *text = gt_xasprintf("%s at %" PRIu64 ": %s", s->path, at, why.msg);

		json_array_append_new(s->all->base.truncated, gt_json_str(text));
		r = 0;
	}
	if (r < 0)
		return gt_fail(err, -r, "%s at %" PRIu64 ": %s", s->path, at, why.msg);
	return end_sample(s, err);
}

/* ---- the source ---- */

static int shards_image(const struct rt_source *base, uint64_t i, struct rt_scratch *w, size_t *ret_len, int64_t *ret_label,
			struct gt_err *err)
{
	const struct shards *s = (const struct shards *)base;
	const struct sample *a = &s->sample[i];
	int r;

	if (a->has_label != LABEL_OK)
		return gt_fail(err, EBADMSG, a->has_label == LABEL_BAD ? "its .cls does not contain a number" :
									 "it has no label: there is no .cls, and no \"label\" "
									 "in .json");
	if (a->bytes > IMAGE_MAX)
		return gt_fail(err, EBADMSG, "an image of more than 1 GiB");
	r = rt_scratch_bytes(w, a->bytes, err);
	if (!r)
		r = rt_file_read_at(s->shard[a->shard].fd, s->shard[a->shard].path, a->at, w->bytes, a->bytes, err);
	*ret_len = a->bytes;
	*ret_label = a->label;
	return r;
}

static char *shards_where(const struct rt_source *base, uint64_t i)
{
	const struct shards *s = (const struct shards *)base;
	const struct sample *a = &s->sample[i];

	return gt_xasprintf("%s: %s at %" PRIu64, s->shard[a->shard].path, s->names + a->name, a->at);
}

static void shards_free(struct rt_source *base)
{
	struct shards *s = (struct shards *)base;

	for (size_t i = 0; i < s->n_shards; i++) {
		close(s->shard[i].fd);
		free(s->shard[i].path);
	}
	free(s->shard);
	free(s->sample);
	free(s->names);
	free(s);
}

static const struct rt_source_ops shards_ops = {
	.name = "shards", .image = shards_image, .where = shards_where, .free = shards_free,
};

static int add_shard(struct shards *s, const char *path, unsigned char *window, struct gt_err *err)
{
	struct scan scan = { .all = s, .shard = (uint32_t)s->n_shards, .path = path, .window = window };
	int r = rt_file_open(path, &scan.fd, &scan.len, err);

	if (r)
		return r;
	s->shard[s->n_shards++] = (struct shard){ gt_xstrdup(path), scan.fd };
	s->base.bytes += scan.len;
	return scan_shard(&scan, err);
}

int rt_source_shards(const struct rt_loader_options *o, const struct gt_strv *files, struct rt_source **ret, struct gt_err *err)
{
	gt_autofree unsigned char *window = gt_xcalloc(WINDOW, 1);
	struct shards *s = gt_xcalloc(1, sizeof(*s));
	gt_auto(rt_source) *base = &s->base;

	*base = (struct rt_source){ .ops = &shards_ops, .kind = RT_DATA_SHARDS, .files = files->n, .truncated = json_array() };
	s->shard = gt_xcalloc(files->n + 1, sizeof(*s->shard));
	for (size_t i = 0; i < files->n; i++) {
		int r = add_shard(s, files->v[i], window, err);

		if (r)
			return r;
	}
	if (!base->n)
		return gt_fail(err, ENODATA, "%s: no sample with a .jpg, .jpeg or .png in it", o->path);
	*ret = gt_take(base);
	return 0;
}
