/* SPDX-License-Identifier: Apache-2.0 */
/* INT8 products: kernels of each instruction set against plain 32-bit sums, ops and models against f32. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/math/histogram.h"
#include "runtime/math/int8.h"
#include "tests/unit/check_runtime.h"

#define GUARD	16 /* floats after the result that must not be written */

/* Uses quantised rows as they are. */
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

#define GELU_COLS	100

/* One row: x = scale 8 w, from far below zero to far above. GELU may be less exact than in f32, but not visibly so in 8 bits. */
static void check_gelu(const struct rt_i8 *kernels, float scale)
{
	struct rt_cpu cpu = { .threads = 1, .simd = rt_simd_best() };
	struct rt_i8_weight v = weight_new(GELU_COLS, 1);
	float w[GELU_COLS], y[GELU_COLS];
	void *scratch = aligned_alloc(64, rt_i8_scratch_bytes(1, 1));
	struct given given = { (const uint8_t[]){ 8 }, &scale, (const int32_t[]){ 0 } };

	for (int i = 0; i < GELU_COLS; i++)
		w[i] = (float)(i - GELU_COLS / 2) / (GELU_COLS / 2);
	rt_i8_pack(&cpu, &v, w, 1, 1);
	rt_i8_multiply(&cpu, &(struct rt_i8_product){ .kernels = kernels, .m = 1, .w = v, .act = RT_ACT_GELU, .y = y,
						      .rows = given_rows, .arg = &given }, scratch);
	for (int i = 0; i < GELU_COLS; i++) {
		double x = (double)scale * 8 * (double)w[i];
		double want = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));

		ck_assert_msg(fabs((double)y[i] - want) <= 2e-4 * fabs(want) + 1e-6, "%s, gelu of %g: %.9g, not %.9g",
			      kernels->name, x, (double)y[i], want);
	}
	weight_clear(&v);
	free(scratch);
}

START_TEST(gelu_of_sums_follows_its_definition)
{
	const struct rt_i8 *all[RT_I8_SETS];

	rt_i8_all(all);
	for (int a = 0; all[a]; a++)
		for (float scale = 1e-3f; scale < 1e20f; scale *= 3)
			check_gelu(all[a], scale);
}
END_TEST

/* Quantises x (n) by its own range in one call and in two. */
static void compare_row(const struct rt_i8 *k, const float *x, int n)
{
	uint8_t one[64] = { 0 }, two[64] = { 0 };
	struct rt_i8_range r;
	float lo, hi, scale;
	int32_t zero;

	k->range(x, n, &lo, &hi);
	r = rt_i8_range(lo, hi);
	k->quantize(two, x, n, r.inverse, r.zero);
	k->quantize_row(one, x, n, &scale, &zero);
	ck_assert_mem_eq(one, two, sizeof(one));
	ck_assert(zero == r.zero && !(fabsf(scale - r.scale) > 0));
}

/* Tests rounding to nearest even, the limits, and values that are not finite. */
START_TEST(each_instruction_set_quantizes_alike)
{
	const struct rt_i8 *all[RT_I8_SETS];
	float x[61], rounded_up[61];

	/* zero is 101.5, rounded to 102, so the largest element is 153.5 + 102, rounded to 256 */
	for (int i = 0; i < 61; i++)
		rounded_up[i] = i % 2 ? -101.5f / 4 : 153.5f / 4;
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
			compare_row(all[a], x, n);
			compare_row(all[a], rounded_up, n);
			x[n - 1] = n % 2 ? NAN : INFINITY;
			ck_assert(isnan(all[a]->range(x, n, &lo, &hi)));
			ck_assert(isnan(all[a]->quantize(q, x, n, 16, 100)));
			all[a]->quantize_row(q, x, n, &lo, &(int32_t){ 0 });
			ck_assert(isnan(lo));
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

static struct rt_program *compile_as(struct rt_graph *g, struct rt_node *out, int threads, enum rt_int8 int8,
				     const struct rt_ranges *ranges)
{
	struct rt_options o = { .threads = threads, .precision = { .int8 = int8, .ranges = ranges } };
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile_outputs(g, &out, 1, &o, &p, &err), "%s", err.msg);
	return p;
}

static struct rt_program *compile(struct rt_graph *g, struct rt_node *out, int threads)
{
	return compile_as(g, out, threads, RT_INT8_DYNAMIC, NULL);
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

/* Both operands have eight bits: the error is about 1 % of the result's root mean square. */
START_TEST(linear_layers_and_convolutions_follow_their_definition)
{
	int n = 0;

	for (int i = 0; i < rt_n_cases; i++) {
		const struct rt_case *c = &rt_cases[i];

		if (c->skip & RT_CASE_CPU || c->exact || strstr(c->name, "winograd") ||
		    (strncmp(c->name, "linear", 6) && strncmp(c->name, "conv", 4)))
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

/* Returns what a pass reports to have done; "" if it did nothing. */
static const char *pass_did(const json_t *report, const char *name)
{
	size_t i;
	json_t *pass;

	json_array_foreach(json_object_get(report, "passes"), i, pass)
		if (gt_streq(gt_json_get_str(pass, "name", ""), name))
			return gt_json_get_str(pass, "did", "");
	return "";
}

START_TEST(the_report_lists_tensors_that_stay_f32)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(3, 8)), *w = rt_param(g, "w", RT_SHAPE(8, 8), RT_INIT_NORMAL(1));
	struct rt_node *y = rt_linear(g, rt_linear(g, x, w, NULL), rt_gelu(g, w), NULL);
	gt_auto(rt_program) *p = compile(g, y, 1);
	gt_auto_json *doc = rt_program_report(p);
	const char *did = pass_did(doc, "quantize");

	ck_assert_msg(!strncmp(did, "1 products in INT8", 18) &&
			      strstr(did, "; f32: 1 (linear: its weight is computed in each run)"), "%s", did);
}
END_TEST

/* A residual block of two layers with norms, and an output layer. */
static struct rt_node *block(struct rt_graph *g, int64_t rows)
{
	struct rt_init normal = RT_INIT_NORMAL(0.3f);
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(rows, 40)), *y;

	x = rt_linear(g, x, rt_param(g, "w0", RT_SHAPE(40, 40), normal), NULL);
	y = rt_layernorm(g, x, rt_param(g, "g1", RT_SHAPE(40), normal), rt_param(g, "b1", RT_SHAPE(40), normal), 1e-5f);
	y = rt_relu(g, rt_linear(g, y, rt_param(g, "w1", RT_SHAPE(48, 40), normal), rt_param(g, "c1", RT_SHAPE(48), normal)));
	y = rt_linear(g, y, rt_param(g, "w2", RT_SHAPE(40, 48), normal), rt_param(g, "c2", RT_SHAPE(40), normal));
	x = rt_add(g, x, y);
	y = rt_layernorm(g, x, rt_param(g, "g2", RT_SHAPE(40), normal), rt_param(g, "b2", RT_SHAPE(40), normal), 1e-5f);
	return rt_linear(g, y, rt_param(g, "w3", RT_SHAPE(33, 40), normal), NULL);
}

/* Runs the block on the same values. Checks what the pass reports. */
static float *run_block(int64_t rows, int threads, bool fused, const char *report)
{
	struct rt_options o = { .threads = threads, .precision.int8 = RT_INT8_DYNAMIC, .debug.no_fuse = !fused };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *out = block(g, rows);
	gt_auto_json *doc = NULL;
	float *x = gt_xcalloc((size_t)rows * 40, sizeof(*x)), *y = gt_xcalloc((size_t)rows * 33, sizeof(*y));
	struct gt_err err = { 0 };

	ck_assert_msg(!rt_compile_outputs(g, &out, 1, &o, &p, &err), "%s", err.msg);
	doc = rt_program_report(p);
	ck_assert_str_eq(pass_did(doc, "fuse_int8"), fused ? report : "nothing to do");
	for (int64_t i = 0; i < rows * 40; i++)
		x[i] = rt_random_normal(3, 2, (uint64_t)i);
	ck_assert_int_eq(rt_run(p, (const void *[]){ x }, &y, NULL), 0);
	free(x);
	return y;
}

START_TEST(fused_products_give_the_same_bits)
{
	static const struct {
		int64_t rows;
		const char *report;
	} of[] = {
		{ 1, "fused 1 residual sums and 2 norms into products, 0 pairs of products" },
		{ 63, "fused 1 residual sums and 2 norms into products, 0 pairs of products" },
		{ 64, "fused 1 residual sums and 2 norms into products, 1 pairs of products" },
		{ 2500, "fused 1 residual sums and 2 norms into products, 1 pairs of products" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(of); i++) {
		float *want = run_block(of[i].rows, 1, false, NULL);

		for (int threads = 1; threads <= 3; threads += 2) {
			float *have = run_block(of[i].rows, threads, true, of[i].report);

			ck_assert_mem_eq(have, want, (size_t)of[i].rows * 33 * sizeof(float));
			free(have);
		}
		free(want);
	}
}
END_TEST

/* A value that is not finite appears in the results of its row and in no other row. */
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

static int by_value(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return x < y ? -1 : x > y;
}

#define VALUES	20000

/* Batches whose values grow give the histogram of all values counted at once. Ranges are those of the sorted values. */
START_TEST(ranges_are_those_of_all_values)
{
	float *x = gt_xcalloc(VALUES, sizeof(*x)), lo, hi;
	struct rt_histogram *once = gt_xcalloc(1, sizeof(*once)), *parts = gt_xcalloc(1, sizeof(*parts));

	for (int i = 0; i < VALUES; i++)
		x[i] = rt_random_normal(5, 1, (uint64_t)i) * (i < VALUES / 2 ? 0.01f : 1) + (i % 7 ? 0 : 0.5f);
	x[17] = 90;
	rt_histogram_add(once, x, VALUES);
	for (int i = 0; i < VALUES; i += 1000)
		rt_histogram_add(parts, x + VALUES - 1000 - i, 1000);
	ck_assert(!memcmp(once, parts, sizeof(*once)));
	memset(parts, 0, sizeof(*parts));
	for (int i = 0; i < VALUES; i += 1000)
		rt_histogram_add(parts, x + i, 1000);
	ck_assert(!memcmp(once, parts, sizeof(*once)));
	qsort(x, VALUES, sizeof(*x), by_value);
	rt_histogram_range(once, RT_CALIBRATE_MINMAX, 0, &lo, &hi);
	ck_assert(lo == x[0] && hi == x[VALUES - 1]);
	rt_histogram_range(once, RT_CALIBRATE_PERCENTILE, 99, &lo, &hi);
	ck_assert_float_eq_tol(lo, x[VALUES / 100], 2 * 128.f / RT_HISTOGRAM_BINS);
	ck_assert_float_eq_tol(hi, x[VALUES - 1 - VALUES / 100], 2 * 128.f / RT_HISTOGRAM_BINS);
	/* One value of 90 among 20000 below 5 must not reduce the resolution of all others. */
	rt_histogram_range(once, RT_CALIBRATE_ENTROPY, 0, &lo, &hi);
	ck_assert_msg(lo == x[0] && hi > 1 && hi < 20, "%g to %g", (double)lo, (double)hi);
	free(x);
	free(once);
	free(parts);
}
END_TEST

/* l: values of the parameters; NULL: the initial ones. input NULL: no run. */
static int calibration(struct rt_graph *g, struct rt_node *out, const struct leaves *l, const void *const *input, float *y,
		       enum rt_calibration method, struct rt_ranges **ret, struct gt_err *err)
{
	gt_auto(rt_program) *p = compile_as(g, out, 2, RT_INT8_OBSERVE, NULL);

	if (l)
		leaves_load(l, g, p);
	if (input)
		ck_assert_int_eq(rt_run(p, input, &y, NULL), 0);
	return rt_calibrate(p, method, 99.9, ret, err);
}

/* Ranges calibrated on the same inputs are as exact as ranges found in each run. Larger inputs saturate. */
START_TEST(calibrated_products_follow_their_definition)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(2, 9, 8, 16));
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(24, 16, 3, 3), RT_INIT_NORMAL(0.1f));
	struct rt_node *b = rt_param(g, "b", RT_SHAPE(24), RT_INIT_ONES);
	struct rt_node *v = rt_param(g, "v", RT_SHAPE(10, 24), RT_INIT_NORMAL(0.1f));
	struct rt_node *y = rt_linear(g, rt_relu(g, rt_conv2d(g, x, w, b, (struct rt_conv2d){ .pad = 1 })), v, NULL);
	int64_t n = rt_shape_elements(rt_node_shape(y));
	gt_autofree float *got = gt_xcalloc((size_t)n, sizeof(*got));
	struct leaves l;

	leaves_make(&l, g, 2, 7);
	for (int method = RT_CALIBRATE_MINMAX; method <= RT_CALIBRATE_ENTROPY; method++) {
		gt_auto(rt_ranges) *ranges = NULL;
		gt_autofree double *want = gt_xcalloc((size_t)n, sizeof(*want));
		struct gt_err err = { 0 };

		ck_assert_msg(!calibration(g, y, &l, l.input, got, (enum rt_calibration)method, &ranges, &err), "%s",
			      err.msg);
		ck_assert_int_eq(ranges->n, 2);
		{
			gt_auto(rt_program) *p = compile_as(g, y, 2, RT_INT8_STATIC, ranges);
			double far;

			leaves_load(&l, g, p);
			ck_assert_int_eq(rt_run(p, l.input, &got, NULL), 0);
			ck_assert_int_eq(rt_reference(g, y, (const double *const *)l.value, want, NULL), 0);
			far = distance(got, want, n);
			ck_assert_msg(far < 0.06 && far > 1e-5, "method %d: %g from the definition", method, far);
			((float *)(uintptr_t)l.input[0])[5] = 1e30f;
			ck_assert_int_eq(rt_run(p, l.input, &got, NULL), 0);
			for (int64_t i = 0; i < n; i++)
				ck_assert(fabsf(got[i]) < 1e3f);
			((float *)(uintptr_t)l.input[0])[5] = (float)l.value[0][5];
		}
	}
	leaves_free(&l);
}
END_TEST

START_TEST(unusable_calibrations_are_refused)
{
	gt_auto(rt_graph) *g = rt_graph_new(), *other = rt_graph_new();
	struct rt_node *y = rt_logits(rt_model_mlp(g, 1, (const int64_t[]){ 3, 4 }, 2));
	struct rt_node *z = rt_logits(rt_model_mlp(other, 1, (const int64_t[]){ 3, 4, 5 }, 3));
	struct rt_range bad = { .name = (char[]){ "input of fc0.weight" }, .lo = NAN, .hi = 1 };
	const struct {
		const struct rt_ranges *ranges;
		const char *message;
	} refused[] = {
		{ NULL, "the calibration has no range for the input of fc1.weight: it is of another model" },
		{ &(struct rt_ranges){ &bad, 1 },
		  "the range of the input of fc0.weight is nan to 1: it must be finite and contain 0" },
		{ NULL, "static INT8 products need the ranges of a calibration" },
	};
	float out[5], x[3] = { 1, INFINITY, 3 };
	gt_auto(rt_ranges) *ranges = NULL;
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_int_eq(calibration(g, y, NULL, NULL, out, RT_CALIBRATE_MINMAX, &ranges, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "no batch was run: a calibration needs at least one");
	ck_assert_int_eq(calibration(g, y, NULL, (const void *[]){ x, NULL }, out, RT_CALIBRATE_MINMAX, &ranges, &err), -EDOM);
	ck_assert_str_eq(err.msg, "input of fc0.weight: 1 values are not finite");
	ck_assert_int_eq(calibration(g, y, NULL, (const void *[]){ x, NULL }, out, (enum rt_calibration)3, &ranges, &err), -EINVAL);
	ck_assert_str_eq(err.msg, "calibration method 3: 0 to 2 are supported");
	ck_assert_ptr_null(ranges);
	x[1] = 2;
	ck_assert_int_eq(calibration(g, y, NULL, (const void *[]){ x, NULL }, out, RT_CALIBRATE_MINMAX, &ranges, &err), 0);
	for (size_t i = 0; i < GT_ARRAY_SIZE(refused); i++) {
		const struct rt_options o = { .precision = { .int8 = RT_INT8_STATIC,
							     .ranges = i == 0 ? ranges : refused[i].ranges } };

		ck_assert_int_eq(rt_compile_outputs(i ? g : other, i ? &y : &z, 1, &o, &p, &err), -EINVAL);
		ck_assert_str_eq(err.msg, refused[i].message);
	}
	ck_assert_ptr_null(p);
}
END_TEST

/* 8-bit weights, a scale and a sum per output, padded to whole panels, and the bias. */
START_TEST(weights_take_a_quarter)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *y = rt_logits(rt_model_mlp(g, 1, (const int64_t[]){ 64, 32 }, 2));
	gt_auto(rt_program) *p = compile(g, y, 1), *fp32 = compile_as(g, y, 1, RT_INT8_OFF, NULL);

	ck_assert_uint_eq(rt_program_weight_bytes(fp32), (64 + 1) * 32 * 4);
	ck_assert_uint_eq(rt_program_weight_bytes(p), 64 * 32 + 3 * 32 * 4);
}
END_TEST

/* The definition of the rounding of one row. */
static void round_row(float *y, const float *x, int64_t n)
{
	float lo = 0, hi = 0;
	struct rt_i8_range r;

	for (int64_t i = 0; i < n; i++) {
		lo = fminf(lo, x[i]);
		hi = fmaxf(hi, x[i]);
	}
	r = rt_i8_range(lo, hi);
	for (int64_t i = 0; i < n; i++)
		y[i] = (float)(fmin(fmax(nearbyint((double)(x[i] * r.inverse)) + r.zero, 0), 255) - r.zero) * r.scale;
}

#define QAT_ROWS	5
#define QAT_IN		600 /* more than a chunk of the kernel */
#define QAT_OUT		7

START_TEST(training_rounds_as_inference_does)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(QAT_ROWS, QAT_IN)), *y, *loss;
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(QAT_OUT, QAT_IN), RT_INIT_NORMAL(1));
	struct rt_options o = { .threads = 2, .precision.qat = true, .debug.keep_gradients = true };
	float in[QAT_ROWS * QAT_IN], dy[QAT_ROWS * QAT_OUT], out[QAT_ROWS * QAT_OUT], rounded[QAT_ROWS * QAT_IN];
	gt_auto(rt_program) *qat = NULL, *int8 = NULL;
	struct rt_metrics m;
	struct gt_err err = { 0 };
	double sum = 0, size = 0;

	y = rt_linear(g, x, w, NULL);
	loss = rt_dot(g, y, rt_input(g, "dy", RT_F32, RT_SHAPE(QAT_ROWS, QAT_OUT)));
	ck_assert_msg(!rt_compile(g, loss, &o, &qat, &err), "%s", err.msg);
	int8 = compile(g, y, 2);
	for (int i = 0; i < QAT_ROWS * QAT_IN; i++)
		in[i] = rt_random_normal(1, 2, (uint64_t)i);
	for (int i = 0; i < QAT_ROWS * QAT_OUT; i++)
		dy[i] = rt_random_normal(1, 3, (uint64_t)i);
	memcpy(rt_value(int8, w), rt_value(qat, w), sizeof(float) * QAT_OUT * QAT_IN);
	ck_assert_msg(!rt_step(qat, (const void *[]){ in, dy }, &m, &err), "%s", err.msg);
	ck_assert_msg(!rt_run(int8, (const void *[]){ in, NULL }, (float *[]){ out }, &err), "%s", err.msg);
	for (int i = 0; i < QAT_ROWS * QAT_OUT; i++) {
		sum += (double)out[i] * (double)dy[i];
		size += fabs((double)out[i] * (double)dy[i]);
	}
	ck_assert_double_eq_tol(m.loss, sum, 1e-5 * size);
	for (int i = 0; i < QAT_ROWS; i++)
		round_row(rounded + i * QAT_IN, in + i * QAT_IN, QAT_IN);
	for (int j = 0; j < QAT_OUT; j++)
		for (int k = 0; k < QAT_IN; k++) {
			double want = 0;

			for (int i = 0; i < QAT_ROWS; i++)
				want += (double)dy[i * QAT_OUT + j] * (double)rounded[i * QAT_IN + k];
			ck_assert_double_eq_tol((double)rt_gradient(qat, w)[j * QAT_IN + k], want, 1e-5);
		}
}
END_TEST

START_TEST(quantisation_aware_training_is_for_f32)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 2, (const int64_t[]){ 3, 4 }, 2);
	const struct rt_options options[] = {
		{ .precision.qat = true },
		{ .precision = { .qat = true, .amp = RT_BF16 }, .optimizer.kind = RT_SGD },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(options); i++) {
		struct rt_program *p = NULL;
		struct gt_err err = { 0 };

		ck_assert_int_eq(rt_compile(g, loss, &options[i], &p, &err), -EINVAL);
		ck_assert_str_eq(err.msg, "quantisation-aware training is for programs in f32 that train");
	}
}
END_TEST

TCase *case_int8(void)
{
	TCase *tc = tcase_create("int8");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, products_are_exact_on_each_instruction_set);
	tcase_add_test(tc, gelu_of_sums_follows_its_definition);
	tcase_add_test(tc, each_instruction_set_quantizes_alike);
	tcase_add_test(tc, linear_layers_and_convolutions_follow_their_definition);
	tcase_add_test(tc, the_report_lists_tensors_that_stay_f32);
	tcase_add_test(tc, fused_products_give_the_same_bits);
	tcase_add_test(tc, values_that_are_not_finite_stay_visible);
	tcase_add_test(tc, new_parameters_are_quantized);
	tcase_add_test(tc, ranges_are_those_of_all_values);
	tcase_add_test(tc, calibrated_products_follow_their_definition);
	tcase_add_test(tc, unusable_calibrations_are_refused);
	tcase_add_test(tc, weights_take_a_quarter);
	tcase_add_test(tc, training_rounds_as_inference_does);
	tcase_add_test(tc, quantisation_aware_training_is_for_f32);
	tcase_add_test(tc, training_and_mixed_precision_are_refused);
	return tc;
}
