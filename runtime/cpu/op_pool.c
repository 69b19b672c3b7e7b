/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. Forward, one row of output pixels is a task. Backward, one image is a task, because its windows may share
 * pixels. */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

struct pool {
	int64_t h, w, c, oh, ow;
	const struct rt_attr *a;
};

static struct pool pool_of(const struct rt_node *x, const struct rt_node *y, const struct rt_attr *a)
{
	return (struct pool){
		.h = x->shape.d[1], .w = x->shape.d[2], .c = x->shape.d[3], .oh = y->shape.d[1], .ow = y->shape.d[2], .a = a,
	};
}

/* Returns the offset of position k of a window in its image, or -1 in the padding. */
static int64_t pixel(const struct pool *p, int64_t row, int64_t col, int k)
{
	int64_t h = row * p->a->stride - p->a->pad + k / p->a->window, w = col * p->a->stride - p->a->pad + k % p->a->window;

	return h < 0 || h >= p->h || w < 0 || w >= p->w ? -1 : (h * p->w + w) * p->c;
}

static void max_window(const struct pool *p, const float *x, int64_t row, int64_t col, float *y, uint8_t *place)
{
	bool first = true;

	for (int k = 0; k < p->a->window * p->a->window; k++) {
		int64_t at = pixel(p, row, col, k);

		if (at < 0)
			continue;
		for (int64_t i = 0; i < p->c; i++)
			if (first || x[at + i] > y[i] || x[at + i] != x[at + i]) {
				y[i] = x[at + i];
				if (place)
					place[i] = (uint8_t)k;
			}
		first = false;
	}
}

/* y (N,OH,OW,C) = maximum of the windows of x (N,H,W,C); saves its position in the window (u8) */
static void run_max_pool(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct pool p = pool_of(c->in[0], c->out[0], &c->attr);
	int64_t rows = c->out[0]->shape.d[0] * p.oh;
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]);
	uint8_t *place = c->out[1] ? c->out[1]->data : NULL;
	int team = rt_cpu_team(cpu, (double)rt_node_bytes(c->in[0]) + (double)rt_node_bytes(c->out[0]));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < p.ow; j++) {
			int64_t at = (r * p.ow + j) * p.c;

			max_window(&p, x + r / p.oh * p.h * p.w * p.c, r % p.oh, j, y + at, place ? place + at : NULL);
		}
}

const struct rt_cpu_kernel rt_cpu_max_pool = { .run = run_max_pool };

/* Adds dy to the pixels that were the maximum. A window of one pixel needs no positions. */
static void max_window_back(const struct rt_cpu *cpu, const struct pool *p, float *dx, int64_t row, int64_t col, const float *dy,
			    const uint8_t *place)
{
	if (p->a->window == 1) {
		float *to = dx + pixel(p, row, col, 0);

		cpu->simd->add(to, to, dy, p->c);
		return;
	}
	for (int k = 0; k < p->a->window * p->a->window; k++) {
		int64_t at = pixel(p, row, col, k);

		for (int64_t i = 0; at >= 0 && i < p->c; i++)
			dx[at + i] += place[i] == k ? dy[i] : 0;
	}
}

/* dx (N,H,W,C) = or += dy (N,OH,OW,C) at the saved positions */
static void run_max_pool_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct pool p = pool_of(c->out[0], c->in[0], &c->attr);
	int64_t images = c->in[0]->shape.d[0], out = p.oh * p.ow * p.c, in = p.h * p.w * p.c;
	const float *dy = rt_f32(c->in[0]);
	const uint8_t *place = c->in[1]->data;
	float *dx = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, (double)rt_node_bytes(c->in[0]) + (double)rt_node_bytes(c->out[0]));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t n = 0; n < images; n++) {
		if (!(c->attr.accumulate & 1))
			memset(dx + n * in, 0, (size_t)in * sizeof(float));
		for (int64_t i = 0; i < p.oh * p.ow; i++)
			max_window_back(cpu, &p, dx + n * in, i / p.ow, i % p.ow, dy + n * out + i * p.c,
					place + n * out + i * p.c);
	}
}

const struct rt_cpu_kernel rt_cpu_max_pool_bwd = { .run = run_max_pool_bwd };

/* y = mean of the window. back: each pixel of the window += y / window^2. */
static void avg_window(const struct pool *p, float *x, int64_t row, int64_t col, float *y, bool back)
{
	float scale = 1.0f / (float)(p->a->window * p->a->window);

	if (!back)
		memset(y, 0, (size_t)p->c * sizeof(float));
	for (int k = 0; k < p->a->window * p->a->window; k++) {
		int64_t at = pixel(p, row, col, k);

		for (int64_t i = 0; at >= 0 && i < p->c; i++)
			if (back)
				x[at + i] += y[i] * scale;
			else
				y[i] += x[at + i] * scale;
	}
}

static void average(const struct rt_cpu *cpu, const struct pool *p, int64_t images, float *x, float *y, bool back, bool add)
{
	int64_t in = p->h * p->w * p->c, pixels = p->oh * p->ow;
	int team = rt_cpu_team(cpu, 4.0 * (double)images * (double)(in + pixels * p->c));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t n = 0; n < images; n++) {
		if (back && !add)
			memset(x + n * in, 0, (size_t)in * sizeof(float));
		for (int64_t i = 0; i < pixels; i++)
			avg_window(p, x + n * in, i / p->ow, i % p->ow, y + (n * pixels + i) * p->c, back);
	}
}

/* y (N,OH,OW,C) = mean of the windows of x (N,H,W,C) */
static void run_avg_pool(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct pool p = pool_of(c->in[0], c->out[0], &c->attr);

	average(cpu, &p, c->in[0]->shape.d[0], rt_f32(c->in[0]), rt_f32(c->out[0]), false, false);
}

const struct rt_cpu_kernel rt_cpu_avg_pool = { .run = run_avg_pool };

/* dx (N,H,W,C) = or += dy (N,OH,OW,C) / window^2 for each pixel of a window */
static void run_avg_pool_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct pool p = pool_of(c->out[0], c->in[0], &c->attr);

	average(cpu, &p, c->in[0]->shape.d[0], rt_f32(c->out[0]), rt_f32(c->in[0]), true, c->attr.accumulate & 1);
}

const struct rt_cpu_kernel rt_cpu_avg_pool_bwd = { .run = run_avg_pool_bwd };

/* y (M,before+C+after) = x (M,C) between zeros */
static void run_pad(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), from = rt_cols(c->in[0]), to = rt_cols(c->out[0]);
	const float *x = rt_f32(c->in[0]);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 4.0 * (double)rows * (double)(from + to));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		memset(y + r * to, 0, (size_t)to * sizeof(float));
		memcpy(y + r * to + c->attr.window, x + r * from, (size_t)from * sizeof(float));
	}
}

const struct rt_cpu_kernel rt_cpu_pad = { .run = run_pad };

/* dx (M,C) = or += the middle columns of dy (M,before+C+after) */
static void run_pad_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), from = rt_cols(c->in[0]), to = rt_cols(c->out[0]);
	const float *dy = rt_f32(c->in[0]) + c->attr.window;
	float *dx = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 4.0 * (double)rows * (double)(from + to));

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t r = 0; r < rows; r++) {
		if (c->attr.accumulate & 1)
			cpu->simd->add(dx + r * to, dx + r * to, dy + r * from, to);
		else
			memcpy(dx + r * to, dy + r * from, (size_t)to * sizeof(float));
	}
}

const struct rt_cpu_kernel rt_cpu_pad_bwd = { .run = run_pad_bwd };
