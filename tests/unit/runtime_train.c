/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers, determinism, learning, and a step without allocations. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "runtime/math/pixels.h"
#include "runtime/data/loader.h"
#include "tests/unit/check_runtime.h"

#define N	37
#ifdef __SANITIZE_ADDRESS__
#define FAULTS_ALLOWED	100000 /* AddressSanitizer delays the reuse of freed memory */
#else
#define FAULTS_ALLOWED	10 /* in 20 steps */
#endif

/* One parameter whose gradient is the step's input. */
static struct rt_program *one_param(struct rt_graph *g, struct rt_optimizer o)
{
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(N), RT_INIT_NORMAL(1));
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_compile(g, rt_dot(g, w, rt_input(g, "gradient", RT_F32, RT_SHAPE(N))),
				 &(struct rt_options){ .optimizer = o, .seed = 3 }, &p, &err) == 0, "%s", err.msg);
	return p;
}

static void step_with(struct rt_program *p, uint64_t t, double gradient[N])
{
	float g[N];
	struct rt_metrics m;

	for (uint64_t i = 0; i < N; i++) {
		g[i] = rt_random_normal(11, t, i) * (i % 5 ? 1 : 1e-4f);
		gradient[i] = (double)g[i];
	}
	ck_assert_int_eq(rt_step(p, (const void *[]){ g }, &m, NULL), 0);
	ck_assert_int_eq(m.step, (int64_t)t);
}

static void compare(struct rt_program *p, const struct rt_node *w, const double *want)
{
	for (int i = 0; i < N; i++)
		ck_assert_double_eq_tol((double)rt_value(p, w)[i], want[i], 3e-6 * fmax(1, fabs(want[i])));
}

START_TEST(adamw_follows_its_definition)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	const double lr = 1e-2, b1 = 0.9, b2 = 0.999, eps = 1e-8, wd = 0.05;
	gt_auto(rt_program) *p = one_param(g, (struct rt_optimizer){ .kind = RT_ADAMW, .lr = lr, .weight_decay = wd });
	const struct rt_node *node = rt_graph_leaf(g, 0);
	double w[N], m[N] = { 0 }, v[N] = { 0 }, d[N];

	for (int i = 0; i < N; i++)
		w[i] = (double)rt_value(p, node)[i];
	for (uint64_t t = 1; t <= 100; t++) {
		step_with(p, t, d);
		for (int i = 0; i < N; i++) {
			w[i] *= 1 - lr * wd;
			m[i] = b1 * m[i] + (1 - b1) * d[i];
			v[i] = b2 * v[i] + (1 - b2) * d[i] * d[i];
			w[i] -= lr * (m[i] / (1 - pow(b1, (double)t))) / (sqrt(v[i] / (1 - pow(b2, (double)t))) + eps);
		}
	}
	compare(p, node, w);
}
END_TEST

START_TEST(sgd_follows_its_definition)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	const double lr = 1e-2, momentum = _i ? 0.9 : 0, wd = 0.01;
	gt_auto(rt_program) *p = one_param(g, (struct rt_optimizer){ .kind = RT_SGD, .lr = lr, .momentum = momentum,
								     .weight_decay = wd });
	const struct rt_node *node = rt_graph_leaf(g, 0);
	double w[N], m[N] = { 0 }, d[N];

	for (int i = 0; i < N; i++)
		w[i] = (double)rt_value(p, node)[i];
	for (uint64_t t = 1; t <= 100; t++) {
		step_with(p, t, d);
		for (int i = 0; i < N; i++) {
			m[i] = momentum * m[i] + d[i] + wd * w[i];
			w[i] -= lr * m[i];
		}
	}
	compare(p, node, w);
}
END_TEST

static const struct rt_gpt_config small = { .batch = 4, .seq = 64, .layers = 2, .width = 64, .heads = 4, .vocab = 256 };

struct training {
	struct rt_graph *g;
	struct rt_program *p;
	struct rt_loader *text;
};

static void training_start(struct training *t, int threads)
{
	struct gt_err err = { 0 };
	struct rt_options opt = { .threads = threads, .seed = 5,
				  .optimizer = { .kind = RT_ADAMW, .lr = 3e-3, .weight_decay = 0.01 } };
	struct rt_loader_options text = { .part = RT_PART_TRAIN, .rows = small.batch, .seq = small.seq, .seed = 5, .workers = 1,
					  .prefetch = 2 };

	memset(t, 0, sizeof(*t));
	t->g = rt_graph_new();
	ck_assert_msg(rt_compile(t->g, rt_model_gpt(t->g, &small), &opt, &t->p, &err) == 0, "%s", err.msg);
	ck_assert_msg(rt_loader_open(&text, &t->text, &err) == 0, "%s", err.msg);
}

static void training_end(struct training *t)
{
	rt_program_free(t->p);
	rt_graph_free(t->g);
	rt_loader_close(t->text);
}

static double training_step(struct training *t, uint64_t i)
{
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	struct rt_batch b;

	ck_assert_msg(rt_loader_next(t->text, &b, &err) == 0 && b.ticket == i, "%s", err.msg);
	ck_assert_msg(rt_step(t->p, (const void *[]){ b.x, b.y }, &m, &err) == 0, "%s", err.msg);
	return m.loss;
}

static double held_out(struct training *t)
{
	struct rt_loader_options text = { .part = RT_PART_HELD_OUT, .rows = small.batch, .seq = small.seq, .seed = 1 };
	struct rt_loader *held = NULL;
	double sum = 0;

	ck_assert_int_eq(rt_loader_open(&text, &held, NULL), 0);
	for (uint64_t i = 0; i < 4; i++) {
		struct rt_batch b;
		double loss = NAN;

		ck_assert_int_eq(rt_loader_next(held, &b, NULL), 0);
		ck_assert_int_eq(rt_eval(t->p, (const void *[]){ b.x, b.y }, &loss, NULL), 0);
		sum += loss / 4;
	}
	rt_loader_close(held);
	return sum;
}

START_TEST(two_runs_give_the_same_bits)
{
	struct training a, b;

	training_start(&a, 2);
	training_start(&b, 2);
	for (uint64_t i = 0; i < 10; i++) {
		double x = training_step(&a, i), y = training_step(&b, i);

		ck_assert_msg(!memcmp(&x, &y, sizeof(x)), "step %llu: %.17g and %.17g", (unsigned long long)i, x, y);
	}
	training_end(&a);
	training_end(&b);
}
END_TEST

START_TEST(evaluation_changes_nothing)
{
	struct training a, b;

	training_start(&a, 2);
	training_start(&b, 2);
	for (uint64_t i = 0; i < 5; i++) {
		double x = training_step(&a, i), y;

		held_out(&b);
		y = training_step(&b, i);
		ck_assert_msg(!memcmp(&x, &y, sizeof(x)), "step %llu: %.17g and %.17g", (unsigned long long)i, x, y);
	}
	training_end(&a);
	training_end(&b);
}
END_TEST

/*
 * A model that uses only the frequencies of bytes has a loss of 3.2 nats on the licence texts. A lower loss means that
 * context is used.
 */
START_TEST(a_gpt_generalises_to_held_out_text)
{
	struct training t;
	double before, after;

	training_start(&t, 0);
	before = held_out(&t);
	for (uint64_t i = 0; i < 400; i++)
		training_step(&t, i);
	after = held_out(&t);
	ck_assert_double_eq_tol(before, log(256), 0.2);
	ck_assert_msg(after < 2.85, "held-out loss %.3f before, %.3f after", before, after);
	training_end(&t);
}
END_TEST

static long faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

/* The kernel may split or move pages at any time, so the interval with the fewest faults counts. */
START_TEST(steps_after_the_second_fault_no_page)
{
	struct training t;
	long fewest = LONG_MAX;
	uint64_t step = 0;

	training_start(&t, 2);
	while (step < 3)
		training_step(&t, step++);
	for (int stretch = 0; stretch < 5 && fewest > FAULTS_ALLOWED; stretch++) {
		long before = faults();

		for (int i = 0; i < 20; i++)
			training_step(&t, step++);
		fewest = GT_MIN(fewest, faults() - before);
	}
	training_end(&t);
	ck_assert_int_le(fewest, FAULTS_ALLOWED);
}
END_TEST

/* Images as bytes and as the loader's floats give the same losses and parameters, bit for bit. */
START_TEST(images_as_bytes_train_the_same)
{
	static const struct rt_options ways[] = {
		{ .optimizer = { .kind = RT_SGD, .lr = 0.01, .momentum = 0.9 } },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.01 }, .precision.amp = RT_BF16 },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.01 }, .memory.checkpoint = 3, .debug.poison = true },
		{ .optimizer = { .kind = RT_SGD, .lr = 0.01 }, .accum = 2, .debug.no_fuse = true },
		{ .debug.poison = true },
	};
	enum { B = 4, SIDE = 16, ALL = B * SIDE * SIDE * 3 };
	static unsigned char bytes[ALL];
	static float floats[ALL];
	const int32_t y[B] = { 1, 2, 3, 4 };
	struct rt_options opt = ways[_i];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_resnet_small(g, B, SIDE, 20, 10);
	gt_auto(rt_program) *a = NULL, *b = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_compile(g, loss, &opt, &a, &err) == 0, "%s", err.msg);
	opt.pixels.mean = RT_PIXEL_MEAN;
	opt.pixels.std = RT_PIXEL_STD;
	ck_assert_msg(rt_compile(g, loss, &opt, &b, &err) == 0, "%s", err.msg);
	for (uint64_t t = 0; t < 4; t++) {
		struct rt_metrics x = { 0 }, z = { 0 };

		for (uint64_t i = 0; i < ALL; i++)
			bytes[i] = (unsigned char)rt_random_u64(3, t, i);
		rt_pixels_to_f32(bytes, ALL, 1 / (255 * RT_PIXEL_STD), -RT_PIXEL_MEAN / RT_PIXEL_STD, floats);
		if (opt.optimizer.kind) {
			ck_assert_int_eq(rt_step(a, (const void *[]){ floats, y }, &x, &err), 0);
			ck_assert_int_eq(rt_step(b, (const void *[]){ bytes, y }, &z, &err), 0);
		} else {
			ck_assert_int_eq(rt_eval(a, (const void *[]){ floats, y }, &x.loss, &err), 0);
			ck_assert_int_eq(rt_eval(b, (const void *[]){ bytes, y }, &z.loss, &err), 0);
		}
		ck_assert_msg(!memcmp(&x.loss, &z.loss, sizeof(x.loss)), "step %d: %.17g and %.17g", (int)t, x.loss, z.loss);
	}
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			ck_assert_int_eq(
				memcmp(rt_value(a, n), rt_value(b, n), (size_t)rt_shape_elements(rt_node_shape(n)) * 4),
				0);
	}
}
END_TEST

/* Known results of Philox 4x32-10 (Random123 1.14, kat_vectors): first two words. */
START_TEST(random_numbers_are_philox)
{
	ck_assert_uint_eq((uint32_t)rt_random_u64(0, 0, 0), 0x6627e8d5u);
	ck_assert_uint_eq((uint32_t)(rt_random_u64(0, 0, 0) >> 32), 0xe169c58du);
	ck_assert_uint_eq((uint32_t)rt_random_u64(UINT64_MAX, UINT64_MAX, UINT64_MAX), 0x408f276du);
	ck_assert_uint_eq((uint32_t)(rt_random_u64(UINT64_MAX, UINT64_MAX, UINT64_MAX) >> 32), 0x41c83b0eu);
}
END_TEST

TCase *case_train(void)
{
	TCase *t = tcase_create("train");

	tcase_set_timeout(t, 180);
	tcase_add_test(t, adamw_follows_its_definition);
	tcase_add_loop_test(t, sgd_follows_its_definition, 0, 2);
	tcase_add_test(t, two_runs_give_the_same_bits);
	tcase_add_test(t, evaluation_changes_nothing);
	tcase_add_test(t, a_gpt_generalises_to_held_out_text);
	tcase_add_test(t, steps_after_the_second_fault_no_page);
	tcase_add_loop_test(t, images_as_bytes_train_the_same, 0, 5);
	tcase_add_test(t, random_numbers_are_philox);
	return t;
}
