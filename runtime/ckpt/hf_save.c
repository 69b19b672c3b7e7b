/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Saves a program's parameters as a directory in the Hugging Face layout. The files are written into a new directory,
 * which is renamed at the end. If the process is killed, no directory of that name is half-written.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/replace.h"
#include "runtime/ckpt/hf.h"
#include "runtime/ckpt/parts.h"
#include "runtime/ckpt/tensors.h"

#define SHARD_BYTES	(UINT64_C(5) << 30)
#define PREFIX(c)	((c)->family == RT_HF_GPT2 ? "transformer." : "")

struct entry {
	struct rt_node *n;
	struct rt_hf_piece piece;
	uint64_t bytes;
	int file;
};
struct list {
	struct entry *e;
	int n, files;
	uint64_t bytes;
};

static void list_clear(struct list *l)
{
	free(l->e);
}

static int64_t cols_of(const struct rt_node *n)
{
	return rt_shape_elements(rt_ckpt_shape(n)) / rt_ckpt_shape(n)->d[0];
}

/* Assigns the tensors to files of at most `most` bytes. A larger tensor has a file of its own. */
static void list_tensors(const struct rt_program *p, const struct rt_hf_config *c, uint64_t most, struct list *l)
{
	uint64_t used = 0;

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		struct rt_hf_piece piece[RT_HF_PIECES];
		int count = n->role == RT_ROLE_PARAM ? rt_hf_pieces(c, n->name, rt_ckpt_shape(n)->d[0], piece) : 0;

		for (int k = 0; k < count; k++) {
			uint64_t bytes = (uint64_t)(piece[k].rows * cols_of(n)) * sizeof(float);

			if (l->files == 0 || (used && used + bytes > most)) {
				l->files++;
				used = 0;
			}
			l->e = gt_xrealloc(l->e, ((size_t)l->n + 1) * sizeof(*l->e));
			l->e[l->n++] = (struct entry){ n, piece[k], bytes, l->files - 1 };
			used += bytes;
			l->bytes += bytes;
		}
	}
}

static char *file_name(const struct list *l, int file)
{
	return l->files == 1 ? gt_xstrdup(RT_HF_SINGLE) : gt_xasprintf("model-%05d-of-%05d.safetensors", file + 1, l->files);
}

static json_t *shape_json(const struct entry *e)
{
	const struct rt_shape *whole = rt_ckpt_shape(e->n);
	json_t *s = json_pack("[I]", (json_int_t)e->piece.rows);

	for (int d = 1; d < whole->n; d++)
		(e->piece.transposed ? json_array_insert_new(s, 0, json_integer(whole->d[d])) :
				       json_array_append_new(s, json_integer(whole->d[d])));
	return s;
}

static void header(const struct list *l, const struct rt_hf_config *c, int file, struct gt_buf *out)
{
	gt_auto_json *o = json_pack("{s:{s:s}}", "__metadata__", "format", "pt");
	gt_autofree char *text = NULL;
	uint64_t at = 0, len;

	for (int i = 0; i < l->n; i++) {
		gt_autofree char *name = gt_xasprintf("%s%s", PREFIX(c), l->e[i].piece.name);

		if (l->e[i].file != file)
			continue;
		json_object_set_new(o, name, json_pack("{s:s, s:o, s:[I, I]}", "dtype", "F32", "shape", shape_json(&l->e[i]),
						       "data_offsets", (json_int_t)at, (json_int_t)(at + l->e[i].bytes)));
		at += l->e[i].bytes;
	}
	text = json_dumps(o, JSON_COMPACT);
	len = (strlen(text) + 7) / 8 * 8;
	for (int i = 0; i < 8; i++)
		gt_buf_add(out, &(char){ (char)(len >> (8 * i)) }, 1);
	gt_buf_printf(out, "%-*s", (int)len, text);
}

/* Sets *ret to all elements of the parameter in the rank that writes, and to NULL in the others. Collective. */
static int collect(const struct rt_program *p, struct rt_parts *parts, const struct rt_node *n, float **ret, struct gt_err *err)
{
	int64_t count = rt_shape_elements(rt_ckpt_shape(n));
	gt_autofree char *copy = NULL;
	const char *whole = NULL;
	int r = rt_parts_collect(p, n, parts, &copy, &whole, err);

	*ret = NULL;
	if (r || !whole)
		return r;
	*ret = malloc((size_t)count * sizeof(float));
	if (!*ret)
		return gt_fail(err, ENOMEM, "no memory for parameter %s", n->name);
	if (n->dtype == RT_F32)
		memcpy(*ret, whole, (size_t)count * sizeof(float));
	else
		(n->dtype == RT_BF16 ? rt_simd_best()->from_bf16 : rt_simd_best()->from_f16)(
			*ret, (const uint16_t *)(const void *)whole, count);
	return 0;
}

static int write_tensor(const struct rt_program *p, struct rt_parts *parts, const struct entry *e, int fd, struct gt_err *err)
{
	int64_t cols = cols_of(e->n), rows = e->piece.rows, first = e->piece.row * cols;
	gt_autofree float *x = NULL, *turned = NULL;
	int r = collect(p, parts, e->n, &x, err);

	if (r)
		return r;
	if (e->piece.transposed) {
		turned = malloc(e->bytes);
		if (!turned)
			return gt_fail(err, ENOMEM, "no memory for parameter %s", e->n->name);
	}
	for (int64_t i = 0; turned && i < rows * cols; i++)
		turned[i % cols * rows + i / cols] = x[first + i];
	r = gt_fd_write(fd, (const char *)(turned ? turned : x + first), e->bytes);
	return r ? gt_fail_errno(err, -r, "cannot write tensor %s", e->piece.name) : 0;
}

/* Sends this rank's parts of all tensors to the rank that writes. */
static int send_all(const struct rt_program *p, struct rt_parts *parts, const struct list *l, struct gt_err *err)
{
	for (int i = 0; i < l->n; i++) {
		gt_autofree float *none = NULL;
		int r = collect(p, parts, l->e[i].n, &none, err);

		if (r)
			return r;
	}
	return 0;
}

static int write_file(const struct rt_program *p, struct rt_parts *parts, const struct rt_hf_config *c, const struct list *l,
		      int file, const char *dir, struct gt_err *err)
{
	gt_autofree char *base = file_name(l, file), *path = gt_xasprintf("%s/%s", dir, base);
	gt_auto_buf head = { 0 };
	struct gt_replace f;
	int r = gt_replace_begin(path, 0644, &f, err);

	if (r)
		return r;
	header(l, c, file, &head);
	r = gt_fd_write(f.fd, head.s, head.len);
	if (r)
		gt_fail_errno(err, -r, "cannot write %s", path);
	for (int i = 0; !r && i < l->n; i++)
		r = l->e[i].file == file ? write_tensor(p, parts, &l->e[i], f.fd, err) : 0;
	if (r)
		return gt_replace_end(&f, r);
	r = gt_replace_end(&f, 0);
	return r ? gt_fail_errno(err, -r, "cannot write %s", path) : 0;
}

static int write_json(const char *dir, const char *base, const json_t *doc, struct gt_err *err)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", dir, base), *text = gt_json_text(doc);

	return gt_file_write(path, text, strlen(text), 0644, err);
}

static int write_index(const struct rt_hf_config *c, const struct list *l, const char *dir, struct gt_err *err)
{
	json_t *map = json_object();
	gt_auto_json *doc = json_pack("{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)l->bytes, "weight_map", map);

	for (int i = 0; i < l->n; i++) {
		gt_autofree char *name = gt_xasprintf("%s%s", PREFIX(c), l->e[i].piece.name), *base = file_name(l, l->e[i].file);

		json_object_set_new(map, name, json_string(base));
	}
	return write_json(dir, RT_HF_INDEX, doc, err);
}

static int write_all(const struct rt_program *p, struct rt_parts *parts, const struct rt_hf_config *c, const struct list *l,
		     const char *dir, struct gt_err *err)
{
	gt_auto_json *config = rt_hf_config_json(c);
	int r = write_json(dir, "config.json", config, err);

	for (int i = 0; !r && i < l->files; i++)
		r = write_file(p, parts, c, l, i, dir, err);
	return r || l->files == 1 ? r : write_index(c, l, dir, err);
}

static int remove_entries(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (!gt_streq(e->d_name, ".") && !gt_streq(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	return d ? closedir(d) : -1;
}

/* Returns whether the path is an empty directory, or does not exist. */
static bool is_free(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool empty = d || errno == ENOENT;

	while (d && (e = readdir(d)))
		empty &= gt_streq(e->d_name, ".") || gt_streq(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

static char *temporary_of(const char *dir)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	return gt_xasprintf("%.*s.%d.saving", (int)len, dir, (int)getpid());
}

static int make_temporary(const char *dir, char **ret, struct gt_err *err)
{
	gt_autofree char *temporary = temporary_of(dir);

	if (!is_free(dir))
		return gt_fail(err, ENOTEMPTY, "%s exists and is not an empty directory: name a new one", dir);
	if (mkdir(temporary, 0755))
		return gt_fail_errno(err, errno, "cannot create %s", temporary);
	*ret = gt_take(temporary);
	return 0;
}

int rt_hf_try(const char *dir, struct gt_err *err)
{
	gt_autofree char *temporary = NULL;
	int r = make_temporary(dir, &temporary, err);

	if (!r)
		rmdir(temporary);
	return r;
}

static void sync_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

int rt_hf_save(struct rt_program *p, const struct rt_hf_config *c, const char *dir, uint64_t shard_bytes, struct gt_err *err)
{
	__attribute__((cleanup(list_clear))) struct list l = { 0 };
	gt_autofree char *temporary = NULL;
	rt_auto_parts parts = { 0 };
	int r = rt_wait(p, err);

	if (r)
		return r;
	list_tensors(p, c, shard_bytes ? shard_bytes : SHARD_BYTES, &l);
	r = rt_parts_open(p, &parts, err);
	if (r)
		return r;
	if (!rt_parts_is_first(&parts) || (p->pipeline && p->plan.stage->index > 0))
		return send_all(p, &parts, &l, err);
	r = make_temporary(dir, &temporary, err);
	if (r)
		return r;
	r = write_all(p, &parts, c, &l, temporary, err);
	if (!r) {
		sync_directory(temporary);
		r = rename(temporary, dir) ? gt_fail_errno(err, errno, "cannot create %s", dir) : 0;
	}
	if (r) {
		remove_entries(temporary);
		rmdir(temporary);
	}
	return r;
}
