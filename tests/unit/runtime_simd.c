/* SPDX-License-Identifier: Apache-2.0 */
/* Each instruction set of this machine, compared with libm in double, at sizes with tails. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/math/gemm.h"
#include "tests/unit/check_runtime.h"

int simd_tables(const struct rt_simd *ret[3])
{
	int n = 0;

	ret[n++] = &rt_simd_base;
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		ret[n++] = &rt_simd_avx2;
	if (rt_simd_up_to(NULL) == &rt_simd_avx512)
		ret[n++] = &rt_simd_avx512;
#endif
	return n;
}

START_TEST(the_limit_of_onednn_applies_to_all_kernels)
{
	static const struct {
		const char *limit;
		int most; /* 0: the smallest, 1: AVX2, 2: all */
	} t[] = { { NULL, 2 }, { "", 2 }, { "ALL", 2 }, { "default", 2 }, { "AVX512_CORE", 2 }, { "avx512_core_amx", 2 },
		  { "AVX10_1_512", 2 }, { "AVX2", 1 }, { "avx2_vnni", 1 }, { "AVX", 0 }, { "sse41", 0 }, { "SSE", 2 },
		  { "rvv", 2 } };
	const struct rt_simd *best = rt_simd_up_to(NULL);

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		const struct rt_simd *want = t[i].most == 0 ? &rt_simd_base : best;

#if defined(__x86_64__)
		if (t[i].most == 1 && best != &rt_simd_base)
			want = &rt_simd_avx2;
#endif
		ck_assert_msg(rt_simd_up_to(t[i].limit) == want, "%s", t[i].limit ? t[i].limit : "no limit");
	}
}
END_TEST

START_TEST(gelu_follows_libm)
{
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int k = 0; k < n; k++)
		for (float x = -12; x < 12; x += 0.0037f) {
			float in = x, out;
			double u = sqrt(2 / M_PI) * ((double)x + 0.044715 * pow((double)x, 3));
			/* 0.5 (1 + tanh u), computed without cancellation */
			double want = (double)x / (1 + exp(-2 * u));

			s[k]->bias_act(&in, &out, NULL, 1, 1, RT_ACT_GELU);
			ck_assert_msg(fabs((double)out - want) <= 2e-6 * fabs(want) + 1e-9, "%s: gelu(%g) is %.9g, not %.9g",
				      s[k]->name, (double)x, (double)out, want);
		}
}
END_TEST

START_TEST(exp_is_accurate_to_a_part_in_four_million)
{
	const struct rt_simd *s[3];
	int n = simd_tables(s);
	double worst = 0;

	/* with a log-sum-exp of 0 the probabilities are plain exponentials */
	for (int k = 0; k < n; k++)
		for (float x = -87; x < 88; x += 0.0113f) {
			float v = x, zero = 0;

			s[k]->causal_probs(&v, 1, 1, 1, 1, &zero);
			worst = fmax(worst, fabs((double)v / exp((double)x) - 1));
		}
	ck_assert_double_lt(worst, 2.5e-7);
}
END_TEST

START_TEST(softmax_survives_extremes_and_keeps_nan)
{
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int k = 0; k < n; k++) {
		float row[19], lse, loss;

		for (int i = 0; i < 19; i++)
			row[i] = i == 3 ? 3e4f : -3e4f;
		s[k]->causal_softmax(row, 19, 1, 19, 19, &lse);
		ck_assert_float_eq(row[3], 1);
		ck_assert_float_lt(row[4], 1e-30f);
		ck_assert_float_eq(lse, 3e4f);
		for (int i = 0; i < 19; i++)
			row[i] = -INFINITY;
		row[18] = 1;
		s[k]->causal_softmax(row, 19, 1, 19, 19, &lse);
		ck_assert_float_eq(row[18], 1);
		for (int i = 0; i < 19; i++)
			row[i] = i == 7 ? NAN : 1;
		loss = s[k]->cross_entropy(row, NULL, row, 19, 2, 1);
		ck_assert(isnan(loss));
		row[0] = NAN;
		s[k]->bias_act(row, row, NULL, 1, 1, RT_ACT_RELU);
		ck_assert(isnan(row[0]));
	}
}
END_TEST

/* Summing 300,000 equal numbers in one float gives a relative error of about 1e-5. */
START_TEST(sums_over_a_long_row_are_as_near_as_over_a_short_one)
{
	enum { N = 300001 };
	gt_autofree float *x = gt_xcalloc(N, sizeof(*x)), *y = gt_xcalloc(N, sizeof(*y)), *ones = gt_xcalloc(N, sizeof(*ones));
	double max = -INFINITY, exps = 0, squares = 0;
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (uint64_t i = 0; i < N; i++) {
		x[i] = rt_random_normal(5, 1, i);
		ones[i] = 1;
		max = fmax(max, (double)x[i]);
		squares += (double)x[i] * (double)x[i];
	}
	for (int i = 0; i < N; i++)
		exps += exp((double)x[i] - max);
	for (int k = 0; k < n; k++) {
		double loss = max + log(exps) - (double)x[7];
		float rstd, dot;

		ck_assert_double_eq_tol((double)s[k]->cross_entropy(x, NULL, y, N, 7, 1), loss, 1e-6 * loss);
		s[k]->rms(y, &rstd, x, ones, 1e-5f, 1, N);
		ck_assert_double_eq_tol((double)rstd, 1 / sqrt(squares / N + 1e-5), 1e-6);
		s[k]->row_dots(&dot, x, x, N, 1, N);
		ck_assert_double_eq_tol((double)dot, squares, 1e-6 * squares);
		s[k]->rms_bwd(y, ones, x, x, &rstd, 1, N, false); /* the mean of x squared cancels x */
		ck_assert_double_eq_tol((double)y[9], (double)(x[9] * rstd) * (1 - (double)(rstd * rstd) * squares / N), 2e-6);
	}
}
END_TEST

/* Nothing beyond the last element is accessed. */
START_TEST(tails_stay_inside)
{
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int k = 0; k < n; k++)
		for (int len = 1; len < 70; len++) {
			float a[80], b[80], y[80];

			for (int i = 0; i < 80; i++)
				a[i] = b[i] = y[i] = (float)i;
			s[k]->add(y, a, b, len);
			for (int i = 0; i < 80; i++)
				ck_assert_float_eq(y[i], (float)(i < len ? 2 * i : i));
			memcpy(y, a, sizeof(y));
			s[k]->column_sums(y, a, 1, 80, 2, 2 + len, true);
			for (int i = 0; i < 80; i++)
				ck_assert_float_eq(y[i], (float)(i >= 2 && i < 2 + len ? 2 * i : i));
		}
}
END_TEST

struct touched {
	struct rt_gemm_end end;
	unsigned char *times;
	int64_t cols;
};

static void touch(const struct rt_gemm_end *end, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
	const struct touched *t = (const void *)end;

	for (int64_t i = row; i < row + rows; i++)
		for (int64_t j = col; j < col + cols; j++)
			t->times[i * t->cols + j]++;
}

/* Small integers, so that every sum is exact. Operands end at the end of their memory and start unaligned. */
static void one_product(const struct rt_cpu *cpu, const int64_t *d, bool add)
{
	int64_t m = d[0], n = d[1], k = d[2], ldc = n + 3;
	float *a = calloc((size_t)(m * k) + 1, sizeof(float)), *b = calloc((size_t)(n * k) + 1, sizeof(float));
	float *c = calloc((size_t)(m * ldc), sizeof(float));
	struct touched t = { { touch }, calloc((size_t)(m * n), 1), n };

	for (int64_t i = 0; i < m * k; i++)
		a[i + 1] = (float)(i * 7 % 11 - 5);
	for (int64_t i = 0; i < n * k; i++)
		b[i + 1] = (float)(i * 5 % 13 - 6);
	for (int64_t i = 0; i < m * ldc; i++)
		c[i] = 3;
	ck_assert(rt_gemm_own(cpu, cpu->threads, m, n, k, a + 1, k, b + 1, k, add, c, ldc, &t.end));
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < ldc; j++) {
			float want = j >= n || add ? 3 : 0;

			for (int64_t q = 0; j < n && q < k; q++)
				want += a[1 + i * k + q] * b[1 + j * k + q];
			ck_assert_msg(c[i * ldc + j] == want && (j >= n || t.times[i * n + j] == 1),
				      "%s %d threads, %dx%dx%d add %d: (%d,%d) is %g, not %g", cpu->simd->name, cpu->threads,
				      (int)m, (int)n, (int)k, add, (int)i, (int)j, (double)c[i * ldc + j], (double)want);
		}
	free(a);
	free(b);
	free(c);
	free(t.times);
}

START_TEST(products_of_each_instruction_set)
{
	static const int64_t sizes[][3] = {
		{ 1, 1, 1 }, { 1, 17, 3 }, { 13, 31, 1 }, { 14, 32, 16 }, { 15, 33, 17 }, { 6, 16, 8 }, { 7, 15, 9 },
		{ 67, 45, 83 }, { 9, 40, 2050 }, { 3, 5, 1025 }, { 30, 200, 40 }, { 270, 70, 20 },
		{ 30, 1160, 10 }, { 1540, 70, 3 }, /* strips of two widths, and parts of them */
	};
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int i = 0; i < n; i++)
		for (int threads = 1; threads <= 3 && s[i]->tiles; threads += 2) {
			const struct rt_cpu cpu = { .threads = threads, .simd = s[i] };

			for (size_t k = 0; k < GT_ARRAY_SIZE(sizes); k++)
				for (int add = 0; add < 2; add++)
					one_product(&cpu, sizes[k], add);
		}
}
END_TEST

/* Compares query t with its definition in double. */
static void one_query(const char *set, const struct rt_attend *a, int64_t t)
{
	int64_t keys = a->causal ? t + 1 : a->len;
	gt_autofree double *p = gt_xcalloc((size_t)keys, sizeof(*p));
	double max = -INFINITY, sum = 0;

	for (int64_t k = 0; k < keys; k++) {
		for (int64_t d = 0; d < a->depth; d++)
			p[k] += (double)a->q[t * a->stride + d] * (double)a->k[k * a->stride + d] * (double)a->scale;
		max = fmax(max, p[k]);
	}
	for (int64_t k = 0; k < keys; k++)
		sum += p[k] = exp(p[k] - max);
	ck_assert_double_eq_tol((double)a->lse[t], max + log(sum), 1e-5 * (1 + fabs(max)));
	for (int64_t d = 0; d < a->depth; d++) {
		double want = 0;

		for (int64_t k = 0; k < keys; k++)
			want += p[k] / sum * (double)a->v[k * a->stride + d];
		ck_assert_msg(fabs((double)a->y[t * a->ldy + d] - want) < 3e-5,
			      "%s: %lld x %lld, query %lld, column %lld is %.9g, not %.9g", set, (long long)a->len,
			      (long long)a->depth, (long long)t, (long long)d, (double)a->y[t * a->ldy + d], want);
	}
}

/* The values of one head are between those of others, which must stay. */
static void one_head(const struct rt_simd *s, int64_t len, int64_t depth, bool causal)
{
	int64_t stride = 3 * depth + 5, ldy = depth + 3;
	gt_autofree float *x = gt_xcalloc((size_t)(len * stride), sizeof(*x));
	gt_autofree float *y = gt_xcalloc((size_t)(len * ldy), sizeof(*y)), *lse = gt_xcalloc((size_t)len, sizeof(*lse));
	gt_autofree float *scratch = gt_xcalloc((size_t)rt_attend_floats(len, depth), sizeof(*scratch));
	const struct rt_attend a = { .q = x, .k = x + depth, .v = x + 2 * depth, .y = y, .lse = lse, .scratch = scratch,
				     .len = len, .depth = depth, .stride = stride, .ldy = ldy,
				     .scale = 1 / sqrtf((float)depth), .causal = causal };

	for (int64_t i = 0; i < len * stride; i++)
		x[i] = 2 * rt_random_normal(4, (uint64_t)len, (uint64_t)i);
	for (int64_t i = 0; i < len * ldy; i++)
		y[i] = 7;
	s->attend(&a);
	for (int64_t t = 0; t < len; t++) {
		one_query(s->name, &a, t);
		for (int64_t d = depth; d < ldy; d++)
			ck_assert_float_eq(y[t * ldy + d], 7);
	}
}

START_TEST(attention_of_each_instruction_set)
{
	static const int64_t lens[] = { 1, 2, 13, 16, 17, 31, 32, 33, 48, 63, 64, 97, 300 };
	static const int64_t depths[] = { 1, 7, 16, 24, 32, 33, 64, 80 };
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int i = 0; i < n; i++)
		for (size_t l = 0; s[i]->attend && l < GT_ARRAY_SIZE(lens); l++)
			for (size_t d = 0; d < GT_ARRAY_SIZE(depths); d++) {
				one_head(s[i], lens[l], depths[d], true);
				one_head(s[i], lens[l], depths[d], false);
			}
}
END_TEST

/* Large scores do not overflow, and a NaN stays visible. */
START_TEST(attention_survives_extremes)
{
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (int i = 0; i < n; i++) {
		float x[3 * 40] = { 0 }, y[40], scratch[4096];
		const struct rt_attend a = { .q = x, .k = x + 1, .v = x + 2, .y = y, .scratch = scratch, .len = 40, .depth = 1,
					     .stride = 3, .ldy = 1, .scale = 1 };

		if (!s[i]->attend)
			continue;
		for (int t = 0; t < 40; t++) {
			x[3 * t] = t % 2 ? 1e18f : -1e18f;
			x[3 * t + 1] = t == 5 ? 1e18f : t == 6 ? -1e18f : 0;
			x[3 * t + 2] = (float)t;
		}
		s[i]->attend(&a);
		for (int t = 0; t < 40; t++)
			ck_assert_msg(y[t] == (t % 2 ? 5 : 6), "%s: query %d is %g", s[i]->name, t, (double)y[t]);
		x[3 * 9] = NAN;
		s[i]->attend(&a);
		for (int t = 0; t < 40; t++)
			ck_assert_int_eq(isnan(y[t]) != 0, t == 9);
	}
}
END_TEST

TCase *case_simd(void)
{
	TCase *t = tcase_create("simd");

	tcase_add_test(t, the_limit_of_onednn_applies_to_all_kernels);
	tcase_add_test(t, gelu_follows_libm);
	tcase_add_test(t, exp_is_accurate_to_a_part_in_four_million);
	tcase_add_test(t, softmax_survives_extremes_and_keeps_nan);
	tcase_add_test(t, sums_over_a_long_row_are_as_near_as_over_a_short_one);
	tcase_add_test(t, tails_stay_inside);
	tcase_add_test(t, products_of_each_instruction_set);
	tcase_add_test(t, attention_of_each_instruction_set);
	tcase_add_test(t, attention_survives_extremes);
	return t;
}
