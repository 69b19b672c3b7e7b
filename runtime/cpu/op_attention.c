/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One task of a thread is one head of one batch row; in the backward pass all heads that share a key/value head. The forward
 * pass uses the runtime's own tiles (math/simd_attention.h) if the instruction set has some. Otherwise, and in the backward
 * pass, a thread processes queries in blocks of BLOCK with products of a library on one thread. With a causal mask it uses
 * only keys up to the block's last query.
 */
#include <math.h>
#include <omp.h>
#include "runtime/cpu/cpu.h"
#include "runtime/graph/attention.h"

#define BLOCK	64 /* queries; the scores of a block (64,T) fit in the L2 cache */

struct shape {
	int64_t batch, len, depth;
	struct rt_heads heads;
	int64_t stride;	       /* row stride of q, k and v as read by the products */
	int64_t ld;	       /* row stride of the scores */
	float scale;
	bool all_keys;
};

static struct shape shape_of(const struct rt_node *qkv, const struct rt_attr *attr)
{
	struct shape s = {
		.batch = qkv->shape.d[0],
		.len = qkv->shape.d[1],
		.heads = rt_heads_of(attr, qkv->shape.d[2]),
		.all_keys = attr->all_keys,
		.stride = qkv->shape.d[2],
	};

	s.depth = s.heads.depth;
	if (qkv->dtype != RT_F32)
		s.stride = 3 * s.depth;
	s.ld = (s.len + 15) / 16 * 16;
	s.scale = 1.0f / sqrtf((float)s.depth);
	return s;
}

struct head {
	const float *q, *k, *v; /* rows with stride s->stride */
};

/*
 * Returns the operands of one head. In reduced precision its rows (T,3,D) are widened first. The type is for storage
 * only here: it halves the memory kept for the backward pass, and products are in f32.
 */
static struct head head_of(const struct rt_cpu *cpu, const struct shape *s, const struct rt_node *qkv, int64_t b, int64_t h,
			   float *widened)
{
	const struct rt_heads *n = &s->heads;
	int64_t kv = h / n->group * n->depth, first = b * s->len * n->cols;
	const int64_t at[] = { first + h * n->depth, first + n->key + kv, first + n->value + kv };
	const float *x = rt_f32(qkv);

	if (qkv->dtype == RT_F32)
		return (struct head){ x + at[0], x + at[1], x + at[2] };
	for (int64_t i = 0; i < 3 * s->len; i++)
		(qkv->dtype == RT_BF16 ? cpu->simd->from_bf16 : cpu->simd->from_f16)(
			widened + i * s->depth, (const uint16_t *)qkv->data + at[i % 3] + i / 3 * n->cols, s->depth);
	return (struct head){ widened, widened + s->depth, widened + 2 * s->depth };
}

/*
 * Returns the scratch size in floats without that for a head in f32. Forward: that of rt_simd.attend(), or the scores of one block
 * of queries. Backward: probabilities and their gradient of one block, and D per query.
 */
static int64_t work_floats(const struct shape *s, bool backward)
{
	return backward ? 2 * BLOCK * s->ld + 64 : GT_MAX(rt_attend_floats(s->len, s->depth), BLOCK * s->ld);
}

static size_t scratch_floats(const struct rt_call *c)
{
	bool backward = rt_attention_is_backward(c);
	const struct rt_node *qkv = c->in[backward];
	struct shape s = shape_of(qkv, &c->attr);
	int64_t widened = qkv->dtype == RT_F32 ? 0 : 3 * s.len * s.depth;

	return (size_t)((work_floats(&s, backward) + widened + 15) / 16 * 16);
}

static size_t attention_scratch(const struct rt_call *c, int threads)
{
	return scratch_floats(c) * sizeof(float) * (size_t)threads;
}

/* The same as head_fwd() by the products of a library. */
static void head_fwd_blas(const struct rt_cpu *cpu, const struct shape *s, struct head x, float *y, float *lse, float *scores)
{
	for (int64_t t = 0; t < s->len; t += BLOCK) {
		int64_t rows = GT_MIN(BLOCK, s->len - t), keys = s->all_keys ? s->len : t + rows;

		rt_gemm_one(false, true, rows, keys, s->depth, s->scale, x.q + t * s->stride, s->stride, x.k, s->stride, 0,
			    scores, s->ld);
		if (s->all_keys)
			cpu->simd->softmax(scores, scores, s->ld, rows, keys, lse ? lse + t : NULL);
		else
			cpu->simd->causal_softmax(scores, s->ld, rows, t + 1, keys, lse ? lse + t : NULL);
		rt_gemm_one(false, false, rows, s->depth, keys, 1, scores, s->ld, x.v, s->stride, 0, y + t * s->heads.width,
			    s->heads.width);
	}
}

/* y rows of one head (T,D), stride C */
static void head_fwd(const struct rt_cpu *cpu, const struct shape *s, struct head x, float *y, float *lse, float *scratch)
{
	const struct rt_attend a = { .q = x.q, .k = x.k, .v = x.v, .y = y, .lse = lse, .scratch = scratch, .len = s->len,
				     .depth = s->depth, .stride = s->stride, .ldy = s->heads.width, .scale = s->scale,
				     .causal = !s->all_keys };

	if (cpu->simd->attend)
		cpu->simd->attend(&a);
	else
		head_fwd_blas(cpu, s, x, y, lse, scratch);
}

/* y (B,T,C), lse (B,heads,T) = attention(qkv) */
static void run_attention(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct shape s = shape_of(c->in[0], &c->attr);
	size_t scratch = scratch_floats(c);
	float *lse = rt_f32(c->out[1]);
	int team = rt_cpu_team(cpu, c->op->flops(c) / 4);
	struct rt_tasks tasks;

	rt_tasks_init(&tasks, s.batch * s.heads.heads, team);
#pragma omp parallel num_threads(team) if (team > 1)
	{
		int thread = omp_get_thread_num();
		float *scores = rt_f32(c->out[RT_MAX_IO - 1]) + scratch * (size_t)thread;

		for (int64_t i; (i = rt_tasks_next(&tasks, thread)) >= 0;) {
			int64_t b = i / s.heads.heads, h = i % s.heads.heads;

			head_fwd(cpu, &s, head_of(cpu, &s, c->in[0], b, h, scores + work_floats(&s, false)),
				 rt_f32(c->out[0]) + b * s.len * s.heads.width + h * s.depth, lse ? lse + i * s.len : NULL,
				 scores);
		}
	}
}

const struct rt_cpu_kernel rt_cpu_attention = { .run = run_attention, .scratch = attention_scratch };

struct head_gradient {
	const float *y, *dy, *lse;
	float *dq, *dk, *dv;
	bool add; /* adds to dk and dv */
};

/* Starts with the last block. Only this block uses every key, so it assigns dk and dv, and the others add. */
static void head_bwd(const struct rt_cpu *cpu, const struct shape *s, struct head x, const struct head_gradient *g,
		     float *scratch)
{
	float beta = g->add;
	int64_t wide = s->heads.cols, width = s->heads.width; /* row strides of dqkv and of dy */
	float *p = scratch, *dp = p + BLOCK * s->ld, *d = dp + BLOCK * s->ld;
	int64_t last = (s->len - 1) / BLOCK * BLOCK;

	for (int64_t t = last; t >= 0; t -= BLOCK, beta = 1) {
		int64_t rows = GT_MIN(BLOCK, s->len - t), keys = s->all_keys ? s->len : t + rows;
		const float *qt = x.q + t * s->stride, *dyt = g->dy + t * width;

		rt_gemm_one(false, true, rows, keys, s->depth, s->scale, qt, s->stride, x.k, s->stride, 0, p, s->ld);
		if (s->all_keys)
			cpu->simd->softmax_probs(p, s->ld, rows, keys, g->lse + t);
		else
			cpu->simd->causal_probs(p, s->ld, rows, t + 1, keys, g->lse + t);
		rt_gemm_one(true, false, keys, s->depth, rows, 1, p, s->ld, dyt, width, beta, g->dv, wide);
		rt_gemm_one(false, true, rows, keys, s->depth, 1, dyt, width, x.v, s->stride, 0, dp, s->ld);
		cpu->simd->row_dots(d, g->y + t * width, dyt, width, rows, s->depth);
		cpu->simd->softmax_bwd(dp, p, s->ld, rows, keys, d, s->scale);
		rt_gemm_one(false, false, rows, s->depth, keys, 1, dp, s->ld, x.k, s->stride, 0, g->dq + t * wide, wide);
		rt_gemm_one(true, false, keys, s->depth, rows, 1, dp, s->ld, qt, s->stride, beta, g->dk, wide);
	}
}

/* Sets the addresses of head h of batch row b. */
static struct head_gradient gradient_of(const struct rt_call *c, const struct shape *s, int64_t b, int64_t h)
{
	const struct rt_heads *n = &s->heads;
	int64_t narrow = b * s->len * n->width + h * n->depth, kv = h / n->group * n->depth;
	float *d = rt_f32(c->out[0]) + b * s->len * n->cols;

	return (struct head_gradient){ .y = rt_f32(c->in[2]) + narrow, .dy = rt_f32(c->in[0]) + narrow,
				       .lse = rt_f32(c->in[3]) + (b * n->heads + h) * s->len, .dq = d + h * n->depth,
				       .dk = d + n->key + kv, .dv = d + n->value + kv, .add = h % n->group > 0 };
}

/* dqkv like qkv from dy (B,T,C), qkv, y, lse (B,heads,T) */
static void run_attention_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	struct shape s = shape_of(c->in[1], &c->attr);
	size_t scratch = scratch_floats(c);
	int team = rt_cpu_team(cpu, c->op->flops(c) / 4);

#pragma omp parallel num_threads(team) if (team > 1)
	{
		float *own_scratch = rt_f32(c->out[RT_MAX_IO - 1]) + scratch * (size_t)omp_get_thread_num();

#pragma omp for schedule(dynamic)
		for (int64_t i = 0; i < s.batch * s.heads.kv_heads; i++)
			for (int64_t j = 0; j < s.heads.group; j++) {
				int64_t b = i / s.heads.kv_heads, h = i % s.heads.kv_heads * s.heads.group + j;
				struct head_gradient g = gradient_of(c, &s, b, h);

				head_bwd(cpu, &s, head_of(cpu, &s, c->in[1], b, h, own_scratch + work_floats(&s, true)), &g,
					 own_scratch);
			}
	}
}

const struct rt_cpu_kernel rt_cpu_attention_bwd = { .run = run_attention_bwd, .scratch = attention_scratch };
