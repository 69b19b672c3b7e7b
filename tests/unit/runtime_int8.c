/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products: kernels of each instruction set against plain 32-bit sums, ops and models against f32. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/math/int8.h"
#include "tests/unit/check_runtime.h"

#define GUARD	16 /* floats after the result that must not be written */

/* Quantised rows as given. */
struct given {
	const uint8_t *q;
	const float *scale;
	const int32_t *zero;
};

static void given_rows(const struct rt_i8_product *p, int64_t row, int64_t rows, uint8_t *to, int64_t ld, float *scale,
		       int32_t *zero)
{
	const struct given *g = p->arg;

	for (int64_t i = 0; i < rows; i++)
		memcpy(to + i * ld, g->q + (row + i) * p->w.k, (size_t)p->w.k);
	memcpy(scale, g->scale + row, (size_t)rows * sizeof(*scale));
	memcpy(zero, g->zero + row, (size_t)rows * sizeof(*zero));
}

static struct rt_i8_weight weight_new(int64_t n, int64_t k)
{
	int64_t padded = rt_i8_padded(n);

	return (struct rt_i8_weight){ .n = n, .k = k,
				      .packed = aligned_alloc(64, (size_t)(padded * rt_i8_groups(k) * RT_I8_GROUP)),
				      .scale = aligned_alloc(64, (size_t)padded * 4),
				      .sum = aligned_alloc(64, (size_t)padded * 4) };
}

static void weight_clear(struct rt_i8_weight *w)
{
	free(w->packed);
	free(w->scale);
	free(w->sum);
}

/* Weights that are integers from -127 to 127, with 127 in each row: they are quantised with scale 1 to themselves. */
static void draw(float *w, uint8_t *q, int32_t *zero, int64_t m, int64_t n, int64_t k, bool extreme)
{
	for (int64_t i = 0; i < n * k; i++)
		w[i] = i % k == 0 || extreme ? 127 : (float)(rt_random_u64(1, 1, (uint64_t)i) % 255) - 127;
	for (int64_t i = 0; i < m * k; i++)
		q[i] = extreme ? 255 : (uint8_t)rt_random_u64(1, 2, (uint64_t)i);
	for (int64_t i = 0; i < m; i++)
		zero[i] = extreme ? 0 : (int32_t)(rt_random_u64(1, 3, (uint64_t)i) % 256);
}

static void compare_exactly(const struct rt_i8 *kernels, int threads, int64_t m, int64_t n, int64_t k, bool extreme)
{
	struct rt_cpu cpu = { .threads = threads, .simd = rt_simd_best() };
	struct rt_i8_weight v = weight_new(n, k);
	float *w = gt_xcalloc((size_t)(n * k), 4), *y = gt_xcalloc((size_t)(m * n + GUARD), 4), *one = gt_xcalloc((size_t)m, 4);
	uint8_t *q = gt_xcalloc((size_t)(m * k), 1);
	int32_t *zero = gt_xcalloc((size_t)m, 4);
	void *scratch = aligned_alloc(64, rt_i8_scratch_bytes(k, threads));
	struct given given = { q, one, zero };

	draw(w, q, zero, m, n, k, extreme);
	for (int64_t i = 0; i < m; i++)
		one[i] = 1;
	for (int64_t i = 0; i < m * n + GUARD; i++)
		y[i] = -3;
	rt_i8_pack(&cpu, &v, w, k, 1);
	rt_i8_multiply(&cpu, &(struct rt_i8_product){ .kernels = kernels, .m = m, .w = v, .y = y, .rows = given_rows,
						      .arg = &given }, scratch);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int32_t sum = 0;

			for (int64_t p = 0; p < k; p++)
				sum += (q[i * k + p] - zero[i]) * (int32_t)w[j * k + p];
			ck_assert_msg(y[i * n + j] == (float)sum, "%s, %lld x %lld x %lld, element %lld %lld: %.9g, not %d",
				      kernels->name, (long long)m, (long long)n, (long long)k, (long long)i, (long long)j,
				      (double)y[i * n + j], sum);
		}
	for (int64_t i = 0; i < GUARD; i++)
		ck_assert(y[m * n + i] == -3);
	weight_clear(&v);
	free(w);
	free(y);
	free(one);
	free(q);
	free(zero);
	free(scratch);
}

START_TEST(products_are_exact_on_each_instruction_set)
{
	static const int64_t shapes[][3] = { { 1, 1, 1 }, { 1, 33, 7 }, { 2, 31, 64 }, { 3, 96, 130 }, { 14, 32, 16 },
					     { 15, 17, 5 }, { 29, 65, 257 }, { 61, 130, 66 }, { 300, 40, 1030 } };
	const struct rt_i8 *all[RT_I8_SETS];

	rt_i8_all(all);
	for (int a = 0; all[a]; a++) {
		for (size_t i = 0; i < GT_ARRAY_SIZE(shapes); i++)
			compare_exactly(all[a], 1 + (int)i % 3, shapes[i][0], shapes[i][1], shapes[i][2], false);
		/* the largest sum: 65536 products of 255 and 127, just below 2^31 */
		compare_exactly(all[a], 1, 3, 2, RT_I8_DEPTH, true);
	}
}
END_TEST

/* Rounding to nearest even, the limits, and values that are not finite. */
START_TEST(each_instruction_set_quantizes_alike)
{
	const struct rt_i8 *all[RT_I8_SETS];
	float x[61];

	for (int i = 0; i < 61; i++)
		x[i] = 3 * rt_random_normal(2, 1, (uint64_t)i);
	x[7] = 40; /* outside the limits below */
	x[9] = -40;
	x[11] = 2.5f / 16; /* a tie */
	rt_i8_all(all);
	for (int a = 0; all[a]; a++)
		for (int n = 1; n <= 61; n++) {
			uint8_t q[62] = { 0 };
			float lo, hi;

			ck_assert(all[a]->range(x, n, &lo, &hi) == 0);
			ck_assert(all[a]->quantize(q, x, n, 16, 100) == 0);
			for (int i = 0; i < n; i++) {
				double want = fmin(fmax(nearbyint((double)x[i] * 16) + 100, 0), 255);

				ck_assert_msg(q[i] == (int)want, "%s, %d: %d, not %g", all[a]->name, i, q[i], want);
				ck_assert(lo <= x[i] && x[i] <= hi);
			}
			ck_assert(q[n] == 0);
			x[n - 1] = n % 2 ? NAN : INFINITY;
			ck_assert(isnan(all[a]->range(x, n, &lo, &hi)));
			ck_assert(isnan(all[a]->quantize(q, x, n, 16, 100)));
			x[n - 1] = 0.3f;
		}
}
END_TEST

/* Returns the root mean square of a - b relative to that of b. */
static double distance(const float *a, const double *b, int64_t n)
{
	double d = 0, s = 0;

	for (int64_t i = 0; i < n; i++) {
		d += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
		s += b[i] * b[i];
	}
	return sqrt(d / s);
}

static struct rt_program *compile(struct rt_graph *g, struct rt_node *out, int threads)
{
	struct rt_options o = { .threads = threads, .precision.int8 = RT_INT8_DYNAMIC };
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile_outputs(g, &out, 1, &o, &p, &err), "%s", err.msg);
	return p;
}

/* Compiles the case with INT8 products and compares its result with the plain definition in double. Returns whether the
 * result shows that it was quantised. */
static bool compare_case(const struct rt_case *c, double tolerance)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_case_graph built;
	struct leaves l;
	double far;
	int64_t n;

	ck_assert_int_eq(rt_case_parse(c->graph, g, &built, NULL), 0);
	leaves_of_case(&l, c, g, &built, 4);
	n = rt_shape_elements(rt_node_shape(built.out));
	{
		gt_auto(rt_program) *p = compile(g, built.out, 2);
		float *y = gt_xcalloc((size_t)n, sizeof(*y));
		double *want = gt_xcalloc((size_t)n, sizeof(*want));

		leaves_load(&l, g, p);
		ck_assert_int_eq(rt_run(p, l.input, &y, NULL), 0);
		ck_assert_int_eq(rt_reference(g, built.out, (const double *const *)l.value, want, NULL), 0);
		far = distance(y, want, n);
		ck_assert_msg(far < tolerance, "%s: %g from the definition", c->name, far);
		free(y);
		free(want);
	}
	leaves_free(&l);
	rt_case_clear(&built);
	return far > 1e-5;
}

/* Eight bits on both sides: an error of about 1 % of the result's root mean square. */
START_TEST(linear_layers_and_convolutions_follow_their_definition)
{
	int n = 0;

	for (int i = 0; i < rt_n_cases; i++) {
		const struct rt_case *c = &rt_cases[i];

		if (c->skip & RT_CASE_CPU || c->exact || (strncmp(c->name, "linear", 6) && strncmp(c->name, "conv", 4)))
			continue;
		n += compare_case(c, 0.04);
	}
	ck_assert_int_gt(n, 40);
}
END_TEST

static struct rt_program *mlp_program(struct rt_graph *g, int64_t rows)
{
	return compile(g, rt_logits(rt_model_mlp(g, rows, (const int64_t[]){ 40, 24, 8 }, 3)), 1);
}

START_TEST(the_report_names_what_stays_f32)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(3, 8)), *w = rt_param(g, "w", RT_SHAPE(8, 8), RT_INIT_NORMAL(1));
	struct rt_node *y = rt_linear(g, rt_linear(g, x, w, NULL), rt_gelu(g, w), NULL);
	gt_auto(rt_program) *p = compile(g, y, 1);
	gt_auto_json *doc = rt_program_report(p);
	const char *did = "";
	size_t i;
	json_t *pass;

	json_array_foreach(json_object_get(doc, "passes"), i, pass)
		if (gt_streq(gt_json_get_str(pass, "name", ""), "quantize"))
			did = gt_json_get_str(pass, "did", "");
	ck_assert_msg(!strncmp(did, "1 products in INT8", 18) &&
			      strstr(did, "; f32: 1 (linear: its weight is computed in each run)"), "%s", did);
}
END_TEST

/* A value that is not finite is visible in the results of its row, and only there. */
START_TEST(values_that_are_not_finite_stay_visible)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = mlp_program(g, 3);
	float x[3 * 40], y[3 * 8], *out = y;

	for (int i = 0; i < 3 * 40; i++)
		x[i] = rt_random_normal(3, 1, (uint64_t)i);
	x[40 + 5] = NAN;
	ck_assert_int_eq(rt_run(p, (const void *[]){ x, NULL }, &out, NULL), 0);
	for (int i = 0; i < 3 * 8; i++)
		ck_assert_int_eq(isnan(y[i]) != 0, i / 8 == 1);
}
END_TEST

/* Parameters that change between runs are quantised again. */
START_TEST(new_parameters_are_quantized)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = mlp_program(g, 1);
	float x[40] = { 1, 2, 3 }, before[8], after[8], bias[8] = { 5, 5, 5, 5, 5, 5, 5, 5 }, *out = before;
	struct rt_node *w = rt_graph_node(g, "fc1.weight");
	float *zero = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(w)), sizeof(*zero));

	ck_assert_int_eq(rt_run(p, (const void *[]){ x, NULL }, &out, NULL), 0);
	ck_assert_int_eq(rt_write_param(p, w, zero, NULL), 0);
	ck_assert_int_eq(rt_write_param(p, rt_graph_node(g, "fc1.bias"), bias, NULL), 0);
	out = after;
	ck_assert_int_eq(rt_run(p, (const void *[]){ x, NULL }, &out, NULL), 0);
	for (int i = 0; i < 8; i++)
		ck_assert(after[i] == 5 && before[i] != 5);
	free(zero);
}
END_TEST

START_TEST(training_and_mixed_precision_are_refused)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 3, 4 }, 2);
	const struct rt_options options[] = {
		{ .precision.int8 = RT_INT8_DYNAMIC, .optimizer.kind = RT_SGD },
		{ .precision = { .int8 = RT_INT8_DYNAMIC, .amp = RT_BF16 } },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(options); i++) {
		struct rt_program *p = NULL;
		struct gt_err err = { 0 };

		ck_assert_int_eq(rt_compile_outputs(g, &loss, 1, &options[i], &p, &err), -EINVAL);
		ck_assert_str_eq(err.msg, "INT8 products are for programs in f32 that do not train");
		ck_assert_ptr_null(p);
	}
}
END_TEST

TCase *case_int8(void)
{
	TCase *tc = tcase_create("int8");

	tcase_add_test(tc, products_are_exact_on_each_instruction_set);
	tcase_add_test(tc, each_instruction_set_quantizes_alike);
	tcase_add_test(tc, linear_layers_and_convolutions_follow_their_definition);
	tcase_add_test(tc, the_report_names_what_stays_f32);
	tcase_add_test(tc, values_that_are_not_finite_stay_visible);
	tcase_add_test(tc, new_parameters_are_quantized);
	tcase_add_test(tc, training_and_mixed_precision_are_refused);
	return tc;
}
