/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op cases on the CPU: results compared with the plain definition in double, gradients with its finite differences.
 */
#include <math.h>
#include <string.h>
#include "tests/graphs/generated.h"
#include "tests/unit/check_runtime.h"

#define MOST_ELEMENTS	8192 /* limit for all leaves of a case that the device check also uses: finite differences are slow */

/* Checked values: the loss of a graph, and `out` unless NULL. */
struct checked {
	const char *name;
	const struct rt_graph *g;
	struct rt_node *out, *loss;
	struct leaves l;
	uint64_t slice_bytes;
};

static double reference(const struct checked *c)
{
	double v = NAN;

	ck_assert_int_eq(rt_reference(c->g, c->loss, (const double *const *)c->l.value, &v, NULL), 0);
	return v;
}

/* Central difference of fourth order, with an error of h^4. h is so small that hardly any relu changes its branch. */
static double slope(const struct checked *c, double *x)
{
	const double h = 2e-6, at = *x;
	double f[4];
	const double step[4] = { -2, -1, 1, 2 };

	for (int i = 0; i < 4; i++) {
		*x = at + step[i] * h;
		f[i] = reference(c);
	}
	*x = at;
	return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* relu has no derivative at 0. With the fixed seed, no checked element is so near to 0 that its differences cross it. */
static void check_gradient(const struct checked *c, int leaf, struct rt_program *prog)
{
	const struct rt_node *n = rt_graph_leaf(c->g, leaf);
	int64_t count = rt_shape_elements(rt_node_shape(n)), stride = count > 40 ? count / 29 : 1;
	const float *got = rt_gradient(prog, n);
	double scale = 1e-3;

	ck_assert_ptr_nonnull(got);
	for (int64_t i = 0; i < count; i++)
		scale = fmax(scale, fabs((double)got[i]));
	for (int64_t i = 0; i < count; i += stride) {
		double want = slope(c, &c->l.value[leaf][i]);

		ck_assert_msg(fabs((double)got[i] - want) <= 2e-5 * scale, "%s: d %s[%lld] is %.9g, by differences %.9g", c->name,
			      rt_node_name(n), (long long)i, (double)got[i], want);
	}
}

static void check_forward(const struct checked *c, struct rt_program *prog)
{
	int64_t count = rt_shape_elements(rt_node_shape(c->out));
	gt_autofree double *want = gt_xcalloc((size_t)count, sizeof(*want));
	const float *got = rt_value(prog, c->out);
	double scale = 1e-3;

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(rt_reference(c->g, c->out, (const double *const *)c->l.value, want, NULL), 0);
	for (int64_t i = 0; i < count; i++)
		scale = fmax(scale, fabs(want[i]));
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(fabs((double)got[i] - want[i]) <= 3e-6 * scale, "%s: element %lld is %.9g, plainly %.9g", c->name,
			      (long long)i, (double)got[i], want[i]);
}

static void check_graph(const struct checked *c, bool fused, bool poison, int threads)
{
	gt_auto(rt_program) *prog = NULL;
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = !poison, .poison = poison, .no_fuse = !fused },
				  .threads = threads, .memory.logits_slice_bytes = c->slice_bytes };
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	double want = reference(c);

	ck_assert_msg(rt_compile(c->g, c->loss, &opt, &prog, &err) == 0, "%s: %s", c->name, err.msg);
	leaves_load(&c->l, c->g, prog);
	for (int twice = 0; twice < 2; twice++) /* gradients are assigned, not added to those of the previous step */
		ck_assert_msg(rt_step(prog, c->l.input, &m, &err) == 0, "%s: %s", c->name, err.msg);
	ck_assert_msg(fabs(m.loss - want) <= 1e-5 * fmax(1, fabs(want)), "%s: loss %.9g, plainly %.9g", c->name, m.loss, want);
	if (c->out && !poison)
		check_forward(c, prog);
	for (int i = 0; i < c->l.n; i++)
		if (rt_node_is_param(rt_graph_leaf(c->g, i)))
			check_gradient(c, i, prog);
}

static bool too_slow(const struct rt_case *k, const struct rt_graph *g)
{
	int64_t elements = 0;

	for (int i = 0; i < rt_graph_leaves(g); i++)
		elements += rt_shape_elements(rt_node_shape(rt_graph_leaf(g, i)));
	return elements > MOST_ELEMENTS && rt_case_applies(k, RT_CASE_DEVICE);
}

static void check_case(const struct rt_case *k, bool fused, bool poison, int threads)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_case_graph built = { 0 };
	struct gt_err err = { 0 };
	struct checked c = { .name = k->name, .g = g, .slice_bytes = k->slice_bytes };

	if (!rt_case_applies(k, RT_CASE_CPU))
		return;
	ck_assert_msg(rt_case_parse(k->graph, g, &built, &err) == 0, "%s: %s", k->name, err.msg);
	c.out = built.out;
	c.loss = built.loss;
	if (!too_slow(k, g)) {
		leaves_of_case(&c.l, k, g, &built, 42);
		check_graph(&c, fused, poison, threads);
		leaves_free(&c.l);
	}
	rt_case_clear(&built);
}

START_TEST(fused_matches_definition)
{
	check_case(&rt_cases[_i], true, false, 2);
}
END_TEST

START_TEST(unfused_matches_definition)
{
	check_case(&rt_cases[_i], false, false, 1);
}
END_TEST

START_TEST(shared_memory_changes_nothing)
{
	check_case(&rt_cases[_i], true, true, 2);
	check_case(&rt_cases[_i], false, true, 3);
}
END_TEST

/* Two inputs of different shapes, a result of a third shape; and one op twice, with different arguments. */
START_TEST(user_ops_match_their_definition)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct checked c = { .name = "user", .g = g };
	struct rt_node *b = rt_param(g, "b", RT_SHAPE(7), RT_INIT_ZEROS);
	struct rt_node *in[2] = { rt_relu(g, rt_param(g, "a", RT_SHAPE(7, 7), RT_INIT_ZEROS)), b }, *bumps[2];

	for (int i = 0; i < 2; i++)
		bumps[i] = rt_user(g, &gen_user_ops[GEN_BUMP], &b, gen_user_arg(GEN_BUMP, i));
	c.out = rt_add(g, rt_user(g, &gen_user_ops[GEN_TIMES], in, NULL), rt_mul(g, bumps[0], bumps[1]));
	c.loss = rt_dot(g, c.out, rt_input(g, "weights", RT_F32, *rt_node_shape(c.out)));
	leaves_make(&c.l, g, 1, 42);
	check_graph(&c, true, false, 2);
	check_graph(&c, false, false, 1);
	check_graph(&c, true, true, 2);
	check_graph(&c, false, true, 3);
	leaves_free(&c.l);
}
END_TEST

/* ---- ties ---- */
enum { SIDE = 4, DEEP = 3, TIED = SIDE * SIDE * DEEP };
static const struct {
	int axis; /* axis of a reduction; -1: windows */
	int window, stride, pad;
} ties[] = { { 1, 0, 0, 0 }, { 2, 0, 0, 0 }, { 3, 0, 0, 0 }, { -1, 2, 2, 0 }, { -1, 3, 1, 1 }, { -1, 3, 2, 1 } };

/* Returns the position of element k among the inputs of result i, in the order that defines "first". -1: outside. */
static int place(int which, int i, int k)
{
	int w = ties[which].window, out = w ? (SIDE + 2 * ties[which].pad - w) / ties[which].stride + 1 : 0, row, col;

	if (ties[which].axis == 1)
		return k < SIDE ? k * SIDE * DEEP + i : -1;
	if (ties[which].axis == 2)
		return k < SIDE ? (i / DEEP * SIDE + k) * DEEP + i % DEEP : -1;
	if (ties[which].axis == 3)
		return k < DEEP ? i * DEEP + k : -1;
	row = i / DEEP / out * ties[which].stride - ties[which].pad + k / w;
	col = i / DEEP % out * ties[which].stride - ties[which].pad + k % w;
	return k < w * w && row >= 0 && row < SIDE && col >= 0 && col < SIDE ? (row * SIDE + col) * DEEP + i % DEEP : -1;
}

/* The first of several equal maxima gets the whole gradient. All are below zero, the value of padding. */
START_TEST(the_first_of_several_maxima_has_the_gradient)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(1, SIDE, SIDE, DEEP), RT_INIT_ZEROS);
	struct rt_node *y = ties[_i].axis < 0 ? rt_max_pool(g, x, ties[_i].window, ties[_i].stride, ties[_i].pad) :
						rt_reduce(g, x, RT_MAX, ties[_i].axis);
	struct rt_node *loss = rt_dot(g, y, rt_input(g, "w", RT_F32, *rt_node_shape(y)));
	int results = (int)rt_shape_elements(rt_node_shape(y));
	float values[TIED], weights[TIED], want[TIED] = { 0 };
	struct rt_metrics m;

	for (int i = 0; i < TIED; i++) {
		values[i] = -1 - (float)(rt_random_u64(3, 0, (uint64_t)i) >> 20 & 1);
		weights[i] = (float)(i + 1);
	}
	for (int i = 0; i < results; i++) {
		int first = -1;

		for (int k = 0; k < TIED; k++)
			if (place(_i, i, k) >= 0 && (first < 0 || values[place(_i, i, k)] > values[first]))
				first = place(_i, i, k);
		want[first] += weights[i];
	}
	ck_assert_int_eq(rt_compile(g, loss, &(struct rt_options){ .debug.keep_gradients = true }, &prog, NULL), 0);
	memcpy(rt_value(prog, x), values, sizeof(values));
	ck_assert_int_eq(rt_step(prog, (const void *[]){ weights }, &m, NULL), 0);
	for (int i = 0; i < TIED; i++)
		ck_assert_msg(rt_gradient(prog, x)[i] == want[i], "element %d has the gradient %g, not %g", i,
			      (double)rt_gradient(prog, x)[i], (double)want[i]);
}
END_TEST

TCase *case_ops(void)
{
	TCase *t = tcase_create("ops");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, fused_matches_definition, 0, rt_n_cases);
	tcase_add_loop_test(t, unfused_matches_definition, 0, rt_n_cases);
	tcase_add_loop_test(t, shared_memory_changes_nothing, 0, rt_n_cases);
	tcase_add_test(t, user_ops_match_their_definition);
	return t;
}

TCase *case_ties(void)
{
	TCase *t = tcase_create("ties");

	tcase_add_loop_test(t, the_first_of_several_maxima_has_the_gradient, 0, GT_ARRAY_SIZE(ties));
	return t;
}
