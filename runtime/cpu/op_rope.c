/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <omp.h>
#include "runtime/cpu/cpu.h"

/* Positions of the calls' tokens: 0 to T - 1 in each row, or those of in[1]. */
static int64_t positions_of(const struct rt_call *c)
{
	return c->in[1] ? rt_shape_elements(&c->in[1]->shape) : c->in[0]->shape.d[1];
}

/* Scratch: cosine and sine of each position and pair, (positions,depth/2) each, and the frequencies (depth/2). */
static size_t rope_scratch(const struct rt_call *c, int threads)
{
	return (size_t)positions_of(c) * (size_t)c->attr.depth * sizeof(float) + (size_t)c->attr.depth / 2 * sizeof(double);
}

static void find_angles(const struct rt_call *c, int64_t position, const double *frequency, float *cosine, float *sine)
{
	for (int i = 0; i < c->attr.depth / 2; i++) {
		double angle = (double)position * frequency[i];

		cosine[i] = (float)cos(angle);
		sine[i] = c->attr.scale * (float)sin(angle);
	}
}

/* y may be x. */
static void rotate_row(const struct rt_call *c, const float *x, float *y, const float *cosine, const float *sine)
{
	int64_t cols = rt_cols(c->in[0]), half = c->attr.depth / 2, rotated = (int64_t)c->attr.heads * c->attr.depth;
	bool add = c->attr.accumulate & 1;

	for (int64_t h = 0; h < rotated; h += c->attr.depth)
		for (int64_t i = 0; i < half; i++) {
			const float a = x[h + i], b = x[h + half + i];

			y[h + i] = a * cosine[i] - b * sine[i] + (add ? y[h + i] : 0);
			y[h + half + i] = b * cosine[i] + a * sine[i] + (add ? y[h + half + i] : 0);
		}
	for (int64_t j = rotated; j < cols; j++)
		y[j] = x[j] + (add ? y[j] : 0);
}

/* y (B,T,W) = or += x (B,T,W) with its first heads rotated by the positions */
static void run_rope(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]), n = positions_of(c), half = c->attr.depth / 2;
	double *frequency = c->out[RT_MAX_IO - 1]->data;
	float *cosines = (float *)(frequency + half), *sines = cosines + n * half;
	const int32_t *position = c->in[1] ? c->in[1]->data : NULL;
	int team = rt_cpu_team(cpu, 8.0 * (double)(rows * cols));

	for (int64_t i = 0; i < half; i++)
		frequency[i] = pow((double)c->attr.base, -2.0 * (double)i / c->attr.depth);
#pragma omp parallel num_threads(team) if (team > 1)
	{
#pragma omp for schedule(static)
		for (int64_t i = 0; i < n; i++)
			find_angles(c, position ? position[i] : i, frequency, cosines + i * half, sines + i * half);
#pragma omp for schedule(static)
		for (int64_t r = 0; r < rows; r++)
			rotate_row(c, rt_f32(c->in[0]) + r * cols, rt_f32(c->out[0]) + r * cols, cosines + r % n * half,
				   sines + r % n * half);
	}
}

const struct rt_cpu_kernel rt_cpu_rope = { .run = run_rope, .scratch = rope_scratch };
const struct rt_cpu_kernel rt_cpu_rope_at = { .run = run_rope, .scratch = rope_scratch };
