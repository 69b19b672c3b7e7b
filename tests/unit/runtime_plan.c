/* SPDX-License-Identifier: Apache-2.0 */
/* The memory plan and the passes, over random graphs. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include "runtime/cpu/run.h"
#include "runtime/pass/memplan.h"
#include "tests/unit/check_runtime.h"

#define GRAPHS	60
#define WIDTH	12

static uint64_t dice(uint64_t seed, uint64_t i, uint64_t sides)
{
	return rt_random_u64(seed, 7, i) % sides;
}

/* A random graph of ops on (2,5,12) tensors, each reading any earlier ones. */
static struct rt_node *random_graph(struct rt_graph *g, uint64_t seed)
{
	struct rt_node *pool[40], *w[3];
	char name[16];
	int n = 0;

	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "x%d", i);
		pool[n++] = rt_param(g, name, RT_SHAPE(2, 5, WIDTH), RT_INIT_NORMAL(1));
		snprintf(name, sizeof(name), "w%d", i);
		w[i] = rt_param(g, name, RT_SHAPE(WIDTH, WIDTH), RT_INIT_NORMAL(0.3f));
	}
	for (uint64_t i = 0; i < 20; i++) {
		struct rt_node *a = pool[dice(seed, 4 * i, (uint64_t)n)], *b = pool[dice(seed, 4 * i + 1, (uint64_t)n)], *y;

		switch (dice(seed, 4 * i + 2, 5)) {
		case 0:
			y = rt_linear(g, a, w[dice(seed, 4 * i + 3, 3)], NULL);
			break;
		case 1:
			y = rt_gelu(g, a);
			break;
		case 2:
			y = rt_relu(g, a);
			break;
		case 3:
			snprintf(name, sizeof(name), "g%d", (int)i);
			y = rt_param(g, name, RT_SHAPE(WIDTH), RT_INIT_ONES);
			y = rt_layernorm(g, a, y, y, 1e-5f);
			break;
		default:
			y = rt_add(g, a, b);
		}
		pool[n++] = y;
	}
	return rt_dot(g, rt_add(g, pool[n - 1], pool[n - 2]), rt_input(g, "weights", RT_F32, RT_SHAPE(2, 5, WIDTH)));
}

static struct rt_program *compile(const struct rt_graph *g, struct rt_node *loss, struct rt_options opt)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };

	ck_assert_msg(rt_compile(g, loss, &opt, &p, &err) == 0, "%s", err.msg);
	return p;
}

START_TEST(no_two_live_tensors_share_memory)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = random_graph(g, (uint64_t)_i);
	gt_auto(rt_program) *p = compile(g, loss, (struct rt_options){ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } });

	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		for (int k = 0; k < i; k++) {
			const struct rt_node *a = p->plan.ir.nodes[i], *b = p->plan.ir.nodes[k];

			if (a->first < 0 || b->first < 0 || a->storage != a || b->storage != b)
				continue;
			ck_assert_msg(!rt_memplan_overlap(a, b), "graph %d: %s and %s overlap", _i, a->name, b->name);
			ck_assert_uint_le(a->offset + a->bytes, ((struct rt_cpu_state *)p->state)->arena.bytes);
		}
}
END_TEST

/* Returns the parameters after three steps, which are compared bit for bit. */
/* A row is added to every row of a tensor four times as large. After alignment both need 64 bytes. */
START_TEST(a_sum_does_not_overwrite_its_row)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *a = rt_param(g, "a", RT_SHAPE(4, 4), RT_INIT_NORMAL(1));
	struct rt_node *b = rt_param(g, "b", RT_SHAPE(4), RT_INIT_NORMAL(1));
	struct rt_node *sum = rt_add(g, a, rt_affine(g, b, 2, 0));
	struct rt_node *loss = rt_dot(g, rt_affine(g, sum, 1, 0), rt_input(g, "weights", RT_F32, RT_SHAPE(4, 4)));
	struct rt_program *p = compile(g, loss, (struct rt_options){ .debug.keep_gradients = true });
	struct rt_metrics m;
	float weights[16];
	double want = 0;

	for (int i = 0; i < 16; i++) {
		weights[i] = (float)(i % 7 - 3);
		want += (double)weights[i] * ((double)rt_value(p, a)[i] + 2 * (double)rt_value(p, b)[i % 4]);
	}
	ck_assert_int_eq(rt_step(p, (const void *[]){ weights }, &m, NULL), 0);
	ck_assert_double_eq_tol(m.loss, want, 1e-5);
	rt_program_free(p);
}
END_TEST

/* The bias of a norm is one of the two terms summed before it. */
START_TEST(a_sum_does_not_overwrite_the_bias_of_its_norm)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *a = rt_param(g, "a", RT_SHAPE(4), RT_INIT_NORMAL(1)), *x = rt_affine(g, a, 2, 0);
	struct rt_node *y = rt_layernorm(g, rt_add(g, x, a), rt_param(g, "gain", RT_SHAPE(4), RT_INIT_ONES), x, 1e-5f);
	struct rt_node *loss = rt_dot(g, rt_affine(g, y, 1, 0), rt_input(g, "weights", RT_F32, RT_SHAPE(4)));
	float weights[4] = { 1, 2, -3, 5 };
	struct rt_metrics m[2];

	for (int apart = 0; apart < 2; apart++) {
		struct rt_program *p = compile(g, loss, (struct rt_options){
			.debug = { .keep_gradients = true, .no_reuse = apart } });

		ck_assert_int_eq(rt_step(p, (const void *[]){ weights }, &m[apart], NULL), 0);
		rt_program_free(p);
	}
	ck_assert_double_eq(m[0].loss, m[1].loss);
}
END_TEST

static void same_parameters(const struct rt_graph *g, struct rt_program *a, struct rt_program *b, int graph)
{
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		size_t bytes = (size_t)rt_shape_elements(rt_node_shape(n)) * 4;

		if (rt_node_is_param(n))
			ck_assert_msg(!memcmp(rt_value(a, n), rt_value(b, n), bytes), "graph %d: %s differs", graph,
				      rt_node_name(n));
	}
}

static void three_steps(struct rt_program *p)
{
	float weights[2 * 5 * WIDTH];
	struct rt_metrics m;
	struct gt_err err = { 0 };

	for (uint64_t i = 0; i < GT_ARRAY_SIZE(weights); i++)
		weights[i] = rt_random_normal(9, 9, i);
	for (int i = 0; i < 3; i++)
		ck_assert_msg(rt_step(p, (const void *[]){ weights }, &m, &err) == 0, "%s", err.msg);
}

START_TEST(poisoned_memory_gives_the_same_bits)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = random_graph(g, (uint64_t)_i);
	struct rt_optimizer sgd = { .kind = RT_SGD, .lr = 1e-4, .momentum = 0.9 };
	struct rt_debug apart = { .no_reuse = true, .no_early_update = true, .keep_gradients = true };
	gt_auto(rt_program) *plain = compile(g, loss, (struct rt_options){ .optimizer = sgd, .debug = apart });
	gt_auto(rt_program) *tight = compile(g, loss, (struct rt_options){ .optimizer = sgd, .debug.poison = true });

	three_steps(plain);
	three_steps(tight);
	same_parameters(g, plain, tight, _i);
	ck_assert_uint_le(tight->plan.arena_bytes, plain->plan.arena_bytes);
}
END_TEST

START_TEST(checkpointed_graphs_give_the_same_bits)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = random_graph(g, (uint64_t)_i);
	struct rt_optimizer sgd = { .kind = RT_SGD, .lr = 1e-4, .momentum = 0.9 };
	gt_auto(rt_program) *plain = compile(g, loss, (struct rt_options){ .optimizer = sgd });
	gt_auto(rt_program) *again = compile(g, loss, (struct rt_options){ .optimizer = sgd, .debug.poison = true,
									     .memory.checkpoint = 2 + _i % 6,
									     .precision.amp = _i % 10 == 9 ? RT_BF16 : RT_F32 });

	if (_i % 10 == 9) {
		rt_program_free(plain);
		plain = compile(g, loss, (struct rt_options){ .optimizer = sgd, .precision.amp = RT_BF16 });
	}
	three_steps(plain);
	three_steps(again);
	same_parameters(g, plain, again, _i);
}
END_TEST

static const struct rt_gpt_config deep = { .batch = 2, .seq = 64, .layers = 8, .width = 64, .heads = 2, .vocab = 256 };

static void train_deep(struct rt_program *p, double losses[4])
{
	int32_t tokens[128], targets[128];
	struct rt_metrics m = { 0 };

	for (uint64_t t = 0; t < 4; t++) {
		for (uint64_t i = 0; i < 128; i++) {
			tokens[i] = (int32_t)(rt_random_u64(1, t, i) % 256);
			targets[i] = (tokens[i] + 1) % 256;
		}
		ck_assert_int_eq(rt_step(p, (const void *[]){ tokens, targets }, &m, NULL), 0);
		losses[t] = m.loss;
	}
}

/* With 2 to 9 segments, also with accumulation and the loss scaler: the same bits, less memory, more work. */
START_TEST(checkpointing_changes_memory_and_work_alone)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_gpt(g, &deep);
	struct rt_options opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .accum = _i % 2 + 1,
				  .precision.amp = _i % 4 == 3 ? RT_F16 : RT_F32 };
	gt_auto(rt_program) *plain = compile(g, loss, opt), *again = NULL;
	double a[4], b[4];

	opt.memory.checkpoint = 2 + _i;
	again = compile(g, loss, opt);
	train_deep(plain, a);
	train_deep(again, b);
	ck_assert(!memcmp(a, b, sizeof(a)));
	same_parameters(g, plain, again, _i);
	ck_assert_uint_lt(again->plan.arena_bytes, plain->plan.arena_bytes);
	ck_assert_double_gt(rt_program_flops(again), 1.1 * rt_program_flops(plain));
	ck_assert_double_lt(rt_program_flops(again), 1.4 * rt_program_flops(plain));
}
END_TEST

/* Every budget from the minimum on is met. Smaller budgets need at least as much work. */
START_TEST(a_budget_chooses_the_segments)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_gpt(g, &deep);
	struct rt_options opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } };
	gt_auto(rt_program) *plain = compile(g, loss, opt);
	double a[4], b[4], work = rt_program_flops(plain);
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };
	int fitted = 0;

	train_deep(plain, a);
	for (uint64_t budget = plain->plan.arena_bytes;; budget = budget * 97 / 100) {
		opt.memory.fit_bytes = budget;
		if (rt_compile(g, loss, &opt, &p, &err) < 0)
			break;
		ck_assert_uint_le(p->plan.arena_bytes, budget);
		ck_assert_double_ge(rt_program_flops(p) * 1.0000001, work);
		work = rt_program_flops(p);
		if (fitted++ % 4 == 1) {
			train_deep(p, b);
			ck_assert(!memcmp(a, b, sizeof(a)));
		}
		rt_program_free(p);
		p = NULL;
	}
	ck_assert_int_ge(fitted, 8);
	ck_assert_int_eq(err.code, ENOMEM);
	ck_assert_msg(strstr(err.msg, "segments would still need") != NULL, "said: %s", err.msg);
	opt.memory.limit_bytes = plain->plan.arena_bytes - 1;
	opt.memory.fit_bytes = 0;
	ck_assert_int_eq(rt_compile(g, loss, &opt, &p, &err), -ENOMEM);
	ck_assert_msg(strstr(err.msg, "segments would need") != NULL, "said: %s", err.msg);
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* it has memory of its own */
/* Compares the report with the growth of this process, which does nothing else meanwhile. */
START_TEST(the_reported_peak_is_the_measured_one)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_gpt_config k = deep;
	gt_auto(rt_program) *warm = NULL, *p = NULL;
	struct rusage before, after;
	double losses[4];

	warm = compile(g, rt_model_gpt(g, &deep), (struct rt_options){ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } });
	train_deep(warm, losses);
	rt_graph_free(g);
	g = rt_graph_new();
	k.vocab = 100000;
	getrusage(RUSAGE_SELF, &before);
	p = compile(g, rt_model_gpt(g, &k), (struct rt_options){ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 },
								  .memory.checkpoint = _i });
	train_deep(p, losses);
	getrusage(RUSAGE_SELF, &after);
	ck_assert_msg(fabs((double)(after.ru_maxrss - before.ru_maxrss) * 1024 - (double)rt_program_planned_bytes(p)) <
			      0.03 * (double)rt_program_planned_bytes(p) + (8 << 20),
		      "grew by %ld KiB, planned %llu KiB", after.ru_maxrss - before.ru_maxrss,
		      (unsigned long long)rt_program_planned_bytes(p) / 1024);
}
END_TEST
#endif

START_TEST(planned_bytes_equal_mapped_bytes)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_mlp(g, 64, (const int64_t[]){ 784, 256, 10 }, 3);
	gt_auto(rt_program) *p = compile(g, loss, (struct rt_options){ .optimizer = { .kind = RT_SGD, .lr = 0.1 } });
	gt_auto_json *report = rt_program_report(p);
	const struct rt_cpu_state *s = p->state;

	ck_assert_uint_eq(rt_program_planned_bytes(p), s->arena.bytes);
	ck_assert_int_eq(gt_json_get_int(report, "planned_bytes", 0), (int64_t)s->arena.bytes);
	ck_assert_uint_ge(s->arena.bytes, p->plan.arena_bytes);
	ck_assert_uint_lt(s->arena.bytes - p->plan.arena_bytes, 2u << 20);
	/* Expected flops: 2 M K N forward; the same backward for both weights, and for the input of the second layer
	 * only. */
	ck_assert_double_eq(rt_program_flops(p), 2.0 * 64 * (784 * 256 * 2 + 256 * 10 * 3));
}
END_TEST

START_TEST(inference_keeps_nothing_for_the_backward_pass)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *loss = rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 2, .seq = 64, .layers = 6, .width = 64,
									 .heads = 2, .vocab = 256 });
	gt_auto(rt_program) *infer = compile(g, loss, (struct rt_options){ 0 });
	gt_auto(rt_program) *train = compile(g, loss, (struct rt_options){ .debug.keep_gradients = true });
	uint64_t forward = infer->plan.arena_bytes - infer->plan.pinned_bytes;

	ck_assert_uint_lt(4 * forward, train->plan.arena_bytes - train->plan.pinned_bytes);
	ck_assert_double_lt(2.9 * rt_program_flops(infer), rt_program_flops(train));
}
END_TEST

TCase *case_plan(void)
{
	TCase *t = tcase_create("plan");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, no_two_live_tensors_share_memory, 0, GRAPHS);
	tcase_add_test(t, a_sum_does_not_overwrite_its_row);
	tcase_add_test(t, a_sum_does_not_overwrite_the_bias_of_its_norm);
	tcase_add_loop_test(t, poisoned_memory_gives_the_same_bits, 0, GRAPHS);
	tcase_add_loop_test(t, checkpointed_graphs_give_the_same_bits, 0, GRAPHS);
	tcase_add_loop_test(t, checkpointing_changes_memory_and_work_alone, 0, 8);
	tcase_add_test(t, a_budget_chooses_the_segments);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_loop_test(t, the_reported_peak_is_the_measured_one, 0, 3);
#endif
	tcase_add_test(t, planned_bytes_equal_mapped_bytes);
	tcase_add_test(t, inference_keeps_nothing_for_the_backward_pass);
	return t;
}
