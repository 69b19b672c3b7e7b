/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: rounding bit by bit, products of reduced-precision types, and results of the pass. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cpu/cpu.h"
#include "runtime/backend/program.h"
#include "tests/unit/check_runtime.h"

/* The definition, applied to one number: the nearest value of the type, ties to even. */
struct format {
	enum rt_dtype dtype;
	int mantissa, bias, max_exponent;
};
static const struct format formats[] = { { RT_BF16, 7, 127, 255 }, { RT_F16, 10, 15, 31 } };

static double decode(const struct format *f, unsigned bits)
{
	unsigned exp = (bits & 0x7FFF) >> f->mantissa, frac = bits & ((1u << f->mantissa) - 1);
	double sign = bits & 0x8000 ? -1 : 1;

	if (exp == (unsigned)f->max_exponent)
		return frac ? NAN : sign * INFINITY;
	if (!exp)
		return sign * ldexp(frac, 1 - f->bias - f->mantissa);
	return sign * ldexp(frac + (1u << f->mantissa), (int)exp - f->bias - f->mantissa);
}

static void convert(const struct rt_simd *s, enum rt_dtype dtype, uint16_t *low, const float *x, float *back, int64_t n)
{
	(dtype == RT_BF16 ? s->to_bf16 : s->to_f16)(low, x, n);
	(dtype == RT_BF16 ? s->from_bf16 : s->from_f16)(back, low, n);
}

#define ALL	65536
START_TEST(every_16_bit_pattern_survives_a_round_trip)
{
	static float wide[ALL], again[ALL];
	static uint16_t bits[ALL], low[ALL];
	const struct format *f = &formats[_i];
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (unsigned i = 0; i < ALL; i++)
		bits[i] = (uint16_t)i;
	for (int k = 0; k < n; k++) {
		(f->dtype == RT_BF16 ? s[k]->from_bf16 : s[k]->from_f16)(wide, bits, ALL);
		convert(s[k], f->dtype, low, wide, again, ALL);
		for (unsigned i = 0; i < ALL; i++) {
			double want = decode(f, i);

			if (isnan(want))
				ck_assert_msg(isnan(wide[i]) && isnan(again[i]), "%s %s: %04x is no NaN", s[k]->name,
					      rt_dtype_name(f->dtype), i);
			else
				ck_assert_msg((double)wide[i] == want && low[i] == i, "%s %s: %04x is %g and %04x", s[k]->name,
					      rt_dtype_name(f->dtype), i, (double)wide[i], low[i]);
		}
	}
}
END_TEST

/* With every payload, also one where adding the rounding would carry into the exponent. */
START_TEST(nan_stays_nan)
{
	static const uint32_t bits[] = { 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7FFF8001, 0xFF800001, 0xFFFFFFFF, 0xFFFF8000 };
	const struct rt_simd *s[3];
	float x[33], back[33];
	uint16_t low[33];
	int n = simd_tables(s);

	for (int i = 0; i < 33; i++)
		memcpy(&x[i], &bits[i % (int)GT_ARRAY_SIZE(bits)], sizeof(x[i]));
	for (int k = 0; k < n; k++) {
		convert(s[k], formats[_i].dtype, low, x, back, 33);
		for (int i = 0; i < 33; i++)
			ck_assert_msg(isnan(back[i]), "%s %s: %08x becomes %g", s[k]->name, rt_dtype_name(formats[_i].dtype),
				      bits[i % (int)GT_ARRAY_SIZE(bits)], (double)back[i]);
	}
}
END_TEST

/*
 * Values between two neighbours: rounded down below the middle, up above it, and to even in the middle. Blocks of 33
 * leave a tail.
 */
START_TEST(rounding_is_to_nearest_even)
{
	const struct format *f = &formats[_i];
	const struct rt_simd *s[3];
	int n = simd_tables(s);

	for (unsigned i = 0; i < 0x7FFF; i++) {
		double a = decode(f, i), b = decode(f, i + 1);
		float middle, x[33], back[33];
		uint16_t low[33];

		if (isnan(a) || isnan(b) || isinf(a))
			continue;
		if (isinf(b))
			b = ldexp(1, f->max_exponent - f->bias);
		middle = (float)((a + b) / 2);
		if ((double)middle != (a + b) / 2) /* below the smallest f32 */
			continue;
		for (int k = 0; k < 33; k++)
			x[k] = k % 3 == 0 ? nextafterf(middle, 0) : k % 3 == 1 ? middle : nextafterf(middle, INFINITY);
		for (int k = 0; k < 33; k++)
			x[k] = k % 2 ? -x[k] : x[k];
		for (int t = 0; t < n; t++) {
			convert(s[t], f->dtype, low, x, back, 33);
			for (int k = 0; k < 33; k++) {
				unsigned want = k % 3 == 0 ? i : k % 3 == 2 ? i + 1 : i + (i & 1);

				ck_assert_msg(low[k] == (want | (k % 2 ? 0x8000u : 0)), "%s %s: %.9g becomes %04x, not %04x",
					      s[t]->name, rt_dtype_name(f->dtype), (double)x[k], low[k], want);
			}
		}
	}
}
END_TEST

/* Shapes have odd sizes and padded rows. Each transpose is tested, with results assigned and results added. i: type. */
START_TEST(low_products_are_sums_of_exact_products)
{
	enum { M = 67, N = 45, K = 83, LD = 96 };
	static float wide[2][LD * LD], rounded[2][LD * LD], c[M * LD], scratch[2 * LD * LD + 16];
	static uint16_t low[2][LD * LD];
	const struct format *f = &formats[_i];
	struct rt_cpu cpu;

	ck_assert_int_eq(rt_cpu_open(&cpu, 2, NULL), 0);
	for (int which = 0; which < 2; which++) {
		for (int i = 0; i < LD * LD; i++)
			wide[which][i] = rt_random_normal(4, (uint64_t)which, (uint64_t)i);
		convert(rt_simd_best(), f->dtype, low[which], wide[which], rounded[which], LD * LD);
	}
	for (int mode = 0; mode < 8; mode++) {
		bool ta = mode & 1, tb = mode & 2, add = mode & 4;

		for (int i = 0; i < M * LD; i++)
			c[i] = 0.5f;
		rt_gemm_any(&cpu, f->dtype, ta, tb, M, N, K, low[0], LD, low[1], LD, add, c, LD, scratch);
		for (int i = 0; i < M; i++)
			for (int j = 0; j < N; j++) {
				double want = add ? 0.5 : 0;

				for (int k = 0; k < K; k++)
					want += (double)rounded[0][ta ? k * LD + i : i * LD + k] *
						(double)rounded[1][tb ? j * LD + k : k * LD + j];
				ck_assert_msg(fabs((double)c[i * LD + j] - want) < 2e-5, "%s mode %d: (%d,%d) is %g, not %g",
					      rt_dtype_name(f->dtype), mode, i, j, (double)c[i * LD + j], want);
			}
		ck_assert_msg(c[N] == 0.5f, "written behind the row");
	}
}
END_TEST

static struct rt_program *compile_amp(struct rt_graph *g, enum rt_dtype amp, bool no_fuse)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };
	struct rt_gpt_config k = { .batch = 2, .seq = 32, .layers = 2, .width = 64, .heads = 4, .vocab = 130 };
	struct rt_options opt = { .precision.amp = amp, .debug = { .no_fuse = no_fuse, .keep_gradients = true, .poison = true },
				  .seed = 2, .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } };

	ck_assert_msg(rt_compile(g, rt_model_gpt(g, &k), &opt, &p, &err) == 0, "%s", err.msg);
	return p;
}

/*
 * Types of a program: operands of products have reduced precision. All other tensors are f32, in particular parameters
 * and their gradients.
 */
START_TEST(only_operands_of_products_are_lowered)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = compile_amp(g, formats[_i].dtype, false);

	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 0; k < RT_MAX_IO; k++) {
			if (c->in[k] && c->in[k]->dtype != RT_I32)
				ck_assert_msg(c->in[k]->dtype == (c->op->reduced >> k & 1 ? formats[_i].dtype : RT_F32),
					      "%s reads %s as %s", c->op->name, c->in[k]->name, rt_dtype_name(c->in[k]->dtype));
			if (c->out[k])
				ck_assert(c->out[k]->dtype == (c->op->id == RT_OP_CAST ? formats[_i].dtype : RT_F32));
		}
	}
}
END_TEST

struct multiplied {
	struct rt_graph *g;
	struct rt_program *p;
	struct rt_node *a, *b, *y;
	int low; /* calls that read both operands in the reduced type */
};

/* y = op(a) op(b) and its gradients, 6 products. Leaves and weights are rounded before, or by amp. */
static struct multiplied multiply(enum rt_dtype amp, const struct format *round, int mode)
{
	struct multiplied x = { .g = rt_graph_new() };
	bool ta = mode & 1, tb = mode & 2;
	struct rt_options opt = { .precision.amp = amp, .threads = 2,
				  .debug = { .keep_gradients = true, .no_reuse = true, .poison = true },
				  .precision.scaler.use = RT_SCALER_OFF };
	float in[6 * 9 * 5], wide[6 * 17 * 9];
	uint16_t low[6 * 17 * 9];
	struct gt_err err = { 0 };
	struct rt_node *loss;

	x.a = rt_param(x.g, "a", ta ? RT_SHAPE(2, 3, 17, 9) : RT_SHAPE(2, 3, 9, 17), RT_INIT_NORMAL(1));
	x.b = rt_param(x.g, "b", tb ? RT_SHAPE(2, 3, 5, 17) : RT_SHAPE(2, 3, 17, 5), RT_INIT_NORMAL(1));
	x.y = rt_matmul(x.g, x.a, ta, x.b, tb);
	loss = rt_dot(x.g, x.y, rt_input(x.g, "weights", RT_F32, RT_SHAPE(2, 3, 9, 5)));
	ck_assert_msg(rt_compile(x.g, loss, &opt, &x.p, &err) == 0, "%s", err.msg);
	for (uint64_t i = 0; i < GT_ARRAY_SIZE(in); i++)
		in[i] = rt_random_normal(6, 0, i);
	if (round) {
		convert(rt_simd_best(), round->dtype, low, in, in, GT_ARRAY_SIZE(in));
		convert(rt_simd_best(), round->dtype, low, rt_value(x.p, x.a), wide, 6 * 9 * 17);
		memcpy(rt_value(x.p, x.a), wide, 6 * 9 * 17 * sizeof(float));
		convert(rt_simd_best(), round->dtype, low, rt_value(x.p, x.b), wide, 6 * 5 * 17);
		memcpy(rt_value(x.p, x.b), wide, 6 * 5 * 17 * sizeof(float));
	}
	ck_assert_int_eq(rt_step(x.p, (const void *[]){ in }, &(struct rt_metrics){ 0 }, &err), 0);
	for (int i = 0; i < x.p->plan.ir.n_calls; i++) {
		const struct rt_call *c = x.p->plan.ir.calls[i];

		x.low += c->op->id == RT_OP_MATMUL && c->in[0]->dtype == amp && c->in[1]->dtype == amp;
	}
	return x;
}

static void same_numbers(const char *what, const float *got, const float *want, int n)
{
	for (int i = 0; i < n; i++)
		ck_assert_msg(fabsf(got[i] - want[i]) < 1e-5f, "%s[%d] is %g, not %g", what, i, (double)got[i], (double)want[i]);
}

/*
 * matmul reads the same operands as linear, forward and in both gradients: the products equal those of rounded operands
 * in f32.
 */
START_TEST(matmul_is_a_product_like_any_other)
{
	const struct format *f = &formats[_i];

	for (int mode = 0; mode < 4; mode++) {
		struct multiplied low = multiply(f->dtype, NULL, mode), plain = multiply(RT_F32, f, mode);

		ck_assert_int_eq(low.low, 3);
		same_numbers("y", rt_value(low.p, low.y), rt_value(plain.p, plain.y), 6 * 9 * 5);
		same_numbers("da", rt_gradient(low.p, low.a), rt_gradient(plain.p, plain.a), 6 * 9 * 17);
		same_numbers("db", rt_gradient(low.p, low.b), rt_gradient(plain.p, plain.b), 6 * 5 * 17);
		rt_program_free(low.p);
		rt_program_free(plain.p);
		rt_graph_free(low.g);
		rt_graph_free(plain.g);
	}
}
END_TEST

static double train_amp(enum rt_dtype amp, bool no_fuse, double *ret_gradient)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = compile_amp(g, amp, no_fuse);
	int32_t tokens[64], targets[64];
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	double sum = 0;

	for (uint64_t i = 0; i < 64; i++) {
		tokens[i] = (int32_t)(rt_random_u64(1, 1, i) % 130);
		targets[i] = (tokens[i] * 7 + 3) % 130;
	}
	for (int i = 0; i < 30; i++)
		ck_assert_msg(rt_step(p, (const void *[]){ tokens, targets }, &m, &err) == 0, "%s", err.msg);
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		const float *d = rt_node_is_param(n) ? rt_gradient(p, n) : NULL;

		for (int64_t k = 0; d && k < rt_shape_elements(rt_node_shape(n)); k++)
			sum += (double)d[k] * (double)d[k];
	}
	*ret_gradient = sqrt(sum) / m.loss_scale;
	return m.loss;
}

START_TEST(training_in_a_low_type_follows_training_in_f32)
{
	double g32, g16, f32 = train_amp(RT_F32, false, &g32), low = train_amp(formats[_i].dtype, false, &g16);

	ck_assert_double_lt(f32, 4.3);
	ck_assert_msg(f32 != low, "nothing was rounded");
	ck_assert_msg(fabs(low / f32 - 1) < 0.01, "loss %g, in f32 %g", low, f32);
	ck_assert_msg(fabs(g16 / g32 - 1) < 0.1, "gradient norm %g, in f32 %g", g16, g32);
	low = train_amp(formats[_i].dtype, true, &g16);
	ck_assert_msg(fabs(low / f32 - 1) < 0.01, "unfused: loss %g, in f32 %g", low, f32);
}
END_TEST

/* The cast of x overflows in f16. In bf16 nothing overflows below `big`. Poison is placed after each tensor. */
START_TEST(a_value_that_is_not_finite_is_named_in_any_type)
{
	const enum rt_dtype dtype = _i ? RT_F16 : RT_BF16;
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 3)), *w = rt_param(g, "w", RT_SHAPE(3, 3), RT_INIT_ONES);
	struct rt_node *big = rt_name(rt_affine(g, rt_linear(g, x, w, NULL), 3e38f, 0), "big");
	struct rt_node *loss = rt_dot(g, big, rt_input(g, "weights", RT_F32, RT_SHAPE(2, 3)));
	struct rt_options opt = { .precision.amp = dtype, .threads = 1,
				  .debug = { .poison = true, .anomaly = _i == 2, .keep_gradients = true },
				  .precision.scaler.use = RT_SCALER_OFF };
	const float in[6] = { 1, 2, 3, 4, 5, 1e6f }, weights[6] = { 1, 1, 1, 1, 1, 1 };
	const char *says = _i == 0 ? "first not finite: big;" : _i == 1 ? "first not finite: f16 x;" : "cast wrote f16 x, which is";
	struct gt_err err = { 0 };
	struct rt_metrics m;

	ck_assert_int_eq(rt_compile(g, loss, &opt, &p, &err), 0);
	ck_assert_int_eq(rt_step(p, (const void *[]){ in, weights }, &m, &err), -EDOM);
	ck_assert_msg(strstr(err.msg, says), "said: %s", err.msg);
}
END_TEST

TCase *case_amp(void)
{
	TCase *t = tcase_create("amp");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, every_16_bit_pattern_survives_a_round_trip, 0, 2);
	tcase_add_loop_test(t, rounding_is_to_nearest_even, 0, 2);
	tcase_add_loop_test(t, nan_stays_nan, 0, 2);
	tcase_add_loop_test(t, low_products_are_sums_of_exact_products, 0, 2);
	tcase_add_loop_test(t, only_operands_of_products_are_lowered, 0, 2);
	tcase_add_loop_test(t, matmul_is_a_product_like_any_other, 0, 2);
	tcase_add_loop_test(t, training_in_a_low_type_follows_training_in_f32, 0, 2);
	tcase_add_loop_test(t, a_value_that_is_not_finite_is_named_in_any_type, 0, 3);
	return t;
}
