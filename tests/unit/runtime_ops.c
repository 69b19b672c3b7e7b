/* SPDX-License-Identifier: Apache-2.0 */
/* Every op: forward against its plain definition in double, gradient against finite differences of that definition. */
#include <math.h>
#include <string.h>
#include "tests/unit/check_runtime.h"

#define IDS	7 /* ids of all cases are below this */

static struct rt_node *p(struct rt_graph *g, const char *name, struct rt_shape s)
{
	return rt_param(g, name, s, RT_INIT_ZEROS);
}

/* Sum of y times given weights. */
static struct rt_node *weigh(struct rt_graph *g, struct rt_node *y, struct rt_node **ret_out)
{
	*ret_out = y;
	return rt_dot(g, y, rt_input(g, "weights", RT_F32, *rt_node_shape(y)));
}

static struct rt_node *linear(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_linear(g, p(g, "x", RT_SHAPE(3, 5, 7)), p(g, "w", RT_SHAPE(11, 7)), NULL), out);
}

static struct rt_node *linear_bias(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_linear(g, p(g, "x", RT_SHAPE(5, 33)), p(g, "w", RT_SHAPE(17, 33)), p(g, "b", RT_SHAPE(17))), out);
}

static struct rt_node *linear_gelu(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *y = rt_linear(g, p(g, "x", RT_SHAPE(5, 9)), p(g, "w", RT_SHAPE(19, 9)), p(g, "b", RT_SHAPE(19)));

	return weigh(g, rt_gelu(g, y), out);
}

static struct rt_node *linear_relu(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *y = rt_linear(g, p(g, "x", RT_SHAPE(5, 9)), p(g, "w", RT_SHAPE(19, 9)), p(g, "b", RT_SHAPE(19)));

	return weigh(g, rt_relu(g, y), out);
}

/* The same weight twice: its gradient is a sum. */
static struct rt_node *linear_shared(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *w = p(g, "w", RT_SHAPE(9, 9)), *b = p(g, "b", RT_SHAPE(9));

	return weigh(g, rt_linear(g, rt_linear(g, p(g, "x", RT_SHAPE(5, 9)), w, b), w, b), out);
}

static struct rt_node *embedding(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *ids = rt_input(g, "ids", RT_I32, RT_SHAPE(3, 5));

	return weigh(g, rt_embedding(g, ids, p(g, "table", RT_SHAPE(IDS, 21)), p(g, "positions", RT_SHAPE(6, 21))), out);
}

static struct rt_node *embedding_plain(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *ids = rt_input(g, "ids", RT_I32, RT_SHAPE(1, 19));

	return weigh(g, rt_embedding(g, ids, p(g, "table", RT_SHAPE(IDS + 2, 5)), NULL), out);
}

static struct rt_node *layernorm(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_layernorm(g, p(g, "x", RT_SHAPE(3, 2, 37)), p(g, "gain", RT_SHAPE(37)), p(g, "bias", RT_SHAPE(37)),
				     1e-5f), out);
}

/* The residual stream: the sum goes on beside its norm. */
static struct rt_node *residual_norm(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *x = p(g, "x", RT_SHAPE(4, 19)), *w = p(g, "w", RT_SHAPE(19, 19));
	struct rt_node *s = rt_add(g, x, rt_linear(g, x, w, NULL));
	struct rt_node *y = rt_layernorm(g, s, p(g, "gain", RT_SHAPE(19)), p(g, "bias", RT_SHAPE(19)), 1e-5f);

	return weigh(g, rt_add(g, s, rt_linear(g, y, w, NULL)), out);
}

static struct rt_node *attention(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_attention(g, p(g, "qkv", RT_SHAPE(2, 13, 45)), 3), out);
}

/* More queries than one block has, and not a multiple. */
static struct rt_node *attention_blocks(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_attention(g, p(g, "qkv", RT_SHAPE(1, 131, 12)), 1), out);
}

static struct rt_node *attention_one(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_attention(g, p(g, "qkv", RT_SHAPE(2, 1, 6)), 2), out);
}

static struct rt_node *gelu(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_gelu(g, p(g, "x", RT_SHAPE(67))), out);
}

static struct rt_node *relu(struct rt_graph *g, struct rt_node **out)
{
	return weigh(g, rt_relu(g, p(g, "x", RT_SHAPE(67))), out);
}

/* One gradient for two tensors, one tensor used three times. */
static struct rt_node *add_shared(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *a = p(g, "a", RT_SHAPE(5, 7)), *b = p(g, "b", RT_SHAPE(5, 7)), *s = rt_add(g, a, b);

	s = rt_add(g, rt_gelu(g, s), rt_add(g, s, s));
	return weigh(g, rt_add(g, rt_add(g, s, a), rt_relu(g, rt_add(g, b, b))), out);
}

static struct rt_node *dot(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *a = p(g, "a", RT_SHAPE(5, 7)), *b = p(g, "b", RT_SHAPE(5, 7));

	*out = NULL;
	return rt_dot(g, rt_add(g, a, b), rt_add(g, b, a));
}

static struct rt_node *cross_entropy(struct rt_graph *g, struct rt_node **out)
{
	*out = p(g, "logits", RT_SHAPE(3, 5, 23));
	return rt_cross_entropy(g, *out, rt_input(g, "targets", RT_I32, RT_SHAPE(3, 5)));
}

static struct rt_node *projection(struct rt_graph *g, struct rt_node **out)
{
	struct rt_node *y = rt_linear(g, p(g, "x", RT_SHAPE(3, 5, 9)), p(g, "w", RT_SHAPE(23, 9)), p(g, "b", RT_SHAPE(23)));

	*out = NULL;
	return rt_cross_entropy(g, y, rt_input(g, "targets", RT_I32, RT_SHAPE(15)));
}

static struct rt_node *gpt(struct rt_graph *g, struct rt_node **out)
{
	*out = NULL;
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 2, .seq = 9, .layers = 2, .width = 12, .heads = 3, .vocab = IDS,
							.positions = 11 });
}

static struct rt_node *mlp(struct rt_graph *g, struct rt_node **out)
{
	*out = NULL;
	return rt_model_mlp(g, 5, (const int64_t[]){ 13, 17, 9, IDS }, 4);
}

static const struct op_case cases[] = {
	{ "linear", linear, 0 },
	{ "linear_bias", linear_bias, 0 },
	{ "linear_gelu", linear_gelu, 0 },
	{ "linear_relu", linear_relu, 0 },
	{ "linear_shared", linear_shared, 0 },
	{ "embedding", embedding, 0 },
	{ "embedding_plain", embedding_plain, 0 },
	{ "layernorm", layernorm, 0 },
	{ "residual_norm", residual_norm, 0 },
	{ "attention", attention, 0 },
	{ "attention_blocks", attention_blocks, 0 },
	{ "attention_one", attention_one, 0 },
	{ "gelu", gelu, 0 },
	{ "relu", relu, 0 },
	{ "add_shared", add_shared, 0 },
	{ "dot", dot, 0 },
	{ "cross_entropy", cross_entropy, 0 },
	{ "projection", projection, 0 },
	{ "projection_sliced", projection, 4 * 32 * 4 }, /* slices of 4, 4, 4 and 3 rows */
	{ "gpt", gpt, 0 },
	{ "mlp", mlp, 0 },
};

static double reference(const struct rt_graph *g, const struct rt_node *loss, const struct leaves *l)
{
	double v = NAN;

	ck_assert_int_eq(rt_reference(g, loss, (const double *const *)l->value, &v, NULL), 0);
	return v;
}

/* Central difference of fourth order: error h^4. So near that hardly any relu changes sides. */
static double slope(const struct rt_graph *g, const struct rt_node *loss, const struct leaves *l, double *x)
{
	const double h = 2e-6, at = *x;
	double f[4];
	const double step[4] = { -2, -1, 1, 2 };

	for (int i = 0; i < 4; i++) {
		*x = at + step[i] * h;
		f[i] = reference(g, loss, l);
	}
	*x = at;
	return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h);
}

/* relu has no slope at 0: elements whose difference quotient straddles it would be wrong, values are kept off by luck of
 * a fixed seed. */
static void check_gradient(const struct op_case *k, const struct rt_graph *g, const struct rt_node *loss, struct leaves *l,
			   int leaf, struct rt_program *prog)
{
	const struct rt_node *n = rt_graph_leaf(g, leaf);
	int64_t count = rt_shape_elements(rt_node_shape(n)), stride = count > 40 ? count / 29 : 1;
	const float *got = rt_gradient(prog, n);
	double scale = 1e-3;

	ck_assert_ptr_nonnull(got);
	for (int64_t i = 0; i < count; i++)
		scale = fmax(scale, fabs((double)got[i]));
	for (int64_t i = 0; i < count; i += stride) {
		double want = slope(g, loss, l, &l->value[leaf][i]);

		ck_assert_msg(fabs((double)got[i] - want) <= 2e-5 * scale, "%s: d %s[%lld] is %.9g, by differences %.9g", k->name,
			      rt_node_name(n), (long long)i, (double)got[i], want);
	}
}

static void check_forward(const struct op_case *k, const struct rt_graph *g, const struct rt_node *out, const struct leaves *l,
			  struct rt_program *prog)
{
	int64_t count = rt_shape_elements(rt_node_shape(out));
	gt_autofree double *want = gt_xcalloc((size_t)count, sizeof(*want));
	const float *got = rt_value(prog, out);
	double scale = 1e-3;

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(rt_reference(g, out, (const double *const *)l->value, want, NULL), 0);
	for (int64_t i = 0; i < count; i++)
		scale = fmax(scale, fabs(want[i]));
	for (int64_t i = 0; i < count; i++)
		ck_assert_msg(fabs((double)got[i] - want[i]) <= 3e-6 * scale, "%s: element %lld is %.9g, plainly %.9g", k->name,
			      (long long)i, (double)got[i], want[i]);
}

static void check_case(const struct op_case *k, bool fused, bool poison, int threads)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *prog = NULL;
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_reuse = !poison, .poison = poison, .no_fuse = !fused },
				  .threads = threads, .memory.logits_slice_bytes = k->slice_bytes };
	struct rt_node *out = NULL, *loss = k->build(g, &out);
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	struct leaves l;
	double want;

	ck_assert_msg(rt_compile(g, loss, &opt, &prog, &err) == 0, "%s: %s", k->name, err.msg);
	leaves_make(&l, g, IDS, 42);
	leaves_load(&l, g, prog);
	want = reference(g, loss, &l);
	for (int twice = 0; twice < 2; twice++) /* gradients are assigned, not added to those of the step before */
		ck_assert_msg(rt_step(prog, l.input, &m, &err) == 0, "%s: %s", k->name, err.msg);
	ck_assert_msg(fabs(m.loss - want) <= 1e-5 * fmax(1, fabs(want)), "%s: loss %.9g, plainly %.9g", k->name, m.loss, want);
	if (out && !poison)
		check_forward(k, g, out, &l, prog);
	for (int i = 0; i < l.n; i++)
		if (rt_node_is_param(rt_graph_leaf(g, i)))
			check_gradient(k, g, loss, &l, i, prog);
	leaves_free(&l);
}

/* The cases of this file, then those of runtime_nn.c. */
static const struct op_case *case_at(int i)
{
	return i < (int)GT_ARRAY_SIZE(cases) ? &cases[i] : &nn_cases[i - (int)GT_ARRAY_SIZE(cases)];
}

START_TEST(fused_matches_definition)
{
	check_case(case_at(_i), true, false, 2);
}
END_TEST

START_TEST(unfused_matches_definition)
{
	check_case(case_at(_i), false, false, 1);
}
END_TEST

START_TEST(shared_memory_changes_nothing)
{
	check_case(case_at(_i), true, true, 2);
	check_case(case_at(_i), false, true, 3);
}
END_TEST

/* ---- ties ---- */
enum { SIDE = 4, DEEP = 3, TIED = SIDE * SIDE * DEEP };
static const struct {
	int axis; /* of a reduction; -1: windows */
	int window, stride, pad;
} ties[] = { { 1, 0, 0, 0 }, { 2, 0, 0, 0 }, { 3, 0, 0, 0 }, { -1, 2, 2, 0 }, { -1, 3, 1, 1 }, { -1, 3, 2, 1 } };

/* Where element k of what result i is the maximum of lies, in the order in which "first" is meant; -1: nowhere. */
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

/* Of several largest numbers the first has the gradient: once, and all of it. All are below zero, which padding is. */
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
	int n = (int)GT_ARRAY_SIZE(cases) + n_nn_cases;

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, fused_matches_definition, 0, n);
	tcase_add_loop_test(t, unfused_matches_definition, 0, n);
	tcase_add_loop_test(t, shared_memory_changes_nothing, 0, n);
	return t;
}

TCase *case_ties(void)
{
	TCase *t = tcase_create("ties");

	tcase_add_loop_test(t, the_first_of_several_maxima_has_the_gradient, 0, GT_ARRAY_SIZE(ties));
	return t;
}
