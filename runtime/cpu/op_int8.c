/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers and convolutions with INT8 weights (math/int8.h), the observation of their activations, and roundings to INT8. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/conv.h"
#include "runtime/graph/op_int8.h"
#include "runtime/math/histogram.h"
#include "runtime/math/int8.h"

#define LINE	64 /* bytes */

static size_t lines(size_t bytes)
{
	return (bytes + LINE - 1) / LINE * LINE;
}

static struct rt_i8_weight weight_of(const struct rt_node *w, const struct rt_shape *shape)
{
	return rt_i8_weight_at(w->data, shape->d[0], rt_shape_elements(shape) / shape->d[0]);
}

/* w (O,K), or (O,C,KH,KW) in the order (O,KH,KW,C) */
static void run_quantize_weight(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_shape *s = &c->in[0]->shape;
	struct rt_i8_weight to = weight_of(c->out[0], s);

	rt_i8_pack(cpu, &to, rt_f32(c->in[0]), s->d[1], to.k / s->d[1]);
}

const struct rt_cpu_kernel rt_cpu_quantize_weight = { .run = run_quantize_weight };

/* in: x, weight, bias. Sets all but `rows` and `arg`. */
static struct rt_i8_product product_of(const struct rt_call *c)
{
	return (struct rt_i8_product){
		.kernels = rt_i8_best(),
		.m = rt_rows(c->out[0]),
		.w = weight_of(c->in[1], &c->attr.shape),
		.bias = rt_f32(c->in[2]),
		.act = c->attr.act,
		.y = rt_f32(c->out[0]),
	};
}

/* Quantises x (n) by the calibrated range of the call, or by its own range if there is none. */
static void quantize(const struct rt_call *c, uint8_t *to, const float *x, int64_t n, float *scale, int32_t *zero)
{
	if (!(c->attr.scale > 0)) {
		rt_i8_best()->quantize_row(to, x, n, scale, zero);
		return;
	}
	*zero = (int32_t)c->attr.offset;
	*scale = c->attr.scale + rt_i8_best()->quantize(to, x, n, 1 / c->attr.scale, *zero);
}

/* A linear layer, or two that are computed tile by tile. */
struct layers {
	const struct rt_cpu *cpu;
	const struct rt_call *c;
	struct rt_i8_product first; /* with a second layer */
	char *normed; /* normalised rows of a tile, per thread */
	char *tiles; /* with a second layer: results of the first for one tile and scratch memory, per thread */
};

static size_t normed_bytes(const struct rt_call *c)
{
	return lines((size_t)(RT_I8_TILE_ROWS * c->attr.shape.d[1]) * sizeof(float));
}

static size_t hidden_bytes(const struct rt_call *c)
{
	return lines((size_t)(RT_I8_TILE_ROWS * c->attr.shape.d[0]) * sizeof(float));
}

static size_t tile_bytes(const struct rt_call *c)
{
	return hidden_bytes(c) + rt_i8_tile_scratch_bytes(c->attr.shape.d[1]);
}

/* Returns rows of x, normalised if the call has a norm. */
static const float *linear_input(const struct layers *l, int64_t row, int64_t rows)
{
	const struct rt_call *c = l->c;
	int64_t k = c->attr.shape.d[1];
	const float *x = rt_f32(c->in[0]) + row * k;
	float *y = (float *)(void *)(l->normed + normed_bytes(c) * (size_t)omp_get_thread_num());

	if (!c->in[RT_INT8_GAIN])
		return x;
	l->cpu->simd->norm(NULL, y, NULL, NULL, x, NULL, rt_f32(c->in[RT_INT8_GAIN]), rt_f32(c->in[RT_INT8_GAIN + 1]), c->attr.eps,
			   rows, k);
	return y;
}

static void linear_rows(const struct rt_i8_product *p, int64_t row, int64_t rows, uint8_t *to, int64_t ld, float *scale,
			int32_t *zero)
{
	const struct layers *l = p->arg;
	const float *x = linear_input(l, row, rows);

	for (int64_t i = 0; i < rows; i++)
		quantize(l->c, to + i * ld, x + i * p->w.k, p->w.k, &scale[i], &zero[i]);
}

/* Computes the first layer for these rows. */
static void second_rows(const struct rt_i8_product *p, int64_t row, int64_t rows, uint8_t *to, int64_t ld, float *scale,
			int32_t *zero)
{
	const struct layers *l = p->arg;
	char *own = l->tiles + tile_bytes(l->c) * (size_t)omp_get_thread_num();
	float *hidden = (float *)(void *)own;

	rt_i8_multiply_tile(l->cpu, &l->first, row, rows, hidden, own + hidden_bytes(l->c));
	for (int64_t i = 0; i < rows; i++)
		rt_i8_best()->quantize_row(to + i * ld, hidden + i * p->w.k, p->w.k, &scale[i], &zero[i]);
}

static int64_t last_inputs(const struct rt_call *c)
{
	return c->attr.shape.d[c->in[RT_INT8_SECOND] ? 0 : 1];
}

static size_t linear_scratch(const struct rt_call *c, int threads)
{
	size_t own = (c->in[RT_INT8_GAIN] ? normed_bytes(c) : 0) + (c->in[RT_INT8_SECOND] ? tile_bytes(c) : 0);

	return rt_i8_scratch_bytes(last_inputs(c), threads) + own * (size_t)threads;
}

static void run_linear_int8(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	char *scratch = c->out[RT_MAX_IO - 1]->data, *own = scratch + rt_i8_scratch_bytes(last_inputs(c), cpu->threads);
	struct layers l = { .cpu = cpu, .c = c, .first = product_of(c), .normed = own };
	struct rt_i8_product p;

	l.first.rows = linear_rows;
	l.first.arg = &l;
	l.tiles = own + (c->in[RT_INT8_GAIN] ? normed_bytes(c) * (size_t)cpu->threads : 0);
	p = l.first;
	if (c->in[RT_INT8_SECOND]) {
		p.w = rt_i8_weight_at(c->in[RT_INT8_SECOND]->data, rt_cols(c->out[0]), c->attr.shape.d[0]);
		p.bias = rt_f32(c->in[RT_INT8_SECOND + 1]);
		p.act = RT_ACT_NONE;
		p.rows = second_rows;
		p.rows_once = true;
	}
	p.residual = rt_f32(c->in[RT_INT8_RESIDUAL]);
	rt_i8_multiply(cpu, &p, scratch);
}

const struct rt_cpu_kernel rt_cpu_linear_int8 = { .run = run_linear_int8, .scratch = linear_scratch };

/* The quantised images (N,H+2P,W+2P,C). Padding has the value of the zero point. */
struct images {
	struct rt_conv s;
	int64_t row, image; /* bytes */
	uint8_t *at;
	float *scale;  /* (N) */
	int32_t *zero; /* (N) */
};

static struct images images_of(const struct rt_call *c)
{
	const struct rt_node w = { .shape = c->attr.shape };
	struct images m = { .s = rt_conv_of(c, c->in[0], &w, c->out[0]) };

	m.row = (m.s.w + 2 * m.s.pad) * m.s.c;
	m.image = (m.s.h + 2 * m.s.pad) * m.row;
	return m;
}

static size_t images_bytes(const struct images *m)
{
	return lines((size_t)(m->s.n * m->image)) + lines((size_t)m->s.n * 8);
}

static struct rt_i8_range image_range(const struct rt_call *c, const float *x, int64_t n)
{
	struct rt_i8_range r = { .scale = c->attr.scale, .inverse = 1 / c->attr.scale, .zero = (int32_t)c->attr.offset };
	float lo, hi, bad;

	if (c->attr.scale > 0)
		return r;
	bad = rt_i8_best()->range(x, n, &lo, &hi);
	r = rt_i8_range(lo, hi);
	r.scale += bad;
	return r;
}

static void quantize_image(const struct rt_call *c, const struct images *m, int64_t i)
{
	const struct rt_conv *s = &m->s;
	int64_t row = s->w * s->c;
	const float *x = rt_f32(c->in[0]) + i * s->h * row;
	uint8_t *to = m->at + i * m->image;
	struct rt_i8_range r = image_range(c, x, s->h * row);
	float bad = 0;

	if (s->pad)
		memset(to, r.zero, (size_t)m->image);
	for (int64_t y = 0; y < s->h; y++)
		bad += rt_i8_best()->quantize(to + (y + s->pad) * m->row + s->pad * s->c, x + y * row, row, r.inverse, r.zero);
	m->scale[i] = r.scale + bad;
	m->zero[i] = r.zero;
}

/* Copies the patches of output pixels row..row+rows. */
static void conv_rows(const struct rt_i8_product *p, int64_t row, int64_t rows, uint8_t *to, int64_t ld, float *scale,
		      int32_t *zero)
{
	const struct images *m = p->arg;
	const struct rt_conv *s = &m->s;
	int64_t pixels = s->oh * s->ow, line = s->kw * s->c;

	for (int64_t i = 0; i < rows; i++) {
		int64_t image = (row + i) / pixels, y = (row + i) % pixels / s->ow, x = (row + i) % s->ow;
		const uint8_t *from = m->at + image * m->image + y * s->stride * m->row + x * s->stride * s->c;

		for (int64_t k = 0; k < s->kh; k++)
			memcpy(to + i * ld + k * line, from + k * m->row, (size_t)line);
		scale[i] = m->scale[image];
		zero[i] = m->zero[image];
	}
}

static size_t conv_scratch(const struct rt_call *c, int threads)
{
	struct images m = images_of(c);

	return images_bytes(&m) + rt_i8_scratch_bytes(rt_shape_elements(&c->attr.shape) / m.s.o, threads);
}

static void run_conv_int8(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	char *scratch = c->out[RT_MAX_IO - 1]->data;
	struct images m = images_of(c);
	struct rt_i8_product p = product_of(c);
	int team = rt_cpu_team(cpu, 5.0 * (double)m.s.n * (double)m.image);

	m.at = (uint8_t *)scratch;
	m.scale = (float *)(scratch + lines((size_t)(m.s.n * m.image)));
	m.zero = (int32_t *)(m.scale + m.s.n);
#pragma omp parallel for num_threads(team) schedule(dynamic) if (team > 1)
	for (int64_t i = 0; i < m.s.n; i++)
		quantize_image(c, &m, i);
	p.rows = conv_rows;
	p.arg = &m;
	rt_i8_multiply(cpu, &p, scratch + images_bytes(&m));
}

const struct rt_cpu_kernel rt_cpu_conv_int8 = { .run = run_conv_int8, .scratch = conv_scratch };

static void run_observe(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	rt_histogram_add(c->out[0]->data, rt_f32(c->in[0]), rt_shape_elements(&c->in[0]->shape));
}

const struct rt_cpu_kernel rt_cpu_observe = { .run = run_observe };

#define CHUNK	512

/* y = x (n), rounded by its own range */
static void round_part(float *y, const float *x, int64_t n)
{
	const struct rt_i8 *k = rt_i8_best();
	float lo, hi, bad = k->range(x, n, &lo, &hi);
	struct rt_i8_range r = rt_i8_range(lo, hi);
	uint8_t q[CHUNK];

	for (int64_t i = 0; i < n; i += CHUNK) {
		int64_t some = GT_MIN(CHUNK, n - i);

		k->quantize(q, x + i, some, r.inverse, r.zero);
		for (int64_t j = 0; j < some; j++)
			y[i + j] = (float)((int32_t)q[j] - r.zero) * (r.scale + bad);
	}
}

/* y = w (n), rounded symmetrically */
static void round_output(float *y, const float *w, int64_t n)
{
	float lo, hi, bad = rt_i8_best()->range(w, n, &lo, &hi), most = fmaxf(-lo, hi), inverse = most > 0 ? 127 / most : 0;

	for (int64_t i = 0; i < n; i++)
		y[i] = rintf(w[i] * inverse) * (most / 127) + bad;
}

static void run_round(const struct rt_cpu *cpu, const struct rt_call *c, void (*part)(float *, const float *, int64_t))
{
	int64_t rows = c->attr.rows, n = rt_shape_elements(&c->in[0]->shape) / rows;
	int team = rt_cpu_team(cpu, 8.0 * (double)rows * (double)n);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t i = 0; i < rows; i++)
		part(rt_f32(c->out[0]) + i * n, rt_f32(c->in[0]) + i * n, n);
}

static void run_round_activation(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	run_round(cpu, c, round_part);
}

const struct rt_cpu_kernel rt_cpu_round_activation = { .run = run_round_activation };

static void run_round_weight(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	run_round(cpu, c, round_output);
}

const struct rt_cpu_kernel rt_cpu_round_weight = { .run = run_round_weight };
