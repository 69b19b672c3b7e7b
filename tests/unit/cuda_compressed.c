/* SPDX-License-Identifier: Apache-2.0 */
/* Compression and generation on the device: removed units, and refusals of ops without a kernel. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "tests/unit/check_cuda.h"
#include "lib/util.h"
#include "runtime/runtime.h"

/* ---- refusals ---- */

static struct rt_node *cached(struct rt_graph *g)
{
	struct rt_node *qkv = rt_input(g, "qkv", RT_F32, RT_SHAPE(2, 3, 24)), *at = rt_input(g, "at", RT_I32, RT_SHAPE(2, 3));

	return rt_attention_cached(g, qkv, rt_cache(g, "cache", RT_SHAPE(2, 4, 8, 4)), at, 2, 2);
}

static struct rt_node *rope_at(struct rt_graph *g)
{
	return rt_rope_at(g, rt_input(g, "x", RT_F32, RT_SHAPE(2, 3, 8)), rt_input(g, "at", RT_I32, RT_SHAPE(2, 3)), 2, 4, 10000);
}

static struct rt_node *select_row(struct rt_graph *g)
{
	return rt_select_row(g, rt_input(g, "x", RT_F32, RT_SHAPE(2, 3, 8)), rt_input(g, "last", RT_I32, RT_SHAPE(2)));
}

static struct rt_node *linear(struct rt_graph *g)
{
	return rt_linear(g, rt_input(g, "x", RT_F32, RT_SHAPE(2, 8)), rt_param(g, "w", RT_SHAPE(4, 8), RT_INIT_NORMAL(1)), NULL);
}

static struct rt_node *loss(struct rt_graph *g)
{
	return rt_cross_entropy(g, linear(g), rt_input(g, "y", RT_I32, RT_SHAPE(2)));
}

static const struct {
	struct rt_node *(*declare)(struct rt_graph *g);
	struct rt_options opt;
	const char *message;
} refused[] = {
	{ cached, { 0 }, "attention_cached of qkv: the device has no kernel for it; the CPU can run it" },
	{ rope_at, { 0 }, "rope_at of x: the device has no kernel for it; the CPU can run it" },
	{ select_row, { 0 }, "select_row of x: the device has no kernel for it; the CPU can run it" },
	{ linear, { .precision.int8 = RT_INT8_DYNAMIC }, "INT8 products run on the CPU: choose fp8 or bf16 for the cuda device" },
	{ linear, { .precision.int8 = RT_INT8_OBSERVE }, "INT8 products run on the CPU: choose fp8 or bf16 for the cuda device" },
	{ loss, { .precision.qat = true, .optimizer.kind = RT_SGD },
	  "quantisation-aware training needs the cpu device and no tensor parallelism" },
	{ loss, { .sparse = true, .optimizer.kind = RT_SGD },
	  "masks of pruned weights need the cpu device and whole weights: no tensor parallelism, pipeline or sharding of "
	  "parameters" },
};

/* Prints each unexpected result. Returns their number. */
static int child_refused(void)
{
	int bad = 0;

	for (size_t i = 0; i < GT_ARRAY_SIZE(refused); i++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;
		struct rt_node *out = refused[i].declare(g);
		struct rt_options opt = refused[i].opt;
		struct gt_err err = { 0 };
		int r;

		opt.device = RT_CUDA;
		r = rt_compile_outputs(g, &out, 1, &opt, &p, &err);
		if (r == -ENOSYS && gt_streq(err.msg, refused[i].message))
			continue;
		printf("%d: %s\n", r, err.msg);
		bad++;
	}
	if (!bad)
		puts("all are refused");
	return bad;
}

START_TEST(an_op_without_a_kernel_is_refused_by_name)
{
	struct result r = run_with("refused-ops", "STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "all are refused\n");
}
END_TEST

/* ---- removed units ---- */

#define STEPS	2

/* Trains a small llama, removes a third of its heads and half of its neurons, trains on, and returns the last loss. */
static double train_without_units(enum rt_device device, enum rt_dtype type)
{
	const struct rt_llama_config k = { .batch = 2, .seq = 9, .layers = 1, .width = 24, .heads = 6, .kv_heads = 3, .ffn = 16,
					   .vocab = 11, .rope_base = 10000, .eps = 1e-5f };
	struct rt_options opt = { .device = device, .threads = 1, .seed = 3, .precision.amp = type,
				  .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *out = rt_model_llama(g, &k);
	gt_auto(rt_program) *p = NULL, *small = NULL;
	gt_auto(rt_units) *u = NULL;
	gt_auto(rt_values) *v = NULL;
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	int32_t tokens[18], targets[18];
	int r = rt_compile(g, out, &opt, &p, &err);

	for (int i = 0; i < 18; i++) {
		tokens[i] = i * 7 % 11;
		targets[i] = (i + 3) * 5 % 11;
	}
	for (int i = 0; !r && i < STEPS; i++)
		r = rt_step(p, (const void *[]){ tokens, targets }, &m, &err);
	r = r ? r : rt_graph_units(g, &u, &err);
	r = r ? r : rt_choose_units(p, g, u, RT_UNIT_HEADS, 2, &err);
	r = r ? r : rt_choose_units(p, g, u, RT_UNIT_NEURONS, 0.5, &err);
	r = r ? r : rt_take_values(p, g, u, &v, &err);
	r = r ? r : rt_graph_remove_units(g, u, &err);
	r = r ? r : rt_compile(g, out, &opt, &small, &err);
	r = r ? r : rt_put_values(small, v, &err);
	for (int i = 0; !r && i < STEPS; i++)
		r = rt_step(small, (const void *[]){ tokens, targets }, &m, &err);
	if (r)
		printf("%s\n", err.msg);
	return r ? NAN : m.loss;
}

static int child_units(enum rt_dtype type, double tolerance)
{
	double device = train_without_units(RT_CUDA, type), cpu = train_without_units(RT_CPU, type);
	bool good = fabs(device - cpu) <= tolerance * fabs(cpu);

	if (!good)
		printf("the loss is %.7g on the device and %.7g on the CPU\n", device, cpu);
	puts(good ? "as on the CPU" : "not as on the CPU");
	return !good;
}

START_TEST(a_smaller_model_trains_on_as_on_the_cpu)
{
	struct result r = run_with(_i ? "units-bf16" : "units-f32", "STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "as on the CPU\n");
}
END_TEST

void add_compressed_tests(TCase *tc)
{
	tcase_add_test(tc, an_op_without_a_kernel_is_refused_by_name);
	tcase_add_loop_test(tc, a_smaller_model_trains_on_as_on_the_cpu, 0, 2);
}

int child_compressed(const char *what)
{
	if (gt_streq(what, "refused-ops"))
		return child_refused();
	if (gt_streq(what, "units-f32"))
		return child_units(RT_F32, 1e-5);
	return gt_streq(what, "units-bf16") ? child_units(RT_BF16, 0.02) : -1;
}
