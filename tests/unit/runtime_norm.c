/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests batchnorm with a mean of many times the deviation, and with a first row far from the others. Compared with its
 * definition in double on the same floats, and with the definition in float.
 */
#include <math.h>
#include <string.h>
#include "tests/unit/check_runtime.h"

enum { ROWS = 6007, COLS = 19, N = ROWS * COLS };

struct normed {
	float x[N], weights[N]; /* weights are the gradient of y */
	double y[N], dx[N], dgain[COLS];
	double plain; /* error of dx in float */
};

static double gain_of(int j)
{
	return 0.5 + 0.125 * j;
}

/* Gradients proportional to x: the part of dx that a wrong mean would change is as large as the rest. */
static void numbers(struct normed *n, double mean, double first)
{
	for (int i = 0; i < N; i++) {
		float noise = rt_random_normal(7, 1, (uint64_t)i);

		n->x[i] = (float)(mean * (1 + 0.01 * (i % COLS)) + (i < COLS && first != 0 ? first : (double)noise));
		n->weights[i] = 0.5f * noise + rt_random_normal(7, 2, (uint64_t)i);
	}
}

static void define(struct normed *n, int j)
{
	double m = 0, var = 0, g = 0, gx = 0, r;
	float fm, fr, fg, fgx;

	for (int i = j; i < N; i += COLS)
		m += (double)n->x[i] / ROWS;
	for (int i = j; i < N; i += COLS)
		var += pow((double)n->x[i] - m, 2) / ROWS;
	r = 1 / sqrt(var + (double)1e-5f);
	fm = (float)m, fr = (float)r;
	for (int i = j; i < N; i += COLS) {
		g += (double)n->weights[i] / ROWS;
		gx += (double)n->weights[i] * ((double)n->x[i] - m) * r / ROWS;
	}
	fg = (float)g, fgx = (float)gx;
	n->dgain[j] = gx * ROWS;
	for (int i = j; i < N; i += COLS) {
		double hat = ((double)n->x[i] - m) * r;
		float plain = (float)gain_of(j) * fr * (n->weights[i] - fg - (n->x[i] - fm) * fr * fgx);

		n->y[i] = hat * gain_of(j) + 0.25;
		n->dx[i] = gain_of(j) * r * ((double)n->weights[i] - g - hat * gx);
		n->plain = fmax(n->plain, fabs((double)plain - n->dx[i]));
	}
}

static double worst(const float *got, const double *want, int n)
{
	double most = 0;

	for (int i = 0; i < n; i++)
		most = fmax(most, fabs((double)got[i] - want[i]));
	return most;
}

static void train(const struct normed *n, int threads, double *ret_y, double *ret_dx, double *ret_dgain)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(ROWS, COLS), RT_INIT_ZEROS);
	struct rt_node *gain = rt_param(g, "gain", RT_SHAPE(COLS), RT_INIT_ZEROS);
	struct rt_node *bias = rt_param(g, "bias", RT_SHAPE(COLS), RT_INIT_ZEROS);
	struct rt_node *y = rt_batchnorm(g, x, gain, bias, rt_buffer(g, "mean", RT_SHAPE(COLS), RT_INIT_ZEROS),
					 rt_buffer(g, "var", RT_SHAPE(COLS), RT_INIT_ONES), 1e-5f, 0.1f);
	struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(ROWS, COLS)));
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = true }, .threads = threads };
	struct rt_metrics m = { 0 };

	ck_assert_int_eq(rt_compile(g, loss, &opt, &prog, NULL), 0);
	memcpy(rt_value(prog, x), n->x, sizeof(n->x));
	for (int j = 0; j < COLS; j++) {
		rt_value(prog, gain)[j] = (float)gain_of(j);
		rt_value(prog, bias)[j] = 0.25f;
	}
	ck_assert_int_eq(rt_step(prog, (const void *[]){ n->weights }, &m, NULL), 0);
	*ret_y = worst(rt_value(prog, y), n->y, N);
	*ret_dx = worst(rt_gradient(prog, x), n->dx, N);
	*ret_dgain = worst(rt_gradient(prog, gain), n->dgain, COLS);
}

/* y and dx are of the order of 1 to 10, in an outlying first row of 100; dgain of 3000, whose last digit is 2.4e-4. */
START_TEST(batchnorm_is_as_accurate_at_any_mean)
{
	static const double means[] = { 0, 30, 1e3, 1e5, 0, 1e3 }, firsts[] = { 0, 0, 0, 0, 60, -60 };
	static struct normed n;

	for (size_t i = 0; i < GT_ARRAY_SIZE(means); i++)
		for (int threads = 1; threads <= 3; threads += 2) {
			double y, dx, dgain, room = firsts[i] != 0 ? 10 : 1; /* relative to its largest y */

			n.plain = 0;
			numbers(&n, means[i], firsts[i]);
			for (int j = 0; j < COLS; j++)
				define(&n, j);
			train(&n, threads, &y, &dx, &dgain);
			ck_assert_msg(y < 2e-6 * room && dx < 3e-6 * room && dgain < 5e-4,
				      "mean %g, first row %g, %d threads: y is off by %.2g, dx by %.2g, dgain by %.2g", means[i],
				      firsts[i], threads, y, dx, dgain);
			if (means[i] >= 1e3 && firsts[i] == 0) /* margin of the bounds above */
				ck_assert_msg(n.plain > 10 * dx, "mean %g: plain dx is off by %.2g, ours by %.2g", means[i],
					      n.plain, dx);
		}
}
END_TEST

/*
 * Each addition to a sum above 2^8 is a tie that rounds down. The result of a single float accumulator is wrong by
 * 2^-17.
 */
START_TEST(a_long_row_has_its_mean_on_each_instruction_set)
{
	enum { LONG = 1 << 20 };
	gt_autofree float *x = gt_xcalloc(LONG, sizeof(*x)), *y = gt_xcalloc(LONG, sizeof(*y));
	const struct rt_simd *simd[3];
	int n = simd_tables(simd);
	double mean = 0;

	for (int i = 0; i < LONG; i++) {
		x[i] = 1 + 1983.0f / 65536 * (rt_random_u64(5, 3, (uint64_t)i) % 4 ? -1 : 3);
		mean += (double)x[i] / LONG;
	}
	for (int k = 0; k < n; k++) {
		float got = 0;

		simd[k]->norm(NULL, y, &got, NULL, x, NULL, x, x, 0, 1, LONG);
		ck_assert_msg(fabs((double)got - mean) < 1e-6, "%s: the mean is off by %.2g", simd[k]->name, (double)got - mean);
	}
}
END_TEST

/* A layernorm row of any length: a long row is as exact as a short one, with each instruction set. */
START_TEST(a_long_row_is_normed_as_accurately)
{
	enum { LONG = 1 << 20 };
	gt_autofree float *x = gt_xcalloc(LONG, sizeof(*x)), *y = gt_xcalloc(LONG, sizeof(*y)), *dy = gt_xcalloc(LONG, sizeof(*y));
	gt_autofree float *one = gt_xcalloc(LONG, sizeof(*one)), *zero = gt_xcalloc(LONG, sizeof(*zero));
	double m = 0, var = 0, g = 0, gx = 0, r;
	const struct rt_simd *simd[3];
	int n = simd_tables(simd);

	for (int i = 0; i < LONG; i++) {
		one[i] = 1;
		x[i] = 0.25f + rt_random_normal(5, 1, (uint64_t)i);
		dy[i] = 0.5f + 0.5f * x[i] + rt_random_normal(5, 2, (uint64_t)i);
		m += (double)x[i] / LONG;
		g += (double)dy[i] / LONG;
	}
	for (int i = 0; i < LONG; i++)
		var += pow((double)x[i] - m, 2) / LONG;
	r = 1 / sqrt(var);
	for (int i = 0; i < LONG; i++)
		gx += (double)dy[i] * ((double)x[i] - m) * r / LONG;
	for (int k = 0; k < n; k++) {
		float mean, rstd;
		double most = 0;

		simd[k]->norm(NULL, y, &mean, &rstd, x, NULL, one, zero, 0, 1, LONG);
		ck_assert_msg(fabs((double)mean - m) < 1.5e-7 && fabs((double)rstd - r) < 2e-7 * r,
			      "%s: the mean is off by %.2g, the deviation by %.2g", simd[k]->name, (double)mean - m,
			      (double)rstd / r - 1);
		simd[k]->norm_bwd(y, dy, x, one, &mean, &rstd, 1, LONG, false);
		for (int i = 0; i < LONG; i++)
			most = fmax(most, fabs((double)y[i] - r * ((double)dy[i] - g - ((double)x[i] - m) * r * gx)));
		ck_assert_msg(most < 1.5e-6, "%s: dx is off by %.2g", simd[k]->name, most);
	}
}
END_TEST

/* A fused relu: one bit for each element that passed, 0 for NaN, for any vector width. */
START_TEST(relu_bits_mark_the_elements_that_passed)
{
	enum { R = 9, MOST = 48 };
	static const int widths[] = { 1, 19, 16, 24, MOST };
	const int cols = widths[_i], row = (int)rt_bits_bytes(cols);
	const struct rt_simd *simd[3];
	int n = simd_tables(simd);
	float x[R * MOST], y[R * MOST], dy[R * MOST], dres[R * MOST], ones[MOST], zeros[MOST] = { 0 };
	uint8_t open[R * (MOST / 8) + 1];

	for (int i = 0; i < R * cols; i++) {
		x[i] = i % 7 ? rt_random_normal(3, 1, (uint64_t)i) : 0;
		dy[i] = rt_random_normal(3, 2, (uint64_t)i);
	}
	x[cols] = NAN;
	for (int j = 0; j < cols; j++)
		ones[j] = 1;
	for (int k = 0; k < n; k++) {
		memset(open, 0xa5, sizeof(open));
		simd[k]->channel_affine(y, open, x, NULL, zeros, ones, zeros, R, cols, true);
		simd[k]->channel_bwd(NULL, dres, dy, open, x, zeros, ones, zeros, zeros, R, cols, false, false);
		for (int i = 0; i < R * cols; i++) {
			ck_assert_int_eq(open[i / cols * row + i % cols / 8] >> i % cols % 8 & 1, x[i] > 0);
			ck_assert_float_eq(dres[i], x[i] > 0 ? dy[i] : 0);
			ck_assert(i == cols ? isnan(y[i]) : y[i] == fmaxf(x[i], 0));
		}
		ck_assert_int_eq(open[R * row], 0xa5);
	}
}
END_TEST

TCase *case_norm(void)
{
	TCase *t = tcase_create("norm");

	tcase_add_test(t, batchnorm_is_as_accurate_at_any_mean);
	tcase_add_test(t, a_long_row_has_its_mean_on_each_instruction_set);
	tcase_add_test(t, a_long_row_is_normed_as_accurately);
	tcase_add_loop_test(t, relu_bits_mark_the_elements_that_passed, 0, 5);
	return t;
}
