/* SPDX-License-Identifier: Apache-2.0 */
/* The reference gradient of each op in double, with the random errors of plain.h. */
#include <math.h>
#include "runtime/graph/reduce.h"
#include "tests/graphs/generated.h"
#include "tests/graphs/plain.h"

/* The backward pass of one call. All values that it reads have the random errors of the pattern. */
struct back {
	const struct rt_call *c;
	const double *in[RT_MAX_IO], *out[RT_MAX_IO]; /* the inputs and outputs of the forward call */
	const double *dy, *low_dy;		      /* dy: f32. low_dy: rounded as products in reduced precision read them. */
	double *dx[RT_MAX_IO];			      /* zeros to which the gradient is added; NULL: no gradient */
	const struct plain_how *how;
	double level; /* relative rounding error of this call */
	uint64_t stream;
};

static int64_t elements(const struct rt_node *n)
{
	return rt_shape_elements(&n->shape);
}

/* Returns a factor with the error of one rounding. */
static double own(const struct back *b, uint64_t what, int64_t i)
{
	return 1 + b->level * plain_noise(b->stream + what, (uint64_t)i);
}

static void linear(const struct back *b)
{
	int64_t rows = rt_rows(b->c->in[0]), inner = rt_cols(b->c->in[0]), cols = rt_cols(b->c->out[0]);

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) {
			double g = b->low_dy[i * cols + j];

			for (int64_t k = 0; k < inner; k++) {
				b->dx[0][i * inner + k] += g * b->in[1][j * inner + k];
				b->dx[1][j * inner + k] += g * b->in[0][i * inner + k];
			}
			if (b->dx[2])
				b->dx[2][j] += b->dy[i * cols + j];
		}
}

static void matmul(const struct back *b)
{
	const struct rt_shape *as = &b->c->in[0]->shape, *ys = &b->c->out[0]->shape;
	int64_t m = ys->d[ys->n - 2], n = ys->d[ys->n - 1], inner = as->d[as->n - (b->c->attr.ta ? 2 : 1)];

	for (int64_t at = 0; at < elements(b->c->out[0]); at++)
		for (int64_t k = 0; k < inner; k++) {
			int64_t p = at / (m * n), i = at / n % m, j = at % n;
			int64_t x = p * m * inner + (b->c->attr.ta ? k * m + i : i * inner + k);
			int64_t y = p * n * inner + (b->c->attr.tb ? j * inner + k : k * n + j);

			b->dx[0][x] += b->low_dy[at] * b->in[1][y];
			b->dx[1][y] += b->low_dy[at] * b->in[0][x];
		}
}

/* Gradient of one element of the result. */
static void patch(const struct back *b, int64_t at)
{
	const int64_t *xs = b->c->in[0]->shape.d, *ws = b->c->in[1]->shape.d, *ys = b->c->out[0]->shape.d;
	const struct rt_attr *a = &b->c->attr;
	int64_t out = at % ys[3], col = at / ys[3] % ys[2], row = at / ys[3] / ys[2] % ys[1], image = at / ys[3] / ys[2] / ys[1];
	int64_t first = out / (ws[0] / a->groups) * ws[1];

	for (int64_t k = 0; k < ws[2] * ws[3]; k++) {
		int64_t h = row * a->stride - a->pad + k / ws[3], v = col * a->stride - a->pad + k % ws[3];

		for (int64_t i = 0; h >= 0 && h < xs[1] && v >= 0 && v < xs[2] && i < ws[1]; i++) {
			int64_t x = ((image * xs[1] + h) * xs[2] + v) * xs[3] + first + i;
			int64_t w = (out * ws[1] + i) * ws[2] * ws[3] + k;

			b->dx[0][x] += b->low_dy[at] * b->in[1][w];
			b->dx[1][w] += b->low_dy[at] * b->in[0][x];
		}
	}
	if (b->dx[2])
		b->dx[2][out] += b->dy[at];
}

static void conv(const struct back *b)
{
	for (int64_t i = 0; i < elements(b->c->out[0]); i++)
		patch(b, i);
}

static void embedding(const struct back *b)
{
	int64_t len = b->c->in[0]->shape.d[1], cols = rt_cols(b->c->in[1]);

	for (int64_t i = 0; i < elements(b->c->out[0]); i++) {
		b->dx[1][(int64_t)b->in[0][i / cols] * cols + i % cols] += b->dy[i];
		if (b->dx[2])
			b->dx[2][i / cols % len * cols + i % cols] += b->dy[i];
	}
}

/* Normalises n values with stride `apart` that share a mean and a deviation. `gains` is the stride of gain and bias. */
static void norm(const struct back *b, int64_t at, int64_t n, int64_t apart, int64_t gain, int64_t gains, double mean, double rstd)
{
	double g_sum = 0, gx_sum = 0;

	for (int64_t i = 0; i < n; i++) {
		double dy = b->dy[at + i * apart], x = (b->in[0][at + i * apart] - mean) * rstd;

		g_sum += dy * b->in[1][gain + i * gains];
		gx_sum += dy * b->in[1][gain + i * gains] * x;
		b->dx[1][gain + i * gains] += dy * x;
		if (b->dx[2])
			b->dx[2][gain + i * gains] += dy;
	}
	if (b->c->op->id == RT_OP_RMSNORM)
		g_sum = 0;
	for (int64_t i = 0; i < n; i++) { /* recomputed, so its rounding is independent of the loop above */
		double g = b->dy[at + i * apart] * b->in[1][gain + i * gains] * own(b, 60, at + i * apart);
		double x = (b->in[0][at + i * apart] - mean) * rstd * own(b, 61, at + i * apart);

		b->dx[0][at + i * apart] += rstd * (g - g_sum / (double)n - x * gx_sum / (double)n);
	}
}

static void rows_norm(const struct back *b)
{
	int64_t rows = rt_rows(b->c->in[0]), cols = rt_cols(b->c->in[0]);
	bool rms = b->c->op->id == RT_OP_RMSNORM;

	for (int64_t i = 0; i < rows; i++)
		norm(b, i * cols, cols, 1, 0, 1, rms ? 0 : b->out[1][i], b->out[rms ? 1 : 2][i]);
}

static void batchnorm(const struct back *b)
{
	int64_t rows = rt_rows(b->c->in[0]), cols = rt_cols(b->c->in[0]);

	for (int64_t j = 0; j < cols; j++)
		norm(b, j, rows, cols, j, 0, b->out[1][j], b->out[2][j]);
}

/*
 * Attention of one query. q, key and y are the offsets of its first element, of the first key, and of its result. The
 * first value is `value` elements after the first key.
 */
static void query(const struct back *b, int64_t q, int64_t key, int64_t value, int64_t keys, int64_t depth, int64_t y, double lse)
{
	int64_t stride = rt_cols(b->c->in[0]);
	double d = 0, scale = 1 / sqrt((double)depth);

	for (int64_t i = 0; i < depth; i++)
		d += b->out[0][y + i] * b->dy[y + i];
	for (int64_t j = 0; j < keys; j++) {
		int64_t k = key + j * stride, v = k + value;
		double s = 0, dp = 0, p, ds;

		for (int64_t i = 0; i < depth; i++) {
			s += b->in[0][q + i] * b->in[0][k + i];
			dp += b->dy[y + i] * b->in[0][v + i];
		}
		p = exp(s * scale - lse);
		ds = p * (dp - d) * scale;
		for (int64_t i = 0; i < depth; i++) {
			b->dx[0][v + i] += p * b->dy[y + i];
			b->dx[0][q + i] += ds * b->in[0][k + i];
			b->dx[0][k + i] += ds * b->in[0][q + i];
		}
	}
}

static void attention(const struct back *b)
{
	int64_t len = b->c->in[0]->shape.d[1], width = rt_cols(b->c->out[0]), heads = b->c->attr.heads, depth = width / heads;
	int64_t stride = rt_cols(b->c->in[0]), kv = b->c->attr.kv_heads;

	for (int64_t i = 0; i < elements(b->c->out[1]); i++) {
		int64_t t = i % len, h = i / len % heads, image = i / len / heads;
		int64_t first = image * len * stride, key = first + width + h / (heads / kv) * depth;

		query(b, first + t * stride + h * depth, key, kv * depth, b->c->attr.all_keys ? len : t + 1, depth,
		      (image * len + t) * width + h * depth, b->out[1][i]);
	}
}

static void rope(const struct back *b)
{
	const struct rt_attr *a = &b->c->attr;
	int64_t cols = rt_cols(b->c->in[0]), len = b->c->in[0]->shape.d[1], half = a->depth / 2;

	for (int64_t i = 0; i < elements(b->c->in[0]); i++) {
		int64_t e = i % cols % a->depth, other = e < half ? i + half : i - half;
		double angle = (double)(i / cols % len) * pow((double)a->base, -2.0 * (double)(e % half) / a->depth);

		if (i % cols >= (int64_t)a->heads * a->depth)
			b->dx[0][i] += b->dy[i];
		else
			b->dx[0][i] += b->dy[i] * cos(angle) + (e < half ? 1 : -1) * b->dy[other] * sin(angle);
	}
}

/* Returns the derivative for input x and output y. */
static double act_slope(enum rt_act act, double x, double y)
{
	const double k = sqrt(2 / M_PI);
	double s = 1 / (1 + exp(-x)), t = tanh(k * (x + 0.044715 * x * x * x));

	switch (act) {
	case RT_ACT_GELU:
		return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x);
	case RT_ACT_GELU_ERF:
		return 0.5 * (1 + erf(x / sqrt(2))) + x * exp(-0.5 * x * x) / sqrt(2 * M_PI);
	case RT_ACT_RELU:
		return x > 0;
	case RT_ACT_SILU:
		return s + x * s * (1 - s);
	case RT_ACT_TANH:
		return 1 - y * y;
	case RT_ACT_SIGMOID:
		return y * (1 - y);
	case RT_ACT_NONE:
		break;
	}
	return 1;
}

static void act(const struct back *b)
{
	for (int64_t i = 0; i < elements(b->c->in[0]); i++)
		b->dx[0][i] += b->dy[i] * act_slope(b->c->attr.act, b->in[0][i], b->out[0][i]);
}

static void swiglu(const struct back *b)
{
	int64_t cols = rt_cols(b->c->out[0]);

	for (int64_t i = 0; i < elements(b->c->out[0]); i++) {
		int64_t at = i / cols * cols + i;
		double a = b->in[0][at], s = 1 / (1 + exp(-a));

		b->dx[0][at] += b->dy[i] * b->in[0][at + cols] * act_slope(RT_ACT_SILU, a, 0);
		b->dx[0][at + cols] += b->dy[i] * a * s;
	}
}

static void add(const struct back *b)
{
	int64_t part = elements(b->c->in[1]);

	for (int64_t i = 0; i < elements(b->c->in[0]); i++) {
		b->dx[0][i] += b->dy[i];
		b->dx[1][i % part] += b->dy[i];
	}
}

static void mul(const struct back *b)
{
	for (int64_t i = 0; i < elements(b->c->in[0]); i++) {
		b->dx[0][i] += b->dy[i] * b->in[1][i];
		b->dx[1][i] += b->dy[i] * b->in[0][i];
	}
}

/* The gradient of a sum, of reshape and of dropout. */
static void affine(const struct back *b)
{
	double scale = b->c->op->id == RT_OP_AFFINE ? (double)b->c->attr.scale : 1;
	bool drops = b->c->op->id == RT_OP_DROPOUT && b->how->masks;

	for (int64_t i = 0; i < elements(b->c->in[0]); i++)
		b->dx[0][i] += b->dy[i] * (drops ? b->how->masks[b->c->out[0]->id][i] : scale);
}

static void softmax(const struct back *b)
{
	int64_t rows = rt_rows(b->c->in[0]), cols = rt_cols(b->c->in[0]);

	for (int64_t r = 0; r < rows; r++) {
		double d = 0;

		for (int64_t j = r * cols; j < (r + 1) * cols; j++)
			d += b->dy[j] * b->out[0][j];
		for (int64_t j = r * cols; j < (r + 1) * cols; j++)
			b->dx[0][j] += b->out[0][j] * (b->dy[j] - d);
	}
}

static void reduce(const struct back *b)
{
	struct rt_extents e = rt_reduce_extents(b->c->in[0], b->c->out[0], &b->c->attr);

	for (int64_t i = 0; i < e.outer * e.inner; i++) {
		int64_t first = i / e.inner * e.n * e.inner + i % e.inner, most = 0;

		for (int64_t k = 1; k < e.n; k++)
			most = b->in[0][first + k * e.inner] > b->in[0][first + most * e.inner] ? k : most;
		for (int64_t k = 0; k < e.n; k++)
			if (b->c->attr.reduction != RT_MAX || k == most)
				b->dx[0][first + k * e.inner] +=
					b->dy[i] / (b->c->attr.reduction == RT_MEAN ? (double)e.n : 1);
	}
}

static void pool(const struct back *b)
{
	const int64_t *ys = b->c->out[0]->shape.d, *xs = b->c->in[0]->shape.d;
	const struct rt_attr *a = &b->c->attr;
	int area = a->window * a->window;

	for (int64_t i = 0; i < elements(b->c->out[0]); i++)
		for (int k = 0; k < area; k++) {
			int64_t ch = i % ys[3], image = i / ys[3] / ys[2] / ys[1];
			int64_t h = i / ys[3] / ys[2] % ys[1] * a->stride - a->pad + k / a->window;
			int64_t w = i / ys[3] % ys[2] * a->stride - a->pad + k % a->window;
			bool max = b->c->op->id == RT_OP_MAX_POOL;

			if (h >= 0 && h < xs[1] && w >= 0 && w < xs[2] && (!max || k == (int)b->out[1][i]))
				b->dx[0][((image * xs[1] + h) * xs[2] + w) * xs[3] + ch] += b->dy[i] / (max ? 1 : area);
		}
}

static void pad(const struct back *b)
{
	int64_t from = rt_cols(b->c->in[0]), to = rt_cols(b->c->out[0]);

	for (int64_t i = 0; i < elements(b->c->in[0]); i++)
		b->dx[0][i] += b->dy[i / from * to + b->c->attr.window + i % from];
}

static void user(const struct back *b)
{
	struct rt_shape shapes[RT_USER_INPUTS];

	for (int i = 0; i < b->c->attr.user->inputs; i++)
		shapes[i] = b->c->in[i]->shape;
	gen_user_gradient(b->c->attr.user, b->in, b->dy, b->dx, shapes, b->c->attr.arg);
}

static void cross_entropy(const struct back *b)
{
	int64_t rows = rt_rows(b->c->in[0]), cols = rt_cols(b->c->in[0]), count = 0;

	for (int64_t i = 0; i < rows; i++)
		count += (int64_t)b->in[1][i] != RT_IGNORE;
	for (int64_t i = 0; i < rows; i++) {
		const double *x = b->in[0] + i * cols;
		double max = -INFINITY, sum = 0;

		for (int64_t j = 0; j < cols; j++)
			max = fmax(max, x[j]);
		for (int64_t j = 0; j < cols; j++)
			sum += exp(x[j] - max);
		for (int64_t j = 0; j < cols && (int64_t)b->in[1][i] != RT_IGNORE; j++) {
			/* if p is nearly 1, p - 1 consists of rounding errors */
			double p = exp(x[j] - max) / sum * own(b, 0, i * cols + j);

			b->dx[0][i * cols + j] += b->dy[0] * (p - (j == (int64_t)b->in[1][i])) / (double)count;
		}
	}
}

static void dot(const struct back *b)
{
	for (int64_t i = 0; i < elements(b->c->in[0]); i++) {
		b->dx[0][i] += b->dy[0] * b->in[1][i];
		b->dx[1][i] += b->dy[0] * b->in[0][i];
	}
}

static void (*const slopes[RT_N_OPS])(const struct back *b) = {
	[RT_OP_LINEAR] = linear, [RT_OP_MATMUL] = matmul, [RT_OP_CONV] = conv, [RT_OP_EMBEDDING] = embedding,
	[RT_OP_LAYERNORM] = rows_norm, [RT_OP_RMSNORM] = rows_norm, [RT_OP_BATCHNORM] = batchnorm,
	[RT_OP_ATTENTION] = attention, [RT_OP_ROPE] = rope, [RT_OP_SWIGLU] = swiglu, [RT_OP_ACT] = act, [RT_OP_ADD] = add,
	[RT_OP_MUL] = mul, [RT_OP_AFFINE] = affine,
	[RT_OP_DROPOUT] = affine, [RT_OP_RESHAPE] = affine, [RT_OP_SOFTMAX] = softmax, [RT_OP_REDUCE] = reduce,
	[RT_OP_MAX_POOL] = pool, [RT_OP_AVG_POOL] = pool, [RT_OP_PAD] = pad, [RT_OP_USER] = user,
	[RT_OP_CROSS_ENTROPY] = cross_entropy, [RT_OP_DOT] = dot,
};

/* Adds the gradients of the call to those of its inputs. */
static void take_back(struct back *b, double **slope)
{
	slopes[b->c->op->id](b);
	for (int k = 0; k < RT_MAX_IO; k++) {
		struct rt_node *n = b->dx[k] ? b->c->in[k] : NULL;

		if (n && !slope[n->id])
			slope[n->id] = gt_xcalloc((size_t)elements(n), sizeof(double));
		for (int64_t i = 0; n && i < elements(n); i++)
			slope[n->id][i] += b->dx[k][i] * own(b, 1 + (uint64_t)k, i);
	}
}

static void run_back(const struct rt_call *c, int at, const struct plain_how *how, struct plain *p)
{
	uint64_t stream = plain_stream(how, 1000 + at);
	struct back b = { .c = c, .how = how, .level = how->pattern ? how->level : 0, .stream = stream };
	const double *dy = p->slope[c->out[0]->id];
	double *mine[2 * RT_MAX_IO + 2];
	int n = 0;

	b.dy = mine[n++] = plain_read(dy, c->out[0], stream + 20, how, PLAIN_F32);
	b.low_dy = mine[n++] = plain_read(dy, c->out[0], stream + 20, how, PLAIN_LOW_SLOPE);
	for (int k = 0; k < RT_MAX_IO; k++) {
		bool real = c->in[k] && c->in[k]->dtype == RT_F32;

		if (c->in[k])
			b.in[k] = p->value[c->in[k]->id];
		if (real)
			b.in[k] = mine[n++] = plain_read(b.in[k], c->in[k], stream + 30 + (uint64_t)k, how,
							 c->op->reduced >> k & 1 ? PLAIN_LOW : PLAIN_F32);
		if (real)
			b.dx[k] = gt_xcalloc((size_t)elements(c->in[k]), sizeof(double));
		if (c->out[k])
			b.out[k] = p->value[c->out[k]->id];
		if (c->out[k] && c->out[k]->dtype == RT_F32)
			b.out[k] = mine[n++] = plain_read(b.out[k], c->out[k], stream + 40 + (uint64_t)k, how, PLAIN_F32);
	}
	take_back(&b, p->slope);
	for (int k = 0; k < RT_MAX_IO; k++)
		free(b.dx[k]);
	while (n)
		free(mine[--n]);
}

void plain_run_back(const struct rt_graph *g, const struct rt_node *loss, const struct plain_how *how, struct plain *p)
{
	p->slope = gt_xcalloc((size_t)g->ir.n_nodes + 1, sizeof(*p->slope));
	p->slope[loss->id] = gt_xcalloc(1, sizeof(double));
	p->slope[loss->id][0] = 1;
	for (int i = g->ir.n_calls - 1; i >= 0; i--)
		if (p->slope[g->ir.calls[i]->out[0]->id])
			run_back(g->ir.calls[i], i, how, p);
}
