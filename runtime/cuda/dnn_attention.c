/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention as cuDNN's operations, which its fused engines recognise as a whole. Forward:
 *
 *   s = scale q k^T, if causal -inf where the key is after the query;  m = max s;  e = exp(s - m);  l = sum e
 *   lse = m + log l;  y = (e / l) v
 *
 * Backward, with r = sum of dy y in each row and p = exp(s - lse):
 *
 *   dv = p^T dy;  ds = scale p (dy v^T - r);  dk = ds^T q;  dq = ds k
 *
 * In memory are qkv (B,T,3,H,D) and y (B,T,H,D) in the layout of the other ops, by strides, and lse (B,H,T) as in this
 * program's own kernels, so that each pass can use either implementation. r is in the caller's scratch memory. If sums
 * may be in any order, the sums of dq in f32 are there too and are computed by atomic additions. No note of an engine
 * reports this; it follows from the graph. Otherwise the engine keeps all of ds in its workspace, B H T T elements,
 * which exceeds the limit for most shapes.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include "runtime/cuda/dnn_api.h"

/* Version of this program's kernels in the key on disk. Increment it with each change of their speed, or of the
 * accepted cuDNN plans. */
#define RIVALS	 2
#define WAYS	 4 /* the heuristic's first plans; planning compiles each, which takes half a second of one core */
#define OLDEST	 90600 /* first version that clears the sums of dq itself */
#define ALIGN	 256

enum id { NONE, Q, K, V, Y, LSE, DY, DQ, DK, DV, ROWS, SUMS, SCALE, ONE, LEAST, FIRST_VIRTUAL };

struct shape {
	struct dnn_bin *b;
	const struct rt_dnn_attention *k;
	int64_t next; /* id of the next virtual tensor */
	int type;
};

/* ---- tensors ---- */
/* A part of qkv or dqkv (parts 3), or of y or dy (1). transposed: (B,H,D,T) instead of (B,H,T,D). */
static dnn_desc heads(struct shape *s, enum id id, int64_t parts, bool transposed)
{
	const struct rt_dnn_attention *k = s->k;
	int64_t row = parts * k->heads * k->depth;

	return rt_dnn_tensor(s->b, id, s->type,
			     (int64_t[]){ k->batch, k->heads, transposed ? k->depth : k->len, transposed ? k->len : k->depth },
			     (int64_t[]){ k->len * row, k->depth, transposed ? 1 : row, transposed ? row : 1 }, DNN_IN_MEMORY);
}

/* (B,H,T,cols), dense. id NONE: an intermediate. */
static dnn_desc dense(struct shape *s, enum id id, int type, int64_t cols)
{
	const struct rt_dnn_attention *k = s->k;

	return rt_dnn_tensor(s->b, id ? id : s->next++, type, (int64_t[]){ k->batch, k->heads, k->len, cols },
			     (int64_t[]){ k->heads * k->len * cols, k->len * cols, cols, 1 }, id ? DNN_IN_MEMORY : DNN_VIRTUAL);
}

static dnn_desc scores(struct shape *s)
{
	return dense(s, NONE, DNN_DATA_FLOAT, s->k->len);
}

static dnn_desc rows(struct shape *s)
{
	return dense(s, NONE, DNN_DATA_FLOAT, 1);
}

static dnn_desc number(struct shape *s, enum id id)
{
	const int64_t one[] = { 1, 1, 1, 1 };

	return rt_dnn_tensor(s->b, id, DNN_DATA_FLOAT, one, one, DNN_BY_VALUE);
}

/* ---- operations ---- */
static void operation(struct shape *s, dnn_desc op)
{
	rt_dnn_finish(s->b, op);
	if (s->b->status == DNN_OK && s->b->n_ops == DNN_OPERATIONS)
		s->b->status = DNN_INTERNAL_ERROR;
	if (s->b->status == DNN_OK)
		s->b->ops[s->b->n_ops++] = op;
}

static void refer(struct shape *s, dnn_desc op, int attribute, dnn_desc to)
{
	if (to)
		rt_dnn_set(s->b, op, attribute, DNN_TYPE_DESCRIPTOR, 1, &to);
}

/* y = mode(x, b); for DNN_SELECT t ? x : b; for DNN_INDEX the index along `axis`. b and t may be NULL. Returns y. */
static dnn_desc pointwise(struct shape *s, int mode, dnn_desc x, dnn_desc b, dnn_desc t, dnn_desc y, int64_t axis)
{
	int precision = mode == DNN_AT_LEAST ? DNN_DATA_BOOLEAN : DNN_DATA_FLOAT;
	dnn_desc how = rt_dnn_make(s->b, DNN_POINTWISE, "a pointwise operation"), op;

	rt_dnn_set(s->b, how, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE_MODE, 1, &mode);
	rt_dnn_set(s->b, how, DNN_POINTWISE_PRECISION, DNN_TYPE_DATA_TYPE, 1, &precision);
	if (mode == DNN_INDEX)
		rt_dnn_set(s->b, how, DNN_POINTWISE_AXIS, DNN_TYPE_INT64, 1, &axis);
	rt_dnn_finish(s->b, how);
	op = rt_dnn_make(s->b, DNN_OP_POINTWISE, "a pointwise operation");
	refer(s, op, DNN_OP_POINTWISE_DESC, how);
	refer(s, op, DNN_OP_POINTWISE_X, x);
	refer(s, op, DNN_OP_POINTWISE_B, b);
	refer(s, op, DNN_OP_POINTWISE_T, t);
	refer(s, op, DNN_OP_POINTWISE_Y, y);
	operation(s, op);
	return y;
}

static dnn_desc matmul(struct shape *s, dnn_desc a, dnn_desc b, dnn_desc c)
{
	int precision = DNN_DATA_FLOAT;
	dnn_desc how = rt_dnn_make(s->b, DNN_MATMUL, "a product"), op;

	rt_dnn_set(s->b, how, DNN_MATMUL_PRECISION, DNN_TYPE_DATA_TYPE, 1, &precision);
	rt_dnn_finish(s->b, how);
	op = rt_dnn_make(s->b, DNN_OP_MATMUL, "a product");
	refer(s, op, DNN_OP_MATMUL_A, a);
	refer(s, op, DNN_OP_MATMUL_B, b);
	refer(s, op, DNN_OP_MATMUL_C, c);
	refer(s, op, DNN_OP_MATMUL_DESC, how);
	operation(s, op);
	return c;
}

static dnn_desc reduction(struct shape *s, int mode, dnn_desc x)
{
	int precision = DNN_DATA_FLOAT;
	dnn_desc how = rt_dnn_make(s->b, DNN_REDUCTION, "a reduction"), op, y = rows(s);

	rt_dnn_set(s->b, how, DNN_REDUCTION_OPERATOR, DNN_TYPE_REDUCTION, 1, &mode);
	rt_dnn_set(s->b, how, DNN_REDUCTION_PRECISION, DNN_TYPE_DATA_TYPE, 1, &precision);
	rt_dnn_finish(s->b, how);
	op = rt_dnn_make(s->b, DNN_OP_REDUCTION, "a reduction");
	refer(s, op, DNN_OP_REDUCTION_X, x);
	refer(s, op, DNN_OP_REDUCTION_Y, y);
	refer(s, op, DNN_OP_REDUCTION_DESC, how);
	operation(s, op);
	return y;
}

/* Describes the same elements with other strides. */
static dnn_desc reshape(struct shape *s, dnn_desc x, dnn_desc y)
{
	dnn_desc op = rt_dnn_make(s->b, DNN_OP_RESHAPE, "a reshape");

	refer(s, op, DNN_OP_RESHAPE_X, x);
	refer(s, op, DNN_OP_RESHAPE_Y, y);
	operation(s, op);
	return y;
}

/* (B,H,T,T) scores, transposed, in the type of the operands */
static dnn_desc transposed(struct shape *s, dnn_desc x)
{
	const struct rt_dnn_attention *k = s->k;
	int64_t t = k->len;

	return reshape(s, x,
		       rt_dnn_tensor(s->b, s->next++, s->type, (int64_t[]){ k->batch, k->heads, t, t },
				     (int64_t[]){ k->heads * t * t, t * t, 1, t }, DNN_VIRTUAL));
}

/* If causal, sets scores to -inf where the key is after the query. */
static dnn_desc masked(struct shape *s, dnn_desc x)
{
	dnn_desc row, col, seen;

	if (s->k->all_keys)
		return x;
	row = pointwise(s, DNN_INDEX, x, NULL, NULL, dense(s, NONE, DNN_DATA_INT32, s->k->len), 2);
	col = pointwise(s, DNN_INDEX, x, NULL, NULL, dense(s, NONE, DNN_DATA_INT32, s->k->len), 3);
	seen = pointwise(s, DNN_AT_LEAST, row, col, NULL, dense(s, NONE, DNN_DATA_BOOLEAN, s->k->len), 0);
	return pointwise(s, DNN_SELECT, x, number(s, LEAST), seen, scores(s), 0);
}

static void forward(struct shape *s)
{
	dnn_desc q = heads(s, Q, 3, false), k = heads(s, K, 3, true), v = heads(s, V, 3, false), y = heads(s, Y, 1, false);
	dnn_desc x = matmul(s, q, k, scores(s)), max, e, sum, log;

	x = masked(s, pointwise(s, DNN_MUL, x, number(s, SCALE), NULL, scores(s), 0));
	max = reduction(s, DNN_REDUCE_MAX, x);
	e = pointwise(s, DNN_EXP, pointwise(s, DNN_SUB, x, max, NULL, scores(s), 0), NULL, NULL, scores(s), 0);
	sum = reduction(s, DNN_REDUCE_ADD, e);
	log = pointwise(s, DNN_LOG, sum, NULL, NULL, rows(s), 0);
	pointwise(s, DNN_ADD, max, log, NULL, dense(s, LSE, DNN_DATA_FLOAT, 1), 0);
	matmul(s, pointwise(s, DNN_DIV, e, sum, NULL, dense(s, NONE, s->type, s->k->len), 0), v, y);
}

static void backward(struct shape *s)
{
	dnn_desc q = heads(s, Q, 3, false), k = heads(s, K, 3, true), v = heads(s, V, 3, true), y = heads(s, Y, 1, false);
	dnn_desc dy = heads(s, DY, 1, false), scale = number(s, SCALE), lse = dense(s, LSE, DNN_DATA_FLOAT, 1);
	dnn_desc r = pointwise(s, DNN_MUL, dy, y, NULL, dense(s, NONE, DNN_DATA_FLOAT, s->k->depth), 0), x, p, ds, sums;

	r = pointwise(s, DNN_MUL, reduction(s, DNN_REDUCE_ADD, r), number(s, ONE), NULL, dense(s, ROWS, DNN_DATA_FLOAT, 1), 0);
	x = pointwise(s, DNN_MUL, matmul(s, q, k, scores(s)), scale, NULL, scores(s), 0);
	x = masked(s, pointwise(s, DNN_SUB, x, lse, NULL, scores(s), 0));
	p = pointwise(s, DNN_EXP, x, NULL, NULL, scores(s), 0);
	matmul(s, transposed(s, p), dy, heads(s, DV, 3, false));
	x = pointwise(s, DNN_SUB, matmul(s, dy, v, scores(s)), r, NULL, scores(s), 0);
	ds = pointwise(s, DNN_MUL, pointwise(s, DNN_MUL, x, p, NULL, scores(s), 0), scale, NULL, scores(s), 0);
	matmul(s, transposed(s, ds), q, heads(s, DK, 3, false));
	x = rt_dnn_tensor(s->b, s->next++, s->type, (int64_t[]){ s->k->batch, s->k->heads, s->k->len, s->k->depth },
			  (int64_t[]){ s->k->len * 3 * s->k->heads * s->k->depth, s->k->depth, 3 * s->k->heads * s->k->depth, 1 },
			  DNN_VIRTUAL);
	k = reshape(s, k, x);
	if (!s->k->any_order) {
		matmul(s, ds, k, heads(s, DQ, 3, false));
		return;
	}
	sums = matmul(s, ds, k, dense(s, SUMS, DNN_DATA_FLOAT, s->k->depth));
	pointwise(s, DNN_IDENTITY, sums, NULL, NULL, heads(s, DQ, 3, false), 0);
}

static void operations(struct dnn_bin *b, const void *key)
{
	struct shape s = { .b = b, .k = key, .next = FIRST_VIRTUAL };

	s.type = rt_dnn_data_type(s.k->type);
	(s.k->backward ? backward : forward)(&s);
}

/* ---- shapes ---- */
static size_t aligned(int64_t bytes)
{
	return ((size_t)bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t rows_bytes(const struct rt_dnn_attention *k)
{
	return k->backward ? aligned(k->batch * k->heads * k->len * 4) : 0;
}

static size_t own_bytes(const struct rt_dnn_attention *k)
{
	return rows_bytes(k) + (k->backward && k->any_order ? aligned(k->batch * k->heads * k->len * k->depth * 4) : 0);
}

/* If sums may be in any order, plans need those of dq in f32 once more, with a length that is a multiple of 8, and some
 * bytes (9.26.0, sm_80 to sm_90). This reserves more: the length rounded up to a multiple of 64, and 8 more columns.
 * B H T T elements are excluded. */
static size_t room(const struct rt_dnn_attention *k)
{
	int64_t sums = k->batch * k->heads * ((k->len + 63) / 64 * 64) * (k->depth + 8) * 4;

	return k->backward && k->any_order ? GT_MAX((size_t)sums, (size_t)RT_DNN_WORKSPACE) : RT_DNN_WORKSPACE;
}

static bool same(const struct rt_dnn_attention *a, const struct rt_dnn_attention *b)
{
	return a->backward == b->backward && a->batch == b->batch && a->len == b->len && a->heads == b->heads &&
	       a->depth == b->depth && a->all_keys == b->all_keys && a->type == b->type && a->any_order == b->any_order &&
	       a->alone == b->alone;
}

/* Excludes releases that NVIDIA's front end also excludes: cudnn-frontend, scaled_dot_product_flash_attention.h, and
 * the notes of its release 1.16. */
static int distrust(const struct rt_dnn *d, const struct rt_dnn_attention *k, const char *name, struct gt_err *err)
{
	size_t version = d->api.version();

	if (version < OLDEST)
		return gt_fail(err, ENOTSUP, "cuDNN %s is too old for attention: install 9.6 or newer", d->version);
	if (version == 91000 || version == 91001)
		return gt_fail(err, ENOTSUP, "cuDNN %s has known bugs in attention: install 9.10.2 or newer", d->version);
	if (k->backward && k->len == 1)
		return gt_fail(err, ENOTSUP, "cuDNN %s is not used for %s: a sequence of one token", d->version, name);
	if (k->backward && k->len % 128 && version <= 91500)
		return gt_fail(err, ENOTSUP, "cuDNN %s may read beyond its memory in replays of %s, whose length is not a "
					     "multiple of 128: install 9.15.1 or newer", d->version, name);
	return 0;
}

static int get(struct rt_dnn *d, const struct rt_dnn_attention *k, struct dnn_choice **ret, struct gt_err *err)
{
	struct dnn_attention *a;
	char rivals[32] = "";
	int r;

	for (int i = 0; i < d->n_attentions; i++)
		if (same(&d->attentions[i]->key, k)) {
			*ret = &d->attentions[i]->c;
			return 0;
		}
	d->attentions = gt_xrealloc(d->attentions, (size_t)(d->n_attentions + 1) * sizeof(*d->attentions));
	a = d->attentions[d->n_attentions++] = gt_xcalloc(1, sizeof(*a));
	a->key = *k;
	a->c.most = WAYS;
	a->c.any_order = k->any_order;
	a->c.room = room(k);
	a->c.rivalled = !k->alone;
	*ret = &a->c;
	if (!k->alone)
		snprintf(rivals, sizeof(rivals), " beside own %d", RIVALS);
	snprintf(a->c.name, sizeof(a->c.name), "attention %s %lld x %lld, %lld heads of %lld %s%s%s%s",
		 k->backward ? "backward" : "forward", (long long)k->batch, (long long)k->len, (long long)k->heads,
		 (long long)k->depth, rt_dtype_name(k->type), k->all_keys ? " all keys" : "",
		 k->any_order ? " any order" : "", rivals);
	if ((k->type != RT_BF16 && k->type != RT_F16) || k->depth % 8 || k->batch < 1 || k->len < 1 || k->heads < 1 || k->depth < 1)
		return gt_fail(err, ENOTSUP, "cuDNN %s is not used for %s: it supports bf16 and f16, and heads of 8, 16, … "
					     "columns",
			       d->version, a->c.name);
	r = distrust(d, k, a->c.name, err);
	return r ? r : rt_dnn_build(d, &a->c, operations, k, err);
}

int rt_dnn_attention_plan(struct rt_dnn *d, const struct rt_dnn_attention *k, struct rt_dnn_info *ret, struct gt_err *err)
{
	struct dnn_choice *c;
	int r = get(d, k, &c, err);

	if (r)
		return r;
	*ret = c->info;
	if (c->chosen == DNN_RIVAL)
		return 0;
	if (!c->info.accepted)
		return gt_fail(err, ENOTSUP, "cuDNN %s has no usable plan for %s", d->version, c->name);
	ret->workspace += own_bytes(k);
	return 0;
}

int rt_dnn_attention_run(struct rt_dnn *d, const struct rt_dnn_attention *k, const struct rt_dnn_attention_args *a,
			 const struct dnn_rival *rival, cu_stream stream, bool tune, struct gt_err *err)
{
	cu_ptr part = (cu_ptr)(k->heads * k->depth) * (cu_ptr)rt_dtype_bytes(k->type);
	float scale = 1 / sqrtf((float)k->depth), one = 1;
	float least = d->api.version() < 91000 ? -FLT_MAX : -INFINITY; /* the mask value of NVIDIA's cudnn-frontend */
	const bool back = k->backward;
	const struct {
		enum id id;
		bool there;
		cu_ptr at;
		float *value;
	} all[] = {
		{ Q, true, a->qkv, NULL },	    { K, true, a->qkv + part, NULL },  { V, true, a->qkv + 2 * part, NULL },
		{ Y, true, a->y, NULL },	    { LSE, true, a->lse, NULL },       { SCALE, true, 0, &scale },
		{ LEAST, !k->all_keys, 0, &least }, { DY, back, a->dy, NULL },	       { DQ, back, a->dqkv, NULL },
		{ DK, back, a->dqkv + part, NULL }, { DV, back, a->dqkv + 2 * part, NULL }, { ROWS, back, a->scratch, NULL },
		{ ONE, back, 0, &one },		    { SUMS, back && k->any_order, a->scratch + rows_bytes(k), NULL },
	};
	struct dnn_pack pack = { .workspace = (void *)(uintptr_t)(a->scratch + own_bytes(k)) };
	struct rt_dnn_info info;
	struct dnn_choice *c;
	int r = rt_dnn_attention_plan(d, k, &info, err);

	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++) {
		if (!all[i].there)
			continue;
		pack.ids[pack.n] = all[i].id;
		pack.pointers[pack.n++] = all[i].value ? (void *)all[i].value : (void *)(uintptr_t)all[i].at;
	}
	if (!r)
		r = get(d, k, &c, err);
	return r ? r : rt_dnn_do(d, c, &pack, rival, stream, tune, err);
}
