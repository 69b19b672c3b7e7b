/* SPDX-License-Identifier: Apache-2.0 */
/* One program for batches of several shapes: padding has no effect, short batches cost less, and no batch allocates. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include "runtime/backend/program.h"
#include "tests/unit/check_runtime.h"

#define LONG	48
#define SHORT	16
#define ROWS	4 /* of both shapes */
#define VOCAB	64
#ifdef __SANITIZE_ADDRESS__
#define FAULTS_ALLOWED	100000
#else
#define FAULTS_ALLOWED	10 /* in 20 steps */
#endif

static struct rt_node *declare(struct rt_graph *g, int64_t rows, int64_t seq)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = rows, .seq = seq, .layers = 2, .width = 32, .heads = 2,
							.vocab = VOCAB, .positions = LONG });
}

struct family {
	struct rt_graph *g[2];
	struct rt_program *p;
};

static void open_family(struct family *f, struct rt_options opt)
{
	struct rt_node *loss[2];
	struct gt_err err = { 0 };

	for (int i = 0; i < 2; i++) {
		f->g[i] = rt_graph_new();
		loss[i] = declare(f->g[i], ROWS, i ? SHORT : LONG);
	}
	ck_assert_msg(rt_compile_shapes((const struct rt_graph *const *)f->g, loss, 2, &opt, &f->p, &err) == 0, "%s", err.msg);
}

static void close_family(struct family *f)
{
	rt_program_free(f->p);
	rt_graph_free(f->g[0]);
	rt_graph_free(f->g[1]);
}

/* Fills batch t with documents of 1 to `width` targets; padding has the id `filler`. Returns the targets that count. */
static int fill(uint64_t t, int64_t width, int64_t longest, int32_t filler, int32_t *x, int32_t *y)
{
	int count = 0;

	for (int64_t r = 0; r < ROWS; r++) {
		int64_t len = 1 + (int64_t)(rt_random_u64(4, t, (uint64_t)r) % (uint64_t)longest);

		for (int64_t i = 0; i < width; i++) {
			x[r * width + i] = i < len ? (int32_t)(rt_random_u64(5, t, (uint64_t)(r * LONG + i)) % VOCAB) : filler;
			y[r * width + i] = i < len ? (x[r * width + i] * 7 + 3) % VOCAB : RT_IGNORE;
		}
		count += (int)len;
	}
	return count;
}

/* Fills batch t; every other batch is short. */
static double one_step(struct rt_program *p, uint64_t t, bool shapes, int32_t filler)
{
	int32_t x[ROWS * LONG], y[ROWS * LONG];
	int64_t longest = t % 2 ? SHORT : LONG, width = shapes ? longest : LONG;
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };

	if (shapes)
		rt_use_shape(p, t % 2);
	rt_set_weight(p, fill(t, width, longest, filler, x, y));
	ck_assert_msg(rt_step(p, (const void *[]){ x, y }, &m, &err) == 0, "%s", err.msg);
	return m.loss;
}

/* Options with different memory and order: plain, clipped, accumulated, checkpointed, reduced precision. */
static const struct rt_options ways[] = {
	{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } },
	{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .clip_norm = 0.5 },
	{ .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 }, .accum = 3 },
	{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .memory.checkpoint = 2, .debug.no_early_update = true },
	{ .optimizer = { .kind = RT_ADAMW8, .lr = 1e-3 } },
	{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .debug = { .no_fuse = true, .poison = true } },
	{ .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .debug.zero_gradients = true, .memory.logits_slice_bytes = 4096 },
	{ .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 3, .debug = { .no_reuse = true, .keep_gradients = true } },
};

/*
 * The same documents padded to one length, or to the shorter of two if they fit: the same losses and parameters except
 * for rounding of sums in another order.
 */
START_TEST(short_batches_train_as_padded_ones)
{
	struct rt_options opt = ways[_i];
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *one = NULL;
	struct family f;
	struct gt_err err = { 0 };

	opt.seed = 5;
	open_family(&f, opt);
	ck_assert_msg(rt_compile(g, declare(g, ROWS, LONG), &opt, &one, &err) == 0, "%s", err.msg);
	for (uint64_t t = 0; t < 24; t++) {
		double a = one_step(f.p, t, true, 0), b = one_step(one, t, false, 0);

		ck_assert_msg(fabs(a - b) < 2e-5 * b, "batch %d: %.9g and %.9g", (int)t, a, b);
	}
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		const float *a = rt_value(f.p, rt_graph_leaf(f.g[0], i)), *b = rt_value(one, n);

		for (int64_t k = 0; rt_node_is_param(n) && k < rt_shape_elements(rt_node_shape(n)); k++)
			ck_assert_msg(fabsf(a[k] - b[k]) < 2e-4f + (_i == 4 ? 2e-3f : 0), "%s[%d]: %g and %g", rt_node_name(n),
				      (int)k, (double)a[k], (double)b[k]);
	}
	close_family(&f);
}
END_TEST

/* With another token in the padding the bits are the same, so padding affects no loss and no gradient. */
START_TEST(padding_gives_no_loss_and_no_gradient)
{
	struct rt_options opt = ways[_i];
	struct family a, b;

	opt.seed = 5;
	open_family(&a, opt);
	open_family(&b, opt);
	for (uint64_t t = 0; t < 12; t++) {
		double x = one_step(a.p, t, true, 0), y = one_step(b.p, t, true, VOCAB - 1);

		ck_assert_msg(!memcmp(&x, &y, sizeof(x)), "batch %d: %.17g and %.17g", (int)t, x, y);
	}
	close_family(&a);
	close_family(&b);
}
END_TEST

START_TEST(the_memory_is_that_of_the_largest_shape)
{
	struct rt_options opt = ways[_i];
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *one = NULL;
	struct family f;

	open_family(&f, opt);
	ck_assert_int_eq(rt_compile(g, declare(g, ROWS, LONG), &opt, &one, NULL), 0);
	ck_assert_uint_eq(rt_run_arena_bytes(f.p), one->plan.arena_bytes);
	ck_assert_uint_lt(f.p->shapes[1].arena_bytes - f.p->shapes[1].pinned_bytes,
			  f.p->shapes[0].arena_bytes - f.p->shapes[0].pinned_bytes);
	ck_assert_double_eq(rt_program_flops(f.p), rt_program_flops(one));
	rt_use_shape(f.p, 1);
	ck_assert_double_lt(rt_program_flops(f.p), rt_program_flops(one) / 2.9); /* a third of the tokens */
	close_family(&f);
}
END_TEST

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

START_TEST(batches_of_changing_shapes_fault_no_page)
{
	long fewest = LONG_MAX;
	struct family f;

	open_family(&f, ways[0]);
	for (uint64_t t = 0; t < 4; t++)
		one_step(f.p, t, true, 0);
	for (int stretch = 0; stretch < 5 && fewest > FAULTS_ALLOWED; stretch++) {
		long before = faults();

		for (uint64_t t = 0; t < 20; t++)
			one_step(f.p, t, true, 0);
		fewest = GT_MIN(fewest, faults() - before);
	}
	close_family(&f);
	ck_assert_int_le(fewest, FAULTS_ALLOWED);
}
END_TEST

/* A rank may get only padding of a batch. It then takes part with weight 0. Without other ranks that is an error. */
START_TEST(a_batch_of_padding_counts_nothing)
{
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 2, .seed = 5 };
	gt_auto(rt_graph) *g = rt_graph_new(), *h = rt_graph_new();
	gt_auto(rt_program) *a = NULL, *b = NULL;
	int32_t x[ROWS * LONG], y[ROWS * LONG], nothing[ROWS * LONG];
	struct rt_metrics m, alone;
	struct gt_err err = { 0 };

	for (int i = 0; i < ROWS * LONG; i++)
		nothing[i] = RT_IGNORE;
	ck_assert_int_eq(rt_compile(g, declare(g, ROWS, LONG), &opt, &a, &err), 0);
	opt.accum = 1;
	ck_assert_int_eq(rt_compile(h, declare(h, ROWS, LONG), &opt, &b, &err), 0);
	fill(0, LONG, LONG, 0, x, y);
	ck_assert_int_eq(rt_step(a, (const void *[]){ x, nothing }, &m, &err), -ERANGE);
	ck_assert_msg(strstr(err.msg, "every target is ignored") != NULL, "%s", err.msg);
	rt_set_weight(a, 0);
	ck_assert_int_eq(rt_step(a, (const void *[]){ x, nothing }, &m, &err), 0);
	ck_assert(m.loss == 0 && !m.updated);
	rt_set_weight(a, 5);
	ck_assert_int_eq(rt_step(a, (const void *[]){ x, y }, &m, &err), 0);
	ck_assert_int_eq(rt_step(b, (const void *[]){ x, y }, &alone, &err), 0);
	ck_assert(m.updated && m.update_loss == alone.update_loss);
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		const float *v = rt_value(a, n), *w = rt_value(b, rt_graph_leaf(h, i));

		for (int64_t k = 0; rt_node_is_param(n) && k < rt_shape_elements(rt_node_shape(n)); k++)
			ck_assert_msg(fabsf(v[k] - w[k]) < 1e-6f, "%s[%d]: %g and %g", rt_node_name(n), (int)k, (double)v[k],
				      (double)w[k]);
	}
}
END_TEST

/*
 * Parameters are rounded once, not in each run and not after a change of the shape. A write through an old address is
 * therefore not visible. rt_value() and rt_write_param() make the program read its parameters again.
 */
START_TEST(inference_rounds_parameters_once)
{
	struct rt_graph *g[2] = { rt_graph_new(), rt_graph_new() };
	struct rt_node *loss[2];
	gt_auto(rt_program) *p = NULL;
	const float x[4 * 6] = { 1, -2, 3, 4, 5, -6, 7 };
	const int32_t y[4] = { 0, 1, 2, 3 };
	const void *const inputs[] = { x, y };
	float *w, changed[5 * 6];
	double first, other, now;
	struct gt_err err = { 0 };

	for (int i = 0; i < 2; i++)
		loss[i] = rt_model_mlp(g[i], i ? 2 : 4, (const int64_t[]){ 6, 5 }, 2);
	ck_assert_int_eq(rt_compile_shapes((const struct rt_graph *const *)g, loss, 2,
					   &(struct rt_options){ .precision.amp = RT_BF16 }, &p, &err), 0);
	w = rt_value(p, rt_graph_node(g[0], "fc0.weight"));
	ck_assert_int_eq(rt_eval(p, inputs, &first, &err), 0);
	memcpy(changed, w, sizeof(changed));
	for (int i = 0; i < 5 * 6; i++)
		w[i] = changed[i] = changed[i] + (float)(i % 3);
	rt_use_shape(p, 1);
	ck_assert_int_eq(rt_eval(p, inputs, &other, &err), 0);
	rt_use_shape(p, 0);
	ck_assert_int_eq(rt_eval(p, inputs, &now, &err), 0);
	ck_assert_double_eq(now, first);
	rt_value(p, rt_graph_node(g[0], "fc0.weight"));
	ck_assert_int_eq(rt_eval(p, inputs, &now, &err), 0);
	ck_assert_double_ne(now, first);
	memset(w, 0, sizeof(changed));
	ck_assert_int_eq(rt_write_param(p, rt_graph_node(g[0], "fc0.weight"), changed, &err), 0);
	ck_assert_int_eq(rt_eval(p, inputs, &first, &err), 0);
	ck_assert_double_eq(now, first);
	rt_graph_free(g[0]);
	rt_graph_free(g[1]);
}
END_TEST

/* Folded parameters are the same in all shapes. */
START_TEST(inference_of_two_shapes_folds_for_both)
{
	struct rt_graph *g[2] = { rt_graph_new(), rt_graph_new() };
	struct rt_node *loss[2];
	gt_auto(rt_program) *p = NULL;
	static float x[8 * 32 * 32 * 3];
	int32_t y[8];
	double first[2], again[2];
	struct gt_err err = { 0 };

	for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
		x[i] = rt_random_normal(1, 2, i);
	for (int i = 0; i < 8; i++)
		y[i] = i;
	for (int i = 0; i < 2; i++)
		loss[i] = rt_model_resnet_small(g[i], i ? 2 : 8, 32, 20, 10);
	ck_assert_msg(rt_compile_shapes((const struct rt_graph *const *)g, loss, 2, &(struct rt_options){ .debug.poison = true },
					&p,
					&err) == 0, "%s", err.msg);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 2; i++) {
			rt_use_shape(p, i);
			ck_assert_msg(rt_eval(p, (const void *[]){ x, y }, round ? &again[i] : &first[i], &err) == 0, "%s",
				      err.msg);
		}
	ck_assert(first[0] == again[0] && first[1] == again[1]);
	rt_graph_free(g[0]);
	rt_graph_free(g[1]);
}
END_TEST

START_TEST(graphs_of_one_program_are_one_model)
{
	struct rt_graph *g[2] = { rt_graph_new(), rt_graph_new() };
	struct rt_node *loss[2] = { declare(g[0], 4, LONG),
				    rt_model_gpt(g[1], &(struct rt_gpt_config){ .batch = 4, .seq = SHORT, .layers = _i ? 2 : 3,
										.width = 32, .heads = 2, .vocab = VOCAB }) };
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_compile_shapes((const struct rt_graph *const *)g, loss, 2,
					   &(struct rt_options){ .optimizer = { .kind = RT_SGD } }, &p, &err), -EINVAL);
	ck_assert_msg(strstr(err.msg, _i ? "wpe (48,32)" : "all graphs must be the same model") != NULL, "%s", err.msg);
	ck_assert_ptr_null(p);
	rt_graph_free(g[0]);
	rt_graph_free(g[1]);
}
END_TEST

TCase *case_shapes(void)
{
	TCase *t = tcase_create("shapes");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, short_batches_train_as_padded_ones, 0, GT_ARRAY_SIZE(ways));
	tcase_add_loop_test(t, padding_gives_no_loss_and_no_gradient, 0, GT_ARRAY_SIZE(ways));
	tcase_add_loop_test(t, the_memory_is_that_of_the_largest_shape, 0, GT_ARRAY_SIZE(ways));
	tcase_add_test(t, batches_of_changing_shapes_fault_no_page);
	tcase_add_test(t, a_batch_of_padding_counts_nothing);
	tcase_add_test(t, inference_of_two_shapes_folds_for_both);
	tcase_add_test(t, inference_rounds_parameters_once);
	tcase_add_loop_test(t, graphs_of_one_program_are_one_model, 0, 2);
	return t;
}
