/* SPDX-License-Identifier: Apache-2.0 */
/* The generator: all ops, odd shapes, tensors read several times, weights that are shared, frozen or computed. */
#include <string.h>
#include "tests/graphs/generated.h"

#define LEAST_OPS     1
#define MOST_OPS      16
#define MOST_ELEMENTS 2500
#define MOST_FLOPS   400e3
#define RUNNING	     (-1) /* spread of a running mean: around 0 */

struct drawing {
	struct gen_program *m;
	struct gen_graph graph;
	const uint8_t *bytes;
	size_t n, at;
	bool rows;  /* the program has a variable dimension of GEN_ROWS */
	int axis;   /* index of that dimension: 0 or 1 */
	bool wild;  /* operands may have shapes that the op rejects */
	bool large; /* tensors are large enough for several threads */
};

static int pick(struct drawing *d, int sides)
{
	return d->at < d->n ? d->bytes[d->at++] % sides : 0;
}

static int64_t size(struct drawing *d)
{
	static const int64_t sizes[][20] = {
		{ 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 19, 31, 33, 3, 4, 5, 8, 2 },
		{ 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 24, 32, 33, 64, 48, 16, 8, 32 },
	};

	return sizes[gen_for_device][pick(d, GT_ARRAY_SIZE(sizes[0]))];
}

static int64_t few(struct drawing *d)
{
	int64_t n = size(d) % 9 + 1;

	return n == GEN_ROWS ? n - 1 : n;
}

/* Excludes running statistics: another op would read them before or after their update. */
static bool is_float(const struct drawing *d, int i)
{
	const struct gen_step *s = &d->m->step[i];

	return d->graph.node[i] && d->graph.node[i]->dtype == RT_F32 && s->op != GEN_VARIANCE &&
	       !(s->op == GEN_BUFFER && s->a[1]);
}

static const struct rt_shape *shape_of(const struct drawing *d, int i)
{
	return &d->graph.node[i]->shape;
}

static bool same(const struct rt_shape *a, const struct rt_shape *b)
{
	return a->n == b->n && !memcmp(a->d, b->d, (size_t)a->n * sizeof(a->d[0]));
}

static bool too_much(const struct drawing *d, const struct rt_node *n)
{
	const struct rt_ir *ir = &d->graph.g->ir;
	const struct rt_call *c = ir->n_calls ? ir->calls[ir->n_calls - 1] : NULL;
	bool makes = c && c->out[0] == n;

	return rt_shape_elements(&n->shape) > (d->large ? 400000 : MOST_ELEMENTS) ||
	       (makes && c->op->flops && c->op->flops(c) > (d->large ? 20 * MOST_FLOPS : MOST_FLOPS));
}

/* Returns the number of the step, or -1 if the library rejects it or the program is full. */
static int add(struct drawing *d, struct gen_step s)
{
	struct gen_program *m = d->m;
	struct rt_node *n;

	if (m->n == GEN_STEPS - 1)
		return -1;
	n = gen_apply(&d->graph, m, &s, GEN_ROWS);
	if (n && !too_much(d, n)) {
		m->step[m->n] = s;
		d->graph.node[m->n] = n;
		return m->n++;
	}
	if (!n && !m->refused_at) {
		m->refused = s;
		m->refused_at = m->n;
	}
	gen_graph_free(&d->graph);
	gen_build(m, GEN_ROWS, &d->graph, NULL);
	return -1;
}

static struct gen_step step(enum gen_op op, int a, int b, int c)
{
	return (struct gen_step){ .op = op, .in = { a, b, c, -1, -1 } };
}

static int leaf(struct drawing *d, enum gen_op op, const struct rt_shape *s, int spread)
{
	struct gen_step l = step(op, -1, -1, -1);

	l.a[1] = op == GEN_BUFFER && spread < 0;
	spread = GT_MAX(spread, 0);
	l.shape = *s;
	l.a[0] = spread;
	return add(d, l);
}

/* Returns whether a tensor of this shape has the variable dimension. */
static bool is_batch(const struct drawing *d, const struct rt_shape *s)
{
	return d->rows && s->n > 1 + d->axis && s->d[d->axis] == GEN_ROWS;
}

/* Adds a leaf: mostly a parameter, sometimes a buffer, an input, or the affine of a parameter. */
static int new_of(struct drawing *d, const struct rt_shape *s, enum gen_spread spread)
{
	int kind = pick(d, 12), i;

	if (is_batch(d, s))
		return leaf(d, GEN_INPUT, s, (int)spread);
	i = leaf(d, kind == 0 ? GEN_BUFFER : kind == 1 ? GEN_INPUT : GEN_PARAM, s, (int)spread);
	if (kind == 2 && i >= 0) {
		struct gen_step y = step(GEN_AFFINE, i, -1, -1);

		y.a[0] = 17;
		return add(d, y);
	}
	return i;
}

/* Returns a tensor of that shape, an existing or a new one. */
static int want(struct drawing *d, const struct rt_shape *s, enum gen_spread spread)
{
	int candidates[GEN_STEPS], n = 0;

	for (int i = 0; i < d->m->n; i++)
		if (is_float(d, i) && (d->wild || same(shape_of(d, i), s)))
			candidates[n++] = i;
	if (n && pick(d, 5) < 2)
		return candidates[pick(d, n)];
	return new_of(d, s, spread);
}

static struct rt_shape any_shape(struct drawing *d)
{
	struct rt_shape s = { .n = 1 + pick(d, 4) };

	for (int i = 0; i < s.n; i++)
		s.d[i] = size(d);
	while (rt_shape_elements(&s) > MOST_ELEMENTS / 4)
		for (int i = 0; i < s.n; i++)
			s.d[i] = s.d[i] > 5 && s.d[i] % 2 ? s.d[i] / 2 + 1 : GT_MAX(s.d[i] / 2, 1);
	if (d->large)
		s.d[s.n - 1] = s.d[s.n - 1] * 300000 / rt_shape_elements(&s);
	if (d->rows) {
		s.d[d->axis] = GEN_ROWS;
		s.n = GT_MAX(s.n, 2 + d->axis);
		for (int i = 0; i < s.n; i++)
			s.d[i] = GT_MAX(s.d[i], 1);
	}
	return s;
}

static bool is_read(const struct drawing *d, int step)
{
	for (int i = 0; i < d->m->n; i++)
		for (int k = 0; k < GEN_INPUTS; k++)
			if (d->m->step[i].in[k] == step)
				return true;
	return false;
}

/*
 * Returns a result of an op, or -1. If unread results are requested, returns the latest of those that nothing has read
 * yet.
 */
static int result(struct drawing *d, bool unread)
{
	int list[GEN_STEPS], n = 0;

	for (int i = d->m->n - 1; i >= 0; i--)
		if (is_float(d, i) && !gen_is_leaf(d->m->step[i].op) && !(unread && is_read(d, i)))
			list[n++] = i;
	return n ? list[unread ? 0 : pick(d, n)] : -1;
}

/* Returns the first input of the latest op. It then has a second reader, which adds to its gradient. */
static int read_last(struct drawing *d)
{
	for (int i = d->m->n - 1; i >= 0; i--)
		if (!gen_is_leaf(d->m->step[i].op))
			return d->m->step[i].in[0];
	return -1;
}

/* Returns any tensor, more often a recent one, so that programs are deep and few calls are unused. */
static int any(struct drawing *d)
{
	int how = pick(d, 20), x = -1;
	struct rt_shape s;

	if (how < 12)
		x = result(d, true);
	else if (how < 14)
		x = read_last(d);
	else if (how < 17)
		x = result(d, false);
	else if (how < 19 && d->m->n)
		x = pick(d, d->m->n);
	if (x >= 0 && (is_float(d, x) || d->wild))
		return x;
	s = any_shape(d);
	return new_of(d, &s, GEN_ZERO);
}

/* Returns a shape of n dimensions with so many elements. The variable dimension stays unchanged. */
static struct rt_shape split(struct drawing *d, const struct rt_shape *of, int n)
{
	struct rt_shape s = { .n = n };
	int64_t left = rt_shape_elements(of);
	int first = is_batch(d, of) && n > 1 + d->axis ? 1 + d->axis : 0;

	for (int i = 0; i < first; i++) {
		s.d[i] = of->d[i];
		left /= of->d[i];
	}
	for (int i = first; i < n; i++) {
		int64_t part = i == n - 1 ? left : n == 4 && i > 0 ? 1 + pick(d, 8) : size(d);

		part -= part == GEN_ROWS && i < n - 1;

		while (left % part)
			part--;
		s.d[i] = part;
		left /= part;
	}
	return s;
}

/* Returns a tensor with a number of dimensions in this range; reshapes one if necessary. */
static int any_of(struct drawing *d, int least, int most)
{
	struct gen_step s = step(GEN_RESHAPE, any(d), -1, -1);
	int x = s.in[0];

	if (x < 0 || !is_float(d, x) || (d->wild && pick(d, 2)) || (shape_of(d, x)->n >= least && shape_of(d, x)->n <= most))
		return x;
	s.shape = split(d, shape_of(d, x), shape_of(d, x)->n < least ? least : most);
	return add(d, s);
}

static int maybe(struct drawing *d, int64_t n, enum gen_spread spread)
{
	return pick(d, 2) ? want(d, &RT_SHAPE(n), spread) : -1;
}

static int64_t last(const struct drawing *d, int x)
{
	return shape_of(d, x)->d[shape_of(d, x)->n - 1];
}

static int draw_linear(struct drawing *d)
{
	int x = any(d), w;
	int64_t n = size(d);

	if (x < 0)
		return -1;
	w = want(d, &RT_SHAPE(n, last(d, x)), GEN_WEIGHT);
	return w < 0 ? -1 : add(d, step(GEN_LINEAR, x, w, maybe(d, n, GEN_ZERO)));
}

static int draw_matmul(struct drawing *d)
{
	int a = any_of(d, 2, 4), b, how = pick(d, 4);
	struct gen_step s;
	struct rt_shape bs;
	int64_t inner, n = size(d);

	if (a < 0)
		return -1;
	bs = *shape_of(d, a);
	if (bs.n < 2)
		return -1;
	inner = bs.d[bs.n - (how & 1 ? 2 : 1)];
	bs.d[bs.n - 1] = how & 2 ? inner : n;
	bs.d[bs.n - 2] = how & 2 ? n : inner;
	b = want(d, &bs, GEN_WEIGHT);
	s = step(GEN_MATMUL, a, b, -1);
	s.a[0] = how & 1;
	s.a[1] = how >> 1;
	return b < 0 ? -1 : add(d, s);
}

static int draw_conv(struct drawing *d)
{
	static const int kernels[] = { 1, 3, 3, 3, 2, 5, 4, 7 };
	int x = any_of(d, 4, 4), w, kh = kernels[pick(d, 8)], kw = pick(d, 6) ? kh : kernels[pick(d, 8)];
	int groups = pick(d, 4), stride = 1 + (pick(d, 3) == 0) + (pick(d, 8) == 0), pad = pick(d, 3);
	struct gen_step s;
	int64_t out = size(d), in;

	if (x < 0 || shape_of(d, x)->n != 4)
		return -1;
	in = shape_of(d, x)->d[3];
	groups = groups == 0 ? (int)in : groups == 1 && in % 2 == 0 ? 2 : 1;
	groups = (int)in > 64 ? 1 : groups;
	out = (out + groups - 1) / groups * groups;
	if (!d->wild) { /* pad so that the kernel fits */
		pad = GT_MAX(pad, GT_MAX((int)((kh - shape_of(d, x)->d[1] + 1) / 2), (int)((kw - shape_of(d, x)->d[2] + 1) / 2)));
		pad = GT_MAX(pad, 0);
	}
	w = want(d, &RT_SHAPE(out, in / groups, kh, kw), GEN_WEIGHT);
	s = step(GEN_CONV, x, w, maybe(d, out, GEN_ZERO));
	s.a[0] = stride;
	s.a[1] = pad;
	s.a[2] = groups;
	return w < 0 ? -1 : add(d, s);
}

static int draw_batchnorm(struct drawing *d)
{
	int x = any(d);
	struct gen_step s;
	struct rt_shape c;

	if (x < 0)
		return -1;
	c = RT_SHAPE(last(d, x));
	s = step(GEN_BATCHNORM, x, want(d, &c, GEN_ONE), want(d, &c, GEN_ZERO));
	s.in[3] = leaf(d, GEN_BUFFER, &c, RUNNING);
	s.in[4] = leaf(d, GEN_VARIANCE, &c, GEN_ONE);
	s.a[0] = pick(d, 4);
	for (int i = 0; i < 5; i++)
		if (s.in[i] < 0)
			return -1;
	return add(d, s);
}

static int draw_norm(struct drawing *d)
{
	int x = any(d), rms = pick(d, 2);
	struct gen_step s;
	struct rt_shape c;

	if (x < 0)
		return -1;
	c = RT_SHAPE(last(d, x));
	s = step(rms ? GEN_RMSNORM : GEN_LAYERNORM, x, want(d, &c, GEN_ONE), rms ? -1 : want(d, &c, GEN_ZERO));
	s.a[0] = pick(d, 4);
	return s.in[1] < 0 || (!rms && s.in[2] < 0) ? -1 : add(d, s);
}

static int ids(struct drawing *d, struct rt_shape s, int limit, int targets)
{
	struct gen_step l = step(GEN_IDS, -1, -1, -1);

	for (int i = 0; i < d->m->n; i++)
		if (d->m->step[i].op == GEN_IDS && !d->m->step[i].a[1] && d->m->step[i].a[0] <= limit &&
		    same(shape_of(d, i), &s) && pick(d, 2))
			return i;
	l.shape = s;
	l.a[0] = limit;
	l.a[1] = targets && pick(d, 2);
	return add(d, l);
}

static int draw_embedding(struct drawing *d)
{
	int64_t b = d->rows && d->axis == 0 ? GEN_ROWS : few(d), v = size(d), c = size(d);
	int64_t t = d->rows && d->axis == 1 ? GEN_ROWS : few(d), longest = t == GEN_ROWS ? GEN_MOST_ROWS : t;
	int table = want(d, &RT_SHAPE(v, c), GEN_ZERO), pos = -1, i;

	v = table < 0 ? v : shape_of(d, table)->d[0]; /* an existing table may have another number of rows */
	i = ids(d, RT_SHAPE(b, t), (int)v, 0);
	if (table < 0 || i < 0)
		return -1;
	if (pick(d, 2))
		pos = pick(d, 3) == 0 && v >= longest ? table : want(d, &RT_SHAPE(longest + pick(d, 3), c), GEN_ZERO);
	return add(d, step(GEN_EMBEDDING, i, table, pos));
}

/* Returns sequence lengths near the block sizes of the kernels. */
static int draw_long_attention(struct drawing *d)
{
	static const int lengths[] = { 1, 1, 2, 63, 64, 65, 128, 129 };
	int heads = 1 + pick(d, 2), batch = 1 + pick(d, 2), depth = 1 + pick(d, 4);
	int length = pick(d, 2) ? 65 + pick(d, 80) : lengths[pick(d, GT_ARRAY_SIZE(lengths))];
	struct rt_shape qkv = RT_SHAPE(batch, length, 3 * heads * depth);
	struct gen_step s = step(GEN_ATTENTION, leaf(d, GEN_PARAM, &qkv, GEN_ZERO), -1, -1);

	s.a[0] = heads;
	s.a[1] = pick(d, 3) > 0;
	return s.in[0] < 0 ? -1 : add(d, s);
}

static int draw_attention(struct drawing *d)
{
	static const int64_t depths[][8] = { { 1, 2, 3, 4, 5, 8, 16, 17 }, { 1, 5, 8, 16, 24, 32, 40, 64 } };
	int heads = 1 + pick(d, 3), x = any_of(d, 3, 3), w;
	int64_t c = heads * depths[gen_for_device][pick(d, 8)];
	struct gen_step s = step(GEN_ATTENTION, x, -1, -1);

	if (x < 0 || shape_of(d, x)->n != 3)
		return -1;
	if (last(d, x) % 3 || pick(d, 2)) { /* otherwise use the columns as they are, with one head */
		w = want(d, &RT_SHAPE(3 * c, last(d, x)), GEN_WEIGHT);
		s.in[0] = w < 0 ? -1 : add(d, step(GEN_LINEAR, x, w, maybe(d, 3 * c, GEN_ZERO)));
	} else {
		heads = 1;
	}
	s.a[0] = heads;
	s.a[1] = pick(d, 2);
	return s.in[0] < 0 ? -1 : add(d, s);
}

/* A wild program may have numbers that do not fit. */
static int draw_grouped_attention(struct drawing *d)
{
	int kv = 1 + pick(d, 3), heads = kv * (1 + pick(d, 3)) + (d->wild && pick(d, 3) == 0), depth = 1 + pick(d, 6);
	struct rt_shape qkv = RT_SHAPE(few(d), pick(d, 4) ? few(d) : 60 + pick(d, 20), (heads + 2 * kv) * depth);
	struct gen_step s = step(GEN_ATTENTION, leaf(d, GEN_PARAM, &qkv, GEN_ZERO), -1, -1);

	s.a[0] = heads;
	s.a[1] = 1;
	s.a[2] = kv;
	return s.in[0] < 0 ? -1 : add(d, s);
}

static int draw_swiglu(struct drawing *d)
{
	int x = any(d);

	return x < 0 || (last(d, x) % 2 && !d->wild) ? -1 : add(d, step(GEN_SWIGLU, x, -1, -1));
}

/* Columns may be left after the heads. */
static int draw_rope(struct drawing *d)
{
	int heads = 1 + pick(d, 3), depth = 2 * (1 + pick(d, 9)), left = pick(d, 4);
	struct rt_shape own = RT_SHAPE(few(d), few(d), heads * depth + left);
	int x = pick(d, 2) ? any_of(d, 3, 3) : leaf(d, GEN_PARAM, &own, GEN_ZERO);
	struct gen_step s = step(GEN_ROPE, x, -1, -1);

	if (x < 0 || shape_of(d, x)->n != 3)
		return -1;
	s.a[0] = heads;
	s.a[1] = d->wild ? depth : (int)(last(d, x) - left) / heads / 2 * 2;
	s.a[2] = pick(d, 2);
	return s.a[1] < 2 ? -1 : add(d, s);
}

static int draw_dropout(struct drawing *d)
{
	struct gen_step s = step(GEN_DROPOUT, any(d), -1, -1);

	s.a[0] = pick(d, 32);
	return s.in[0] < 0 ? -1 : add(d, s);
}

static int draw_unary(struct drawing *d)
{
	static const enum gen_op ops[] = { GEN_ACT, GEN_ACT, GEN_ACT, GEN_ACT, GEN_AFFINE, GEN_SOFTMAX, GEN_PAD };
	struct gen_step s = step(ops[pick(d, GT_ARRAY_SIZE(ops))], any(d), -1, -1);

	s.a[0] = pick(d, s.op == GEN_ACT ? 6 : s.op == GEN_PAD ? 4 : 32);
	s.a[1] = pick(d, 4) - (d->wild && pick(d, 4) == 0);
	return s.in[0] < 0 ? -1 : add(d, s);
}

static int draw_binary(struct drawing *d)
{
	int a = any(d), b, from = 0, mul = pick(d, 3) == 0;
	struct rt_shape s;

	if (a < 0)
		return -1;
	s = *shape_of(d, a);
	if (!mul && pick(d, 3) == 0)
		from = pick(d, s.n);
	s.n -= from;
	memmove(s.d, s.d + from, (size_t)s.n * sizeof(s.d[0]));
	b = pick(d, 8) ? want(d, &s, GEN_ZERO) : a;
	return b < 0 ? -1 : add(d, step(mul ? GEN_MUL : GEN_ADD, a, b, -1));
}

static int draw_reduce(struct drawing *d)
{
	struct gen_step s = step(GEN_REDUCE, any(d), -1, -1);

	if (s.in[0] < 0)
		return -1;
	s.a[0] = pick(d, 3);
	s.a[1] = pick(d, d->wild ? 6 : shape_of(d, s.in[0])->n);
	return add(d, s);
}

static int draw_reshape(struct drawing *d)
{
	struct gen_step s = step(GEN_RESHAPE, any(d), -1, -1);

	if (s.in[0] < 0)
		return -1;
	s.shape = split(d, shape_of(d, s.in[0]), 1 + pick(d, 4));
	if (d->wild)
		s.shape.d[0] += pick(d, 3) - 1;
	return add(d, s);
}

static int draw_pool(struct drawing *d)
{
	struct gen_step s = step(pick(d, 2) ? GEN_MAX_POOL : GEN_AVG_POOL, any_of(d, 4, 4), -1, -1);

	s.a[0] = 1 + pick(d, 4);
	s.a[1] = 1 + pick(d, 3);
	s.a[2] = pick(d, d->wild ? 4 : s.a[0] / 2 + 1);
	return s.in[0] < 0 ? -1 : add(d, s);
}

static int draw_user(struct drawing *d)
{
	int which = pick(d, GEN_USER_OPS);
	struct gen_step s = step(GEN_USER, which == 1 ? any_of(d, 2, 2) : any(d), -1, -1);

	s.a[0] = which;
	s.a[1] = pick(d, GEN_USER_ARGS);
	if (s.in[0] < 0)
		return -1;
	for (int i = 1; i < gen_user_ops[which].inputs; i++) {
		s.in[i] = which == 1 ? want(d, &RT_SHAPE(last(d, s.in[0])), GEN_ZERO) : want(d, shape_of(d, s.in[0]), GEN_ZERO);
		if (s.in[i] < 0)
			return -1;
	}
	return add(d, s);
}

/* ---- patterns that passes fuse, and near misses ---- */
static int act_of(struct drawing *d, int x, int which)
{
	struct gen_step s = step(GEN_ACT, x, -1, -1);

	s.a[0] = which;
	return x < 0 ? -1 : add(d, s);
}

static int draw_linear_act(struct drawing *d)
{
	return act_of(d, draw_linear(d), pick(d, 6));
}

static int sum_of(struct drawing *d, int x)
{
	int b = x < 0 ? -1 : want(d, shape_of(d, x), GEN_ZERO);

	return b < 0 ? -1 : pick(d, 2) ? add(d, step(GEN_ADD, x, b, -1)) : add(d, step(GEN_ADD, b, x, -1));
}

static int draw_add_norm(struct drawing *d)
{
	sum_of(d, any(d));
	return draw_norm(d);
}

/* Adds some of: product, norm, sum, relu. The product may also be read after its norm. */
static int draw_block(struct drawing *d)
{
	int product = pick(d, 3) ? draw_conv(d) : draw_linear(d), x = product;

	if (x >= 0 && pick(d, 5))
		x = draw_batchnorm(d);
	if (x >= 0 && pick(d, 6) == 0 && same(shape_of(d, x), shape_of(d, product)))
		x = add(d, step(pick(d, 2) ? GEN_ADD : GEN_MUL, x, product, -1));
	if (x >= 0 && pick(d, 2))
		x = sum_of(d, x);
	if (x >= 0 && pick(d, 3))
		x = act_of(d, x, 2);
	return x;
}

/* Returns a layer with a weight of its own: linear, or a 3x3 convolution of images. */
static int own_layer(struct drawing *d, int x, int64_t n)
{
	bool image = x >= 0 && shape_of(d, x)->n == 4;
	int w = x < 0 ? -1 :
		leaf(d, GEN_PARAM, image ? &RT_SHAPE(n, last(d, x), 3, 3) : &RT_SHAPE(n, last(d, x)), GEN_WEIGHT);
	struct gen_step s = step(image ? GEN_CONV : GEN_LINEAR, x, w, -1);

	s.a[0] = s.a[1] = s.a[2] = image;
	return w < 0 ? -1 : add(d, s);
}

/* Adds two layers whose units nothing else reads: heads, gated neurons, neurons or channels. */
static int draw_pair(struct drawing *d)
{
	int x = any(d), kv = 1 + pick(d, 3), heads = kv * (1 + pick(d, 3)), depth = gen_for_device ? 8 : 3;
	bool attention = x >= 0 && shape_of(d, x)->n == 3 && pick(d, 2), gated = !attention && pick(d, 3) == 0;
	int y = own_layer(d, x, attention ? (heads + 2 * kv) * depth : gated ? 2 * size(d) : size(d));
	struct gen_step s = step(attention ? GEN_ATTENTION : gated ? GEN_SWIGLU : GEN_ACT, y, -1, -1);

	s.a[0] = attention ? heads : pick(d, 4);
	s.a[1] = 1;
	s.a[2] = attention ? kv : 0;
	return own_layer(d, y < 0 ? -1 : add(d, s), size(d));
}

/* A function that fails may have added leaves; later steps can use them. */
static int (*const draws[])(struct drawing *d) = {
	draw_linear, draw_linear_act, draw_linear_act, draw_matmul, draw_matmul, draw_conv, draw_conv, draw_batchnorm,
	draw_block, draw_block, draw_block, draw_block, draw_norm, draw_add_norm, draw_add_norm, draw_embedding,
	draw_attention, draw_attention, draw_grouped_attention, draw_swiglu, draw_swiglu, draw_rope, draw_long_attention,
	draw_dropout, draw_dropout, draw_unary, draw_unary, draw_unary, draw_unary, draw_binary, draw_binary, draw_binary,
	draw_reduce, draw_reduce, draw_reshape, draw_pool, draw_pool, draw_user, draw_pair, draw_pair,
};

/* Reduces some unread results to a row of four numbers each and returns their sum, or x. */
static int gather(struct drawing *d, int x)
{
	int sum = -1, v;

	for (int i = pick(d, 5); i > 0 && (v = result(d, true)) >= 0; i--) {
		struct gen_step s = step(GEN_RESHAPE, v, -1, -1);
		int w, row;

		s.shape = RT_SHAPE(1, rt_shape_elements(shape_of(d, v)));
		row = add(d, s);
		w = row < 0 ? -1 : new_of(d, &RT_SHAPE(4, s.shape.d[1]), GEN_WEIGHT);
		row = w < 0 ? -1 : add(d, step(GEN_LINEAR, row, w, -1));
		if (row < 0)
			break;
		sum = sum < 0 ? row : add(d, step(GEN_ADD, sum, row, -1));
		x = sum;
	}
	return x;
}

static void finish(struct drawing *d)
{
	struct gen_step s;
	struct rt_shape rows;
	int x = result(d, true), y;

	x = d->rows && x >= 0 && pick(d, 4) ? x : gather(d, x);
	if (x < 0)
		x = result(d, false);
	if (x < 0)
		x = leaf(d, GEN_PARAM, &RT_SHAPE(3, 5), GEN_ZERO);
	if (pick(d, 3) == 0) {
		y = want(d, shape_of(d, x), GEN_ZERO);
		s = step(GEN_DOT, x, y, -1);
	} else {
		if (pick(d, 3)) {
			int64_t v = 2 + size(d);
			int w = want(d, &RT_SHAPE(v, last(d, x)), GEN_WEIGHT);

			y = w < 0 ? -1 : add(d, step(GEN_LINEAR, x, w, maybe(d, v, GEN_ZERO)));
			x = y < 0 ? x : y;
		}
		rows = *shape_of(d, x);
		rows.n--;
		if (!rows.n)
			rows = RT_SHAPE(1);
		y = ids(d, rows, (int)last(d, x), 1);
		s = step(GEN_CROSS_ENTROPY, x, y, -1);
	}
	if (y >= 0 && add(d, s) >= 0)
		return;
	/* the program is full: the loss is the dot product of x with itself */
	s = step(GEN_DOT, x, x, -1);
	d->m->step[d->m->n++] = s;
}

void gen_draw(struct gen_program *m, const uint8_t *bytes, size_t n)
{
	struct drawing d = { .m = m, .bytes = bytes, .n = n };
	int kind = pick(&d, 16), ops = LEAST_OPS + pick(&d, MOST_OPS - LEAST_OPS + 1);

	memset(m, 0, sizeof(*m));
	d.rows = kind >= 10;
	d.axis = kind >= 13;
	d.wild = kind == 1;
	d.large = kind == 2 && pick(&d, 4) == 0;
	m->dropout = true;
	for (size_t i = 0; i < sizeof(m->how); i++)
		m->how[i] = (uint8_t)pick(&d, 256);
	m->seed = gt_hash64(m->how, sizeof(m->how), 0);
	gen_build(m, GEN_ROWS, &d.graph, NULL);
	for (int i = 0; i < ops && m->n < GEN_STEPS - 24; i++)
		draws[pick(&d, GT_ARRAY_SIZE(draws))](&d);
	finish(&d);
	gen_graph_free(&d.graph);
}
