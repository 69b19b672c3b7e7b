/* SPDX-License-Identifier: Apache-2.0 */
/* Sharded gradients and parameters in the windows of the ranks: see graph/op_bucket.c. */
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/update.h"
#include "runtime/transport/reduce.h"

/* in: x (N) in the window of each rank. out: y = or += this rank's piece of the weighted sum over the ranks */
static void run_shard_sum(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_shard *s = run->shard;
	float *x[RT_MAX_RANKS + 1], weight[RT_MAX_RANKS + 1], *y = rt_f32(c->out[0]);
	int64_t lo, hi;
	int n = s->n_in;

	rt_part(rt_shape_elements(&c->out[0]->whole), RT_PIECE_UNIT, s->n, s->index, &lo, &hi);
	for (int i = 0; i < s->n_in; i++) {
		x[i] = rt_cpu_at_rank(s, s->in[i], c->in[0]) + lo;
		weight[i] = s->weight[i];
	}
	if (c->attr.accumulate & 1) {
		x[n] = y;
		weight[n++] = 1;
	}
	rt_sum_ranks(&y, 1, x, weight, n, 0, hi - lo, cpu->threads);
}

const struct rt_cpu_kernel rt_cpu_shard_sum = { .run = run_shard_sum };

/* in: this rank's piece of x. out: y (N) = the pieces of all ranks */
static void run_shard_gather(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_shard *s = run->shard;
	int64_t count = rt_shape_elements(&c->out[0]->shape);
	float *y = rt_f32(c->out[0]);
	int team = rt_cpu_team(cpu, 8.0 * (double)count);

#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
	for (int i = 0; i < s->n; i++) {
		int64_t lo, hi;

		rt_part(count, RT_PIECE_UNIT, s->n, i, &lo, &hi);
		memcpy(y + lo, rt_cpu_at_rank(s, s->in[i], c->in[0]), (size_t)(hi - lo) * sizeof(float));
	}
}

const struct rt_cpu_kernel rt_cpu_shard_gather = { .run = run_shard_gather };
