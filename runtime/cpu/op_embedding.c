/* SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"

/* Returns the row of the table for an id, or NULL if it is in another part of the vocabulary. */
static float *row_of(const struct rt_call *c, float *table, int64_t rows, int64_t cols, int32_t id)
{
	int64_t at = id - c->attr.first_row;

	return table && at >= 0 && at < rows ? table + at * cols : NULL;
}

static void embed_row(const struct rt_cpu *cpu, float *y, const float *row, const float *position, int64_t cols)
{
	if (row && position)
		cpu->simd->add(y, row, position, cols);
	else if (row || position)
		memcpy(y, row ? row : position, (size_t)cols * sizeof(float));
	else
		memset(y, 0, (size_t)cols * sizeof(float));
}

/* y (B,T,C) = table[ids] + positions[t] */
static void run_embedding(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_shape_elements(&c->in[0]->shape), len = c->in[0]->shape.d[1], cols = rt_cols(c->in[1]);
	const int32_t *ids = c->in[0]->data;
	const float *positions = c->attr.first_row ? NULL : rt_f32(c->in[2]);
	float *table = rt_f32(c->in[1]), *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 12.0 * (double)rows * (double)cols);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int64_t i = 0; i < rows; i++)
		embed_row(cpu, y + i * cols, row_of(c, table, c->in[1]->shape.d[0], cols, ids[i]),
			  positions ? positions + i % len * cols : NULL, cols);
}

const struct rt_cpu_kernel rt_cpu_embedding = { .run = run_embedding };

static void clear_rows(float *x, int64_t rows, int64_t cols, int64_t lo, int64_t hi)
{
	for (int64_t r = 0; r < rows; r++)
		memset(x + r * cols + lo, 0, (size_t)(hi - lo) * sizeof(float));
}

/* Each thread owns columns. Rows with equal ids are then added by one thread in a fixed order. */
static void run_embedding_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t rows = rt_shape_elements(&c->in[1]->shape), len = c->in[1]->shape.d[1], cols = rt_cols(c->in[0]);
	const int32_t *ids = c->in[1]->data;
	const float *dy = rt_f32(c->in[0]);
	float *table = rt_f32(c->out[0]), *positions = rt_f32(c->out[1]);
	int team = rt_cpu_team(cpu, 20.0 * (double)rows * (double)cols);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		int64_t lo, hi;

		rt_part(cols, 16, omp_get_num_threads(), omp_get_thread_num(), &lo, &hi);
		if (hi > lo && table && !(c->attr.accumulate & 1))
			clear_rows(table, c->out[0]->shape.d[0], cols, lo, hi);
		if (hi > lo && positions && !(c->attr.accumulate & 2))
			clear_rows(positions, c->out[1]->shape.d[0], cols, lo, hi);
		for (int64_t i = 0; hi > lo && i < rows; i++) {
			float *t = row_of(c, table, table ? c->out[0]->shape.d[0] : 0, cols, ids[i]);
			float *p = positions ? positions + i % len * cols + lo : NULL;

			if (t)
				cpu->simd->add(t + lo, t + lo, dy + i * cols + lo, hi - lo);
			if (p)
				cpu->simd->add(p, p, dy + i * cols + lo, hi - lo);
		}
	}
}

const struct rt_cpu_kernel rt_cpu_embedding_bwd = { .run = run_embedding_bwd };
