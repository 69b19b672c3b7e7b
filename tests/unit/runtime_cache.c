/* SPDX-License-Identifier: Apache-2.0 */
/* Text generation with a cache of keys and values, compared with the forward pass over all tokens. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "lib/util.h"
#include "runtime/math/gemm.h"
#include "tests/unit/check_runtime.h"

#define ROWS	3
#define PROMPT	9  /* longest prompt */
#define TOTAL	21 /* tokens of each row at the end */
#define VOCAB	61
#define CONTEXT 32

static const struct model {
	const char *name;
	int64_t kv_heads; /* 0: gpt */
	enum rt_dtype amp;
	bool int8;
	double tolerance; /* limit of a difference, relative to the largest logit */
} models[] = {
	{ "gpt", 0, RT_F32, false, 1e-5 },	{ "llama", 4, RT_F32, false, 1e-5 },   { "llama, grouped", 2, RT_F32, false, 1e-5 },
	{ "llama, one head", 1, RT_F32, false, 1e-5 }, { "gpt in bf16", 0, RT_BF16, false, 0.03 },
	{ "llama in bf16", 2, RT_BF16, false, 0.03 }, { "llama in int8", 2, RT_F32, true, 0.03 },
};

static const int prompt[ROWS] = { 5, PROMPT, 1 };

/* cache 0: the model that trains. */
static struct rt_node *declare(struct rt_graph *g, const struct model *m, int64_t seq, int64_t cache)
{
	struct rt_gpt_config gpt = { .batch = ROWS, .seq = seq, .layers = 2, .width = 32, .heads = 4, .vocab = VOCAB,
				     .positions = CONTEXT, .cache = cache };
	struct rt_llama_config llama = { .batch = ROWS, .seq = seq, .layers = 2, .width = 32, .heads = 4, .kv_heads = m->kv_heads,
					 .ffn = 48, .vocab = VOCAB, .rope_base = 10000, .eps = 1e-5f, .cache = cache };
	struct rt_node *n = m->kv_heads ? rt_model_llama(g, &llama) : rt_model_gpt(g, &gpt);

	return cache ? n : rt_logits(n);
}

struct pair {
	struct rt_graph *full, *shape[3];
	struct rt_program *all, *cached; /* cached: shapes of PROMPT, 1 and 4 tokens */
	float *want; /* (ROWS,TOTAL,VOCAB) */
	int32_t tokens[ROWS][TOTAL];
};

static void copy_parameters(const struct pair *p)
{
	for (int i = 0; i < rt_graph_leaves(p->full); i++) {
		const struct rt_node *n = rt_graph_leaf(p->full, i);
		gt_autofree float *v = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(n)), sizeof(float));

		if (!rt_node_is_param(n))
			continue;
		for (int64_t k = 0; k < rt_shape_elements(rt_node_shape(n)); k++)
			v[k] = 0.2f * rt_random_normal(3, (uint64_t)i, (uint64_t)k) + (float)(rt_node_shape(n)->n == 1);
		ck_assert_int_eq(rt_write_param(p->all, n, v, NULL), 0);
		ck_assert_int_eq(rt_write_param(p->cached, rt_graph_node(p->shape[0], rt_node_name(n)), v, NULL), 0);
	}
}

static void open_pair(struct pair *p, const struct model *m, bool poison)
{
	static const int64_t seq[] = { PROMPT, 1, 4 };
	struct rt_options opt = { .precision = { .amp = m->amp, .int8 = m->int8 ? RT_INT8_DYNAMIC : RT_INT8_OFF },
				  .debug.poison = poison };
	struct rt_node *logits[3], *const *outputs[] = { &logits[0], &logits[1], &logits[2] }, *full;
	struct gt_err err = { 0 };

	p->full = rt_graph_new();
	full = declare(p->full, m, TOTAL, 0);
	ck_assert_msg(!rt_compile_outputs(p->full, &full, 1, &opt, &p->all, &err), "%s", err.msg);
	for (int i = 0; i < 3; i++) {
		p->shape[i] = rt_graph_new();
		logits[i] = declare(p->shape[i], m, seq[i], CONTEXT);
	}
	ck_assert_msg(!rt_compile_outputs_shapes((const struct rt_graph *const *)p->shape, outputs, 1, 3, &opt, &p->cached, &err),
		      "%s", err.msg);
	copy_parameters(p);
	for (int i = 0; i < ROWS * TOTAL; i++)
		p->tokens[i / TOTAL][i % TOTAL] = (int32_t)(rt_random_u64(5, 0, (uint64_t)i) % VOCAB);
	p->want = gt_xcalloc((size_t)ROWS * TOTAL * VOCAB, sizeof(float));
	ck_assert_int_eq(rt_run(p->all, (const void *[]){ p->tokens, NULL }, &p->want, &err), 0);
}

static void close_pair(struct pair *p)
{
	rt_program_free(p->all);
	rt_program_free(p->cached);
	rt_graph_free(p->full);
	for (int i = 0; i < 3; i++)
		rt_graph_free(p->shape[i]);
	free(p->want);
}

/* Runs the cached program on `n` tokens of each row from position from[row] on, at most up to until[row]; the rest is
 * padding. Returns the largest difference of the last token's logits, relative to the largest logit. */
static double run(struct pair *p, int shape, int n, const int *from, const int *until)
{
	int32_t tokens[ROWS * PROMPT] = { 0 }, positions[ROWS * PROMPT], last[ROWS];
	float got[ROWS * VOCAB], *out = got;
	double worst = 0, most = 0;
	struct gt_err err = { 0 };

	for (int r = 0; r < ROWS; r++)
		for (int i = 0; i < n; i++) {
			positions[r * n + i] = from[r] + i;
			if (from[r] + i < until[r]) {
				tokens[r * n + i] = p->tokens[r][from[r] + i];
				last[r] = i;
			}
		}
	rt_use_shape(p->cached, shape);
	ck_assert_msg(!rt_run(p->cached, (const void *[]){ tokens, positions, last }, &out, &err), "%s", err.msg);
	for (int r = 0; r < ROWS; r++)
		for (int j = 0; j < VOCAB; j++) {
			double want = (double)p->want[(r * TOTAL + from[r] + last[r]) * VOCAB + j];

			most = fmax(most, fabs(want));
			worst = fmax(worst, fabs((double)got[r * VOCAB + j] - want));
		}
	return worst / most;
}

START_TEST(decoding_gives_the_logits_of_the_whole_forward_pass)
{
	const struct model *m = &models[_i / 2];
	struct pair p = { 0 };
	int at[ROWS], next[ROWS];

	open_pair(&p, m, _i % 2);
	for (int round = 0; round < 2; round++) { /* the second round overwrites the tokens of the first */
		ck_assert_double_lt(run(&p, 0, PROMPT, (int[ROWS]){ 0 }, prompt), m->tolerance);
		memcpy(at, prompt, sizeof(at));
		for (int step = 0; step < TOTAL - PROMPT; step++) {
			double d;

			for (int r = 0; r < ROWS; r++)
				next[r] = at[r] + 1;
			d = run(&p, 1, 1, at, next);
			ck_assert_msg(d < m->tolerance, "%s, token %d: %g", m->name, step, d);
			memcpy(at, next, sizeof(at));
		}
	}
	close_pair(&p);
}
END_TEST

/* A prompt in parts gives the logits of the whole prompt. */
START_TEST(tokens_may_arrive_in_parts)
{
	struct pair p = { 0 };

	open_pair(&p, &models[_i], true);
	for (int from = 0; from + 4 <= TOTAL; from += 4)
		ck_assert_double_lt(run(&p, 2, 4, (int[ROWS]){ from, from, from }, (int[ROWS]){ TOTAL, TOTAL, TOTAL }),
				    models[_i].tolerance);
	close_pair(&p);
}
END_TEST

START_TEST(positions_outside_the_cache_are_refused)
{
	const int32_t tokens[ROWS] = { 0 }, positions[ROWS] = { 3, CONTEXT, 0 }, last[ROWS] = { 0 }, bad_last[ROWS] = { 0, 0, 1 };
	float got[ROWS * VOCAB], *out = got;
	struct pair p = { 0 };
	struct gt_err err = { 0 };

	open_pair(&p, &models[2], false);
	rt_use_shape(p.cached, 1);
	ck_assert_int_eq(rt_run(p.cached, (const void *[]){ tokens, positions, last }, &out, &err), -ERANGE);
	ck_assert_str_eq(err.msg, "positions[1] is 32; attention_cached takes 0 to 31");
	ck_assert_int_eq(rt_run(p.cached, (const void *[]){ tokens, tokens, bad_last }, &out, &err), -ERANGE);
	ck_assert_str_eq(err.msg, "last[2] is 1; select_row takes 0 to 0");
	ck_assert_uint_eq(rt_program_cache_bytes(p.cached), 2 * ROWS * 4 * CONTEXT * 8 * sizeof(float));
	close_pair(&p);
}
END_TEST

START_TEST(unfit_caches_are_refused)
{
	static const char *const says[] = { "the cache must be (B,2 kv_heads,P,D)", "the positions must be i32 (B,T)",
					    "the positions must be i32 (B,T)", "the index i32 (B)" };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 3, 32)), *cache = rt_cache(g, "cache", RT_SHAPE(2, 4, 9, 4));
	struct rt_node *wide = rt_cache(g, "wide", RT_SHAPE(2, 4, 9, 5)), *at = rt_input(g, "at", RT_I32, RT_SHAPE(2, 4));
	struct gt_err err = { 0 };

	ck_assert_ptr_nonnull(cache);
	switch (_i) {
	case 0:
		ck_assert_ptr_null(rt_attention_cached(g, x, wide, at, 4, 2));
		break;
	case 1:
		ck_assert_ptr_null(rt_attention_cached(g, x, cache, at, 4, 2));
		break;
	case 2:
		ck_assert_ptr_null(rt_rope_at(g, x, at, 4, 4, 10000));
		break;
	default:
		ck_assert_ptr_null(rt_select_row(g, x, at));
	}
	ck_assert_int_eq(rt_graph_error(g, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, says[_i]) != NULL, "%s", err.msg);
}
END_TEST

/* Every number of rows, tails of all dimensions, and a second call that adds. */
START_TEST(products_of_few_rows_follow_their_definition)
{
	static const int64_t sizes[] = { 1, 3, 8, 16, 33, 70 };
	static float a[RT_GEMM_ROWS * 70], b[70 * 70], c[RT_GEMM_ROWS * 75];
	static uint16_t low[70 * 70];
	const struct rt_simd *s[3];
	int n = simd_tables(s), bf16 = _i;

	for (size_t i = 0; i < GT_ARRAY_SIZE(a); i++)
		a[i] = rt_random_normal(1, 1, i);
	for (size_t i = 0; i < GT_ARRAY_SIZE(b); i++)
		b[i] = rt_random_normal(1, 2, i);
	s[0]->to_bf16(low, b, GT_ARRAY_SIZE(b));
	if (bf16)
		s[0]->from_bf16(b, low, GT_ARRAY_SIZE(b));
	for (int isa = 0; isa < n; isa++)
		for (int64_t m = 1; m <= RT_GEMM_ROWS; m++)
			for (size_t which = 0; which < GT_ARRAY_SIZE(sizes) * GT_ARRAY_SIZE(sizes); which++) {
				int64_t cols = sizes[which / GT_ARRAY_SIZE(sizes)], k = sizes[which % GT_ARRAY_SIZE(sizes)];
				struct rt_cpu cpu = { .threads = 1, .simd = s[isa] };
				const void *w = bf16 ? (const void *)low : b;

				for (int add = 0; add < 2; add++)
					rt_gemm_rows(&cpu, bf16 ? RT_BF16 : RT_F32, m, cols, k, a, w, add, c, 75, NULL);
				for (int64_t i = 0; i < m * cols; i++) {
					double want = 0, got = (double)c[i / cols * 75 + i % cols];

					for (int64_t p = 0; p < k; p++)
						want += 2 * (double)a[i / cols * k + p] * (double)b[i % cols * k + p];
					ck_assert_msg(fabs(got - want) < 1e-4, "%s, %d x %d x %d: %g, not %g", s[isa]->name, (int)m,
						      (int)cols, (int)k, got, want);
				}
			}
}
END_TEST

TCase *case_cache(void)
{
	TCase *t = tcase_create("cache");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, decoding_gives_the_logits_of_the_whole_forward_pass, 0, 2 * GT_ARRAY_SIZE(models));
	tcase_add_loop_test(t, tokens_may_arrive_in_parts, 0, 4);
	tcase_add_test(t, positions_outside_the_cache_are_refused);
	tcase_add_loop_test(t, unfit_caches_are_refused, 0, 4);
	tcase_add_loop_test(t, products_of_few_rows_follow_their_definition, 0, 2);
	return t;
}
