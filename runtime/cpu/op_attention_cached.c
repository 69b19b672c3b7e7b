/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention over a cache of keys and values, and the choice of the row that is decoded. All queries of a batch row that share a
 * key/value head are a task of one thread. The thread first writes their keys and values to the cache. A single token reads the
 * cache once for all its heads.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/attention.h"

#define BLOCK	64 /* queries of a head at a time */

struct cached {
	struct rt_heads h;
	int64_t batch, len, context;
	int64_t ld; /* row stride of the scores */
	float scale;
};

static struct cached cached_of(const struct rt_call *c)
{
	struct cached s = {
		.h = rt_heads_of(&c->attr, rt_cols(c->in[0])),
		.batch = c->in[0]->shape.d[0],
		.len = c->in[0]->shape.d[1],
		.context = c->in[1]->shape.d[2],
	};

	s.ld = (s.context + 15) / 16 * 16;
	s.scale = 1.0f / sqrtf((float)s.h.depth);
	return s;
}

/* Scores of a block of queries, or of the heads of a single token. */
static size_t scratch_floats(const struct cached *s)
{
	return (size_t)(GT_MAX(BLOCK, s->h.group) * s->ld);
}

static size_t attention_cached_scratch(const struct rt_call *c, int threads)
{
	struct cached s = cached_of(c);

	return scratch_floats(&s) * sizeof(float) * (size_t)threads;
}

/* The operands of one key/value head of one batch row. */
struct task {
	const float *q;	  /* first query */
	const float *new_k, *new_v; /* key and value of the first token, with the row stride of qkv */
	float *k, *v;	  /* (P,D) in the cache */
	float *y;
	const int32_t *position; /* (T) */
};

static struct task task_of(const struct rt_call *c, const struct cached *s, int64_t b, int64_t kv)
{
	const float *row = rt_f32(c->in[0]) + b * s->len * s->h.cols;
	float *cache = rt_f32(c->in[1]) + b * 2 * s->h.kv_heads * s->context * s->h.depth;

	return (struct task){
		.q = row + kv * s->h.group * s->h.depth,
		.new_k = row + s->h.key + kv * s->h.depth,
		.new_v = row + s->h.value + kv * s->h.depth,
		.k = cache + kv * s->context * s->h.depth,
		.v = cache + (s->h.kv_heads + kv) * s->context * s->h.depth,
		.y = rt_f32(c->out[0]) + b * s->len * s->h.width + kv * s->h.group * s->h.depth,
		.position = (const int32_t *)c->in[2]->data + b * s->len,
	};
}

static void append(const struct cached *s, const struct task *t)
{
	size_t bytes = (size_t)s->h.depth * sizeof(float);

	for (int64_t i = 0; i < s->len; i++) {
		memcpy(t->k + t->position[i] * s->h.depth, t->new_k + i * s->h.cols, bytes);
		memcpy(t->v + t->position[i] * s->h.depth, t->new_v + i * s->h.cols, bytes);
	}
}

/* y of the heads of one token, which all read the same keys. */
static void attend_token(const struct rt_cpu *cpu, const struct cached *s, const struct task *t, float *scores)
{
	int64_t keys = t->position[0] + 1, depth = s->h.depth;

	for (int64_t h = 0; h < s->h.group; h++)
		cpu->simd->dots(scores + h * s->ld, t->q + h * depth, t->k, depth, keys, s->scale);
	cpu->simd->softmax(scores, scores, s->ld, s->h.group, keys, NULL);
	for (int64_t h = 0; h < s->h.group; h++)
		cpu->simd->weighted_sum(t->y + h * depth, scores + h * s->ld, t->v, depth, keys);
}

/* Returns the number of tokens from i on, at most BLOCK, whose positions follow each other. */
static int64_t block_at(const struct cached *s, const struct task *t, int64_t i)
{
	int64_t n = 1;

	while (n < BLOCK && i + n < s->len && t->position[i + n] == t->position[i] + n)
		n++;
	return n;
}

/* y of one head of the tokens i..i+rows */
static void attend_block(const struct rt_cpu *cpu, const struct cached *s, const struct task *t, int64_t h, int64_t i,
			 int64_t rows, float *scores)
{
	int64_t first = t->position[i] + 1, keys = t->position[i] + rows, depth = s->h.depth;

	rt_gemm_one(false, true, rows, keys, depth, s->scale, t->q + i * s->h.cols + h * depth, s->h.cols, t->k, depth, 0, scores,
		    s->ld);
	cpu->simd->causal_softmax(scores, s->ld, rows, first, keys, NULL);
	rt_gemm_one(false, false, rows, depth, keys, 1, scores, s->ld, t->v, depth, 0, t->y + i * s->h.width + h * depth,
		    s->h.width);
}

static void attend(const struct rt_cpu *cpu, const struct cached *s, const struct task *t, float *scores)
{
	append(s, t);
	if (s->len == 1) {
		attend_token(cpu, s, t, scores);
		return;
	}
	for (int64_t h = 0; h < s->h.group; h++)
		for (int64_t i = 0, rows; i < s->len; i += rows) {
			rows = block_at(s, t, i);
			attend_block(cpu, s, t, h, i, rows, scores);
		}
}

/* Returns the work that a call does, in bytes of traffic, for the choice of the team. */
static double work(const struct cached *s, const struct rt_call *c)
{
	const int32_t *position = c->in[2]->data;
	double keys = 0;

	for (int64_t i = 0; i < s->batch * s->len; i++)
		keys += position[i] + 1;
	return keys * (double)s->h.width * sizeof(float);
}

/* y (B,T,C), cache = attention(qkv, cache, positions) */
static void run_attention_cached(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct cached s = cached_of(c);
	int team = rt_cpu_team(cpu, work(&s, c));

#pragma omp parallel num_threads(team) if (team > 1)
	{
		float *scores = rt_f32(c->out[RT_MAX_IO - 1]) + scratch_floats(&s) * (size_t)omp_get_thread_num();

#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < s.batch * s.h.kv_heads; i++) {
			struct task t = task_of(c, &s, i / s.h.kv_heads, i % s.h.kv_heads);

			attend(cpu, &s, &t, scores);
		}
	}
}

const struct rt_cpu_kernel rt_cpu_attention_cached = { .run = run_attention_cached, .scratch = attention_cached_scratch };

/* y (B,1,C) = x (B,T,C)[b, index[b]] */
static void run_select_row(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t batch = c->in[0]->shape.d[0], len = c->in[0]->shape.d[1], cols = rt_cols(c->in[0]);
	const int32_t *index = c->in[1]->data;

	for (int64_t b = 0; b < batch; b++)
		memcpy(rt_f32(c->out[0]) + b * cols, rt_f32(c->in[0]) + (b * len + index[b]) * cols, (size_t)cols * sizeof(float));
}

const struct rt_cpu_kernel rt_cpu_select_row = { .run = run_select_row };
