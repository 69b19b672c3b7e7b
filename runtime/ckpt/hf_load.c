/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the parameters of a program from a directory in the Hugging Face layout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/ckpt/hf.h"
#include "runtime/ckpt/st_file.h"
#include "runtime/ckpt/tensors.h"

#define JSON_MOST	(64u << 20) /* bytes of config.json and of an index */

struct shard {
	char *path;
	const char *base; /* part of path */
	struct rt_st_file f;
	struct rt_safetensors head;
};
struct model {
	const struct rt_hf_config *c;
	struct shard *shard;
	int n;
};

static void model_clear(struct model *m)
{
	for (int i = 0; i < m->n; i++) {
		rt_st_close(&m->shard[i].f);
		rt_safetensors_clear(&m->shard[i].head);
		free(m->shard[i].path);
	}
	free(m->shard);
}

static int read_text(const char *dir, const char *base, char **ret_path, char **ret, size_t *ret_len, struct gt_err *err)
{
	*ret_path = gt_xasprintf("%s/%s", dir, base);
	return gt_file_read(*ret_path, JSON_MOST, ret, ret_len, err);
}

int rt_hf_read_config(const char *dir, struct rt_hf_config *ret, struct gt_err *err)
{
	gt_autofree char *path = NULL, *text = NULL;
	size_t len = 0;
	int r = read_text(dir, "config.json", &path, &text, &len, err);

	return r ? r : rt_hf_parse_config(text, len, path, ret, err);
}

static int add_shard(struct model *m, const char *dir, const char *base, struct gt_err *err)
{
	struct shard *s;

	m->shard = gt_xrealloc(m->shard, ((size_t)m->n + 1) * sizeof(*m->shard));
	s = &m->shard[m->n++];
	*s = (struct shard){ .path = gt_xasprintf("%s/%s", dir, base), .f = RT_ST_CLOSED };
	s->base = s->path + strlen(dir) + 1;
	return rt_st_open(s->path, &s->f, &s->head, err);
}

static const struct shard *find_shard(const struct model *m, const char *base)
{
	for (int i = 0; i < m->n; i++)
		if (gt_streq(m->shard[i].base, base))
			return &m->shard[i];
	return NULL;
}

/* Checks that index and files name the same tensors. */
static int check_index(const struct model *m, const json_t *map, const char *index, struct gt_err *err)
{
	const char *tensor;
	json_t *file;

	json_object_foreach((json_t *)map, tensor, file)
		if (!rt_safetensors_find(&find_shard(m, json_string_value(file))->head, tensor))
			return gt_fail(err, EBADMSG, "%s: %s has no tensor %.200s", index, json_string_value(file), tensor);
	for (int i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->shard[i].head.n; k++) {
			const char *name = m->shard[i].head.tensor[k].name;

			if (!gt_streq(json_string_value(json_object_get(map, name)), m->shard[i].base))
				return gt_fail(err, EBADMSG, "%s does not contain tensor %.200s of %s", index, name,
					       m->shard[i].base);
		}
	return 0;
}

static int open_sharded(struct model *m, const char *dir, struct gt_err *err)
{
	gt_autofree char *path = NULL, *text = NULL;
	gt_auto_json *map = NULL;
	const char *tensor;
	json_t *file;
	size_t len = 0;
	int r = read_text(dir, RT_HF_INDEX, &path, &text, &len, err);

	if (r)
		return r;
	r = rt_hf_parse_index(text, len, path, &map, err);
	if (r)
		return r;
	json_object_foreach(map, tensor, file) {
		if (find_shard(m, json_string_value(file)))
			continue;
		r = add_shard(m, dir, json_string_value(file), err);
		if (r)
			return r;
	}
	return check_index(m, map, path, err);
}

/* If a directory has both a single file and an index, the single file is read, as in transformers. */
static int open_model(struct model *m, const char *dir, struct gt_err *err)
{
	gt_autofree char *single = gt_xasprintf("%s/%s", dir, RT_HF_SINGLE);

	return access(single, F_OK) ? open_sharded(m, dir, err) : add_shard(m, dir, RT_HF_SINGLE, err);
}

/* Returns the tensor of that name without prefix, and its file. */
static const struct rt_st_tensor *find_tensor(const struct model *m, const char *name, const struct shard **ret)
{
	for (int i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->shard[i].head.n; k++)
			if (gt_streq(rt_hf_plain_name(m->c, m->shard[i].head.tensor[k].name), name)) {
				*ret = &m->shard[i];
				return &m->shard[i].head.tensor[k];
			}
	return NULL;
}

static struct rt_shape piece_shape(const struct rt_node *n, const struct rt_hf_piece *piece)
{
	struct rt_shape s = *rt_ckpt_shape(n);

	if (piece->transposed)
		return RT_SHAPE(s.d[1], piece->rows);
	s.d[0] = piece->rows;
	return s;
}

static struct rt_shape stored_shape(const struct rt_st_tensor *t)
{
	struct rt_shape s = { .n = GT_MIN(t->n_dims, RT_MAX_DIMS) };

	memcpy(s.d, t->dim, (size_t)s.n * sizeof(s.d[0]));
	return s;
}

static int check_piece(const struct model *m, const struct rt_node *n, const struct rt_hf_piece *piece, const char *dir,
		       struct gt_err *err)
{
	const struct shard *s = NULL;
	const struct rt_st_tensor *t = find_tensor(m, piece->name, &s);
	struct rt_shape want = piece_shape(n, piece), have;
	char a[96], b[96];

	if (!t)
		return gt_fail(err, EINVAL, "%s: it has no tensor %s, which the model needs", dir, piece->name);
	have = stored_shape(t);
	if (t->n_dims != want.n || memcmp(have.d, want.d, (size_t)want.n * sizeof(want.d[0])))
		return gt_fail(err, EINVAL, "%s: tensor %s is %s and the model needs %s", s->path, t->name,
			       rt_shape_format(&have, a, sizeof(a)), rt_shape_format(&want, b, sizeof(b)));
	if (!gt_streq(t->dtype, "F32") && !gt_streq(t->dtype, "BF16") && !gt_streq(t->dtype, "F16"))
		return gt_fail(err, EINVAL, "%s: tensor %s is %s; F32, BF16 and F16 can be loaded", s->path, t->name, t->dtype);
	return 0;
}

/* Converts `count` elements of that type at the end of x's memory to f32, in place from the front. */
static void widen(float *x, const char *raw, const char *dtype, int64_t count)
{
	if (gt_streq(dtype, "F32"))
		memmove(x, raw, (size_t)count * sizeof(float));
	else if (gt_streq(dtype, "BF16"))
		rt_simd_best()->from_bf16(x, (const uint16_t *)(const void *)raw, count);
	else
		rt_simd_best()->from_f16(x, (const uint16_t *)(const void *)raw, count);
}

/* to: the first row of the piece in the parameter (…,cols) */
static int read_piece(const struct model *m, const struct rt_hf_piece *piece, float *to, int64_t cols, struct gt_err *err)
{
	const struct shard *s = NULL;
	const struct rt_st_tensor *t = find_tensor(m, piece->name, &s);
	gt_autofree char *raw = malloc(t->end - t->begin + 1);
	gt_autofree float *wide = malloc((size_t)(piece->rows * cols) * sizeof(float));
	int r;

	if (!raw || !wide)
		return gt_fail(err, ENOMEM, "no memory for tensor %s of %s", t->name, s->path);
	r = rt_st_read(&s->f, t->begin, raw, t->end - t->begin, err);
	if (r)
		return r;
	widen(wide, raw, t->dtype, piece->rows * cols);
	if (!piece->transposed)
		memcpy(to, wide, (size_t)(piece->rows * cols) * sizeof(float));
	for (int64_t i = 0; piece->transposed && i < piece->rows; i++)
		for (int64_t j = 0; j < cols; j++)
			to[i * cols + j] = wide[j * piece->rows + i];
	return 0;
}

static int64_t cols_of(const struct rt_node *n)
{
	return rt_shape_elements(rt_ckpt_shape(n)) / rt_ckpt_shape(n)->d[0];
}

static int load_param(struct rt_program *p, const struct model *m, struct rt_node *n, struct gt_err *err)
{
	struct rt_hf_piece piece[RT_HF_PIECES];
	int count = rt_hf_pieces(m->c, n->name, rt_ckpt_shape(n)->d[0], piece);
	gt_autofree float *x = NULL, *own = NULL;

	if (n->absent)
		return 0;
	x = malloc((size_t)rt_shape_elements(rt_ckpt_shape(n)) * sizeof(float));
	if (!x)
		return gt_fail(err, ENOMEM, "no memory for parameter %s", n->name);
	for (int i = 0; i < count; i++) {
		int r = read_piece(m, &piece[i], x + piece[i].row * cols_of(n), cols_of(n), err);

		if (r)
			return r;
	}
	if (!n->cut.parts)
		return rt_run_write(p, n, x, err);
	own = gt_xcalloc(1, rt_ckpt_own_bytes(n));
	rt_cut_take(&n->cut, n->cut.part, sizeof(float), x, own);
	return rt_run_write(p, n, own, err);
}

static int check_param(const struct model *m, const struct rt_node *n, const char *dir, struct gt_err *err)
{
	struct rt_hf_piece piece[RT_HF_PIECES];
	int count = rt_hf_pieces(m->c, n->name, rt_ckpt_shape(n)->d[0], piece);

	for (int i = 0; i < count; i++) {
		int r = check_piece(m, n, &piece[i], dir, err);

		if (r)
			return r;
	}
	return 0;
}

static bool has_tensor(const struct rt_program *p, const struct rt_hf_config *c, const char *plain)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];
		struct rt_hf_piece piece[RT_HF_PIECES];
		int count = n->role == RT_ROLE_PARAM ? rt_hf_pieces(c, n->name, rt_ckpt_shape(n)->d[0], piece) : 0;

		for (int k = 0; k < count; k++)
			if (gt_streq(piece[k].name, plain))
				return true;
	}
	return false;
}

/* Fails if the files have a tensor that the model lacks. */
static int check_rest(const struct rt_program *p, const struct model *m, struct gt_err *err)
{
	for (int i = 0; i < m->n; i++)
		for (size_t k = 0; k < m->shard[i].head.n; k++) {
			const char *name = m->shard[i].head.tensor[k].name, *plain = rt_hf_plain_name(m->c, name);

			if (!rt_hf_ignored(m->c, plain) && !has_tensor(p, m->c, plain))
				return gt_fail(err, EINVAL, "%s: the model has no tensor %.200s", m->shard[i].path, name);
		}
	return 0;
}

/* Checks all parameters before it changes the first one. */
int rt_hf_load(struct rt_program *p, const struct rt_hf_config *c, const char *dir, struct gt_err *err)
{
	__attribute__((cleanup(model_clear))) struct model m = { .c = c };
	int r = open_model(&m, dir, err);

	for (int pass = 0; !r && pass < 2; pass++) {
		for (int i = 0; !r && i < p->plan.ir.n_nodes; i++) {
			struct rt_node *n = p->plan.ir.nodes[i];

			if (n->role == RT_ROLE_PARAM)
				r = pass ? load_param(p, &m, n, err) : check_param(&m, n, dir, err);
		}
		r = r || pass ? r : check_rest(p, &m, err);
	}
	if (r)
		return r;
	return p->backend->restart(p, err);
}
