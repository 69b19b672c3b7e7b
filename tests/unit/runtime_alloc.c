/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step allocates nothing: calls of malloc and similar functions from this program's code are counted, not those of
 * math libraries and the OpenMP runtime.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "tests/unit/check_runtime.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern char __executable_start, etext; /* addresses of this program's own code */
extern void *__libc_malloc(size_t n), *__libc_calloc(size_t n, size_t size), *__libc_realloc(void *p, size_t n);
static atomic_long ours;

#define COUNT()                                                                                                        \
	do {                                                                                                           \
		const char *from = __builtin_return_address(0);                                                        \
                                                                                                                       \
		if (from >= &__executable_start && from < &etext)                                                      \
			atomic_fetch_add_explicit(&ours, 1, memory_order_relaxed);                                     \
	} while (0)

void *malloc(size_t n)
{
	COUNT();
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	COUNT();
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	COUNT();
	return __libc_realloc(p, n);
}

static float floats[8 * 32 * 32 * 3 + 64 * 784];
static int32_t ids[2 * 64], labels[2 * 64];

static struct rt_node *model(struct rt_graph *g, int which, const void *in[2])
{
	static const struct rt_gpt_config gpt = { .batch = 2, .seq = 64, .layers = 2, .width = 128, .heads = 4, .vocab = 256 };

	in[0] = which == 1 ? (const void *)ids : floats;
	in[1] = labels;
	if (which == 0)
		return rt_model_mlp(g, 64, (const int64_t[]){ 784, 256, 10 }, 3);
	return which == 1 ? rt_model_gpt(g, &gpt) : rt_model_resnet_small(g, 8, 32, 20, 10);
}

START_TEST(a_step_allocates_nothing_of_its_own)
{
	static const struct rt_options ways[] = {
		{ .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 } },
		{ .optimizer = { .kind = RT_ADAMW8, .lr = 1e-3 }, .accum = 2, .clip_norm = 1 },
		{ .optimizer = { .kind = RT_SGD, .lr = 1e-3, .momentum = 0.9 }, .precision.amp = RT_BF16, .memory.checkpoint = 2 },
		{ .optimizer = { .kind = RT_SGD, .lr = 1e-3 }, .precision.amp = RT_F16 },
		{ 0 },
	};
	struct rt_options opt = ways[_i / 3];
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	const void *in[2];
	struct rt_node *loss = model(g, _i % 3, in);
	long before = 0, after;
	int r = 0;

	opt.threads = 2;
	ck_assert_int_eq(rt_compile(g, loss, &opt, &p, NULL), 0);
	ck_assert_int_gt(atomic_load(&ours), 0); /* the counter works */
	for (int i = 0; !r && i < 12; i++) { /* uses no assertions, because they allocate */
		struct rt_metrics m;
		double value;

		before = i == 4 ? atomic_load(&ours) : before;
		r = opt.optimizer.kind ? rt_step(p, in, &m, NULL) : rt_eval(p, in, &value, NULL);
	}
	after = atomic_load(&ours);
	ck_assert_int_eq(r, 0);
	ck_assert_int_eq(after - before, 0);
}
END_TEST
#define CASES	15

/*
 * From the third step on, libraries allocate in parts of the heap that have been touched. Without rt_keep_heap() each of
 * the first dozen steps faulted some hundred pages, and with AVX2 the first hundred steps 600 to 1200 in all.
 */
START_TEST(a_step_faults_no_page)
{
	const int steps = _i == 2 ? 100 : 24;
	struct rt_options opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-3 }, .threads = 2,
				  .precision.amp = _i == 1 ? RT_BF16 : RT_F32 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree float *x = gt_xcalloc(256 * 784, sizeof(float));
	gt_autofree int32_t *y = gt_xcalloc(256, sizeof(int32_t));
	struct rt_node *loss = rt_model_mlp(g, 256, (const int64_t[]){ 784, 1024, 1024, 10 }, 4);
	struct rusage before = { 0 }, after;

	if (_i == 2)
		setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
	rt_keep_heap();
	ck_assert_int_eq(rt_compile(g, loss, &opt, &p, NULL), 0);
	for (int i = 0; i < 2 + steps; i++) {
		struct rt_metrics m;

		if (i == 2)
			getrusage(RUSAGE_SELF, &before);
		if (rt_step(p, (const void *[]){ x, y }, &m, NULL) != 0)
			ck_abort_msg("step %d", i);
	}
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_minflt - before.ru_minflt, steps);
}
END_TEST

/* Allocates large blocks, which malloc maps from the kernel and returns to it, as glibc does by default. */
static size_t mapped_blocks(void)
{
	volatile char *block = malloc(64 << 20);
	size_t n;

	block[0] = 1;
	n = mallinfo2().hblks;
	free((void *)block);
	return n;
}

START_TEST(malloc_is_set_only_on_request)
{
	const struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .threads = 2 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	size_t before = mapped_blocks();
	struct rt_metrics m;

	ck_assert_uint_gt(before, 0);
	ck_assert_int_eq(rt_compile(g, rt_model_mlp(g, 1, (const int64_t[]){ 4, 3 }, 2), &opt, &p, NULL), 0);
	ck_assert_int_eq(rt_step(p, (const void *[]){ floats, labels }, &m, NULL), 0);
	ck_assert_uint_eq(mapped_blocks(), before);
	rt_keep_heap();
	ck_assert_uint_lt(mapped_blocks(), before);
}
END_TEST
#endif

TCase *case_alloc(void)
{
	TCase *t = tcase_create("allocations");

	tcase_set_timeout(t, 120);
#ifdef CASES
	tcase_add_loop_test(t, a_step_allocates_nothing_of_its_own, 0, CASES);
	tcase_add_loop_test(t, a_step_faults_no_page, 0, 3);
	tcase_add_test(t, malloc_is_set_only_on_request);
#endif
	return t;
}
