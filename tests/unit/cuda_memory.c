/* SPDX-License-Identifier: Apache-2.0 */
/* Planned and measured memory, anomalies, checkpoints, and invalid kernels. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/json.h"
#include "runtime/runtime.h"
#include "tests/unit/check_cuda.h"

#define TOKENS	(16 * 32)

static struct rt_node *small_gpt(struct rt_graph *g)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 16, .seq = 32, .layers = 2, .width = 32, .heads = 2,
							.vocab = 61 });
}

static void fill_ids(int32_t *ids)
{
	for (int i = 0; i < TOKENS; i++)
		ids[i] = i * 7 % 61;
}

static void tell_plan(void *arg, const struct rt_memory *m)
{
	uint64_t parts = m->parameter_bytes + m->state_bytes + m->gradient_bytes + m->activation_bytes + m->workspace_bytes +
			 m->staging_bytes + m->other_bytes;

	printf("planned %s, %s free\n",
	       parts == m->planned_bytes && m->parameter_bytes && m->activation_bytes ? "in parts" : "badly",
	       m->planned_bytes <= m->free_bytes ? "less than" : "more than");
	*(uint64_t *)arg = m->planned_bytes;
}

static int memory_and_tell(void)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	uint64_t planned = 0, measured;
	struct rt_options o = { .device = RT_CUDA, .precision.amp = RT_BF16, .optimizer = { .kind = RT_ADAMW, .lr = 0.01 },
				.memory = { .planned = tell_plan, .planned_arg = &planned } };
	gt_auto_json *report = NULL;
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	int32_t ids[TOKENS];
	int r = rt_compile(g, small_gpt(g), &o, &p, &err);

	fill_ids(ids);
	for (int i = 0; !r && i < 2; i++)
		r = rt_step(p, (const void *[]){ ids, ids }, &m, &err);
	if (r) {
		puts(err.msg);
		return 1;
	}
	report = rt_program_report(p);
	measured = (uint64_t)gt_json_get_int(json_object_get(report, "memory"), "measured_bytes", 0);
	printf("%s, %s\n", planned == rt_program_planned_bytes(p) ? "as planned" : "not as planned",
	       measured >= planned && measured < planned + 4096 ? "and measured" : "but not as measured");
	return 0;
}

/* Profiled from the third step on: kernels of earlier steps would have no op. */
static int profile_and_tell(void)
{
	const struct rt_options o = { .device = RT_CUDA, .precision.amp = RT_BF16, .debug.profile = true,
				      .optimizer = { .kind = RT_ADAMW, .lr = 0.01 } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_auto_json *report = NULL;
	struct rt_metrics m = { 0 };
	struct gt_err err = { 0 };
	int32_t ids[TOKENS];
	int r = rt_compile(g, small_gpt(g), &o, &p, &err), strays = 0;
	json_t *row;
	size_t i;

	fill_ids(ids);
	for (int step = 0; !r && step < 4; step++)
		r = rt_step(p, (const void *[]){ ids, ids }, &m, &err);
	if (r) {
		puts(err.msg);
		return 1;
	}
	report = rt_program_report(p);
	json_array_foreach(json_object_get(report, "kernels"), i, row) {
		const char *name = gt_json_get_str(row, "kernel", ""), *op = gt_json_get_str(row, "op", NULL);

		strays += gt_starts_with(name, "rt_") && !op;
		if (gt_starts_with(name, "rt_cross_entropy") || gt_starts_with(name, "rt_norm_bwd") ||
		    gt_starts_with(name, "rt_embedding_bwd"))
			printf("%s: %g times, %.0f bytes\n", name, gt_json_get_real(row, "launches", -1),
			       gt_json_get_real(row, "bytes", -1));
	}
	printf("%d strays\n", strays);
	return 0;
}

/* One step of each case: in the first case the forward pass fails, in the second only the backward pass. */
static int one_anomaly(enum rt_device device, bool backward, struct gt_err *err)
{
	const struct rt_options o = { .device = device, .debug.anomaly = true, .optimizer = { .kind = RT_SGD, .lr = 0.1 } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_mlp(g, 1, (const int64_t[]){ 3, 4, 4, 5 }, 4);
	float x[3] = { 1, 2, 3 }, w[5 * 4] = { 0 };
	struct rt_node *params[8];
	struct rt_metrics m;
	int32_t y = 2;
	int n = 0, r = rt_compile(g, loss, &o, &p, err);

	for (int i = 0; i < rt_graph_leaves(g); i++)
		if (rt_node_is_param(rt_graph_leaf(g, i)))
			params[n++] = rt_graph_leaf(g, i);
	/* hidden layers just above zero, followed by weights of 1e38: the gradient of the second is 2e38, the first's
	 * overflows */
	for (int i = 0; i < 20; i++)
		w[i] = i / 4 == y ? -1e38f : 1e38f;
	w[0] = backward ? w[0] : NAN;
	if (!r)
		r = rt_write_param(p, params[4], w, err);
	for (int i = 0; i < 20; i++)
		w[i] = 10;
	if (!r)
		r = rt_write_param(p, params[2], w, err);
	for (int i = 0; i < 20; i++)
		w[i] = i < 12 ? 0 : 1e-37f;
	if (!r)
		r = rt_write_param(p, params[0], w, err);
	if (!r)
		r = rt_write_param(p, params[1], w + 12, err);
	return r ? r : rt_step(p, (const void *[]){ x, &y }, &m, err);
}

static int anomaly_and_tell(void)
{
	for (int backward = 0; backward < 2; backward++) {
		struct gt_err err[2] = { { 0 } };
		int cpu = one_anomaly(RT_CPU, backward, &err[0]), cuda = one_anomaly(RT_CUDA, backward, &err[1]);

		bool same = cpu == -EDOM && cuda == -EDOM && gt_streq(err[0].msg, err[1].msg);

		printf("%s: %s\n", same ? "same" : err[0].msg, err[1].msg);
	}
	return 0;
}

static int open_program(struct rt_graph *g, enum rt_device device, enum rt_optimizer_kind kind, struct rt_program **ret,
			struct gt_err *err)
{
	const struct rt_options o = { .device = device, .seed = 3, .optimizer = { .kind = kind, .lr = 0.01 } };

	return rt_compile(g, small_gpt(g), &o, ret, err);
}

static int resume_and_tell(enum rt_optimizer_kind kind)
{
	gt_autofree char *file = gt_xasprintf("/tmp/check-cuda-%d.safetensors", (int)getpid());
	double losses[3] = { 0 };
	struct gt_err err = { 0 };
	int32_t ids[TOKENS];
	int r = 0;

	fill_ids(ids);
	/* all steps; then the last one from the file, on the device and on the CPU */
	for (int k = 0; !r && k < 3; k++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;
		struct rt_metrics m = { 0 };
		uint64_t ticket = 0;

		r = open_program(g, k == 2 ? RT_CPU : RT_CUDA, kind, &p, &err);
		if (!r && k)
			r = rt_load(p, file, &ticket, &err);
		for (int i = k ? 3 : 0; !r && i < 4; i++) {
			if (i == 3 && !k)
				r = rt_save(p, file, 17, &err);
			if (!r)
				r = rt_step(p, (const void *[]){ ids, ids }, &m, &err);
		}
		losses[k] = m.loss;
		if (!r)
			printf("%s loss after step %lld, ticket %d\n",
			       fabs(m.loss - losses[0]) < (k == 2 ? 1e-5 : 1e-12) ? "same" : "other", (long long)m.step,
			       (int)ticket);
	}
	unlink(file);
	if (r)
		puts(err.msg);
	return r != 0;
}

static unsigned long pageable(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
	unsigned long (*count)(void);

	*(void **)&count = lib ? dlsym(lib, "standin_pageable") : NULL;
	return count ? count() : 0;
}

#define BATCH_BYTES (TOKENS * sizeof(int32_t))

/* Steps whose batch is overwritten after each call; losses (4). */
static int feed_steps(struct rt_program *p, int32_t *ids, double *losses, struct gt_err *err)
{
	unsigned long before = pageable();
	struct rt_metrics m;
	int r = 0;

	for (int i = 0; !r && i < 4; i++) {
		for (int k = 0; k < 2 * TOKENS; k++)
			ids[k] = (k * 7 + i) % 61;
		r = rt_step(p, (const void *[]){ ids, ids + TOKENS }, &m, err);
		memset(ids, 0x7f, 2 * BATCH_BYTES);
		losses[i] = m.loss;
	}
	if (!r)
		printf("%lu pageable copies; ", pageable() - before);
	return r;
}

static void child_inputs(const struct rt_program *p)
{
	gt_auto_json *report = rt_program_report(p);
	const json_t *inputs = json_object_get(report, "inputs");

	printf("%d direct, %d copied\n", (int)gt_json_get_int(inputs, "direct", -1), (int)gt_json_get_int(inputs, "copied", -1));
}

/* Returns whether the page is bound to a node, if this process may bind pages. */
static bool is_bound(void *page)
{
	unsigned long node[16] = { 1 };
	int mode = MPOL_DEFAULT;

	if (mbind((char *)page + BATCH_BYTES, BATCH_BYTES, MPOL_PREFERRED, node, sizeof(node) * 8, 0))
		return true;
	return !get_mempolicy(&mode, NULL, 0, page, MPOL_F_ADDR) && mode == MPOL_PREFERRED;
}

/* The same from ordinary memory, from page-locked memory, and after unlocking. */
static int feed_and_tell(void)
{
	/* its last page is for is_bound() */
	int32_t *ids = aligned_alloc(1 << 12, 4 * BATCH_BYTES);
	double losses[2][4] = { 0 };
	struct gt_err err = { 0 };
	int r = ids ? 0 : -ENOMEM;

	for (int k = 0; !r && k < 2; k++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;

		r = open_program(g, RT_CUDA, RT_ADAMW, &p, &err);
		if (!r && k)
			r = rt_pin(p, ids, 2 * BATCH_BYTES, &err);
		if (!r)
			r = feed_steps(p, ids, losses[k], &err);
		if (!r)
			child_inputs(p);
		if (r || !k)
			continue;
		printf("%s, %s losses, %d\n", is_bound(ids) ? "near" : "anywhere",
		       memcmp(losses[0], losses[1], sizeof(losses[0])) ? "other" : "same", rt_pin(p, ids, BATCH_BYTES, &err));
		puts(err.msg);
		rt_unpin(p, ids);
		r = feed_steps(p, ids, losses[k], &err);
		child_inputs(p);
	}
	free(ids);
	if (r)
		puts(err.msg);
	return r != 0;
}

static int planted_and_tell(const char *kernel)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW), *fn = NULL, *context = NULL;
	int (*init)(unsigned), (*retain)(void **, int), (*make_current)(void *), (*finish)(void *);
	int (*alloc)(uint64_t *, size_t), (*find)(void **, void *, const char *);
	int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
	uint64_t x = 0;
	int n = 64;

	if (!lib)
		return 2;
	*(void **)&init = dlsym(lib, "cuInit");
	*(void **)&retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&make_current = dlsym(lib, "cuCtxSetCurrent");
	*(void **)&finish = dlsym(lib, "cuStreamSynchronize");
	*(void **)&alloc = dlsym(lib, "cuMemAlloc_v2");
	*(void **)&find = dlsym(lib, "cuModuleGetFunction");
	*(void **)&launch = dlsym(lib, "cuLaunchKernel");
	dup2(STDOUT_FILENO, STDERR_FILENO);
	if (init(0) || retain(&context, 0) || make_current(context))
		return 3;
	if (alloc(&x, (size_t)n * sizeof(float)) || find(&fn, &x, kernel))
		return 3;
	if (launch(fn, 1, 1, 1, 64, 1, 1, 64 * sizeof(float), NULL, (void *[]){ &x, &n }, NULL) || finish(NULL))
		return 4;
	puts("nobody noticed");
	return 0;
}

#define CHECKED STANDIN_DIR "/checked:" STANDIN_DIR

START_TEST(memory_is_planned_reported_and_measured)
{
	struct result r = run_with("memory", NULL, STANDIN_DIR);

	ck_assert_msg(gt_streq(r.out, "planned in parts, less than free\nas planned, and measured\n"), "%s", r.out);
	/* refused by the driver, before any other allocation of the engine; the device's self-test makes the first two */
	r = run_with("memory", "STANDIN_FAIL=cuMemAlloc:2:2", STANDIN_DIR);
	ck_assert_msg(r.status && strstr(r.out, "planned in parts") && strstr(r.out, "cuMemAlloc failed with CUDA error 2"), "%s",
		      r.out);
	/* refused before any allocation, with a size that fits */
	r = run_with("memory", "STANDIN_MEMORY=68500000", STANDIN_DIR);
	ck_assert_msg(r.status && !strstr(r.out, "planned") && strstr(r.out, "and the limit is ") &&
			      strstr(r.out, ": checkpointing in ") &&
			      strstr(r.out, " of the 16 rows of a batch would fit"), "%s", r.out);
}
END_TEST

/*
 * 61 logits of each row are read and 64 gradients written; dy, x and dx of five norms, two of them accumulated, and 512
 * rows of two sums each; dy of the embedding and its table, which the logits' product has written. Also if the thread is
 * delayed between CUPTI's clock and its own for longer than a step.
 */
START_TEST(kernels_of_a_profiled_step_are_its_own_and_count_their_bytes)
{
	struct result r = run_with("profile", _i ? "STANDIN_CUPTI_LATE=300000" : NULL, STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "\n0 strays\n"), "%s", r.out);
	ck_assert_msg(strstr(r.out, "rt_cross_entropy_bf16: 1 times, 128000 bytes\n") != NULL, "%s", r.out);
	ck_assert_msg(strstr(r.out, "rt_embedding_bwd_bf16: 1 times, 48384 bytes\n") != NULL, "%s", r.out);
	ck_assert_msg(strstr(r.out, "rt_norm_bwd_bf16: 5 times, 1277952 bytes\n") != NULL, "%s", r.out);
}
END_TEST

START_TEST(batches_are_copied_from_the_callers_memory)
{
	struct result r = run_with("feed", NULL, STANDIN_DIR);

	ck_assert_msg(!r.status && strstr(r.out, "0 pageable copies; 0 direct, 8 copied\n"
						 "0 pageable copies; 8 direct, 0 copied\nnear, same losses, -19\n"
						 "batches are copied twice: cuMemHostRegister failed with CUDA error 712") == r.out,
		      "%s", r.out);
	ck_assert_msg(strstr(r.out, "\n0 pageable copies; 8 direct, 8 copied\n") != NULL, "%s", r.out);
}
END_TEST

START_TEST(an_anomaly_is_reported_as_on_the_cpu)
{
	struct result r = run_with("anomaly", NULL, STANDIN_DIR);

	ck_assert_msg(strstr(r.out, "same: step 1: linear_cross_entropy wrote loss") &&
			      strstr(r.out, "\nsame: step 1: linear_bwd_x, in the backward pass of"),
		      "%s", r.out);
}
END_TEST

START_TEST(a_run_resumes_from_its_checkpoint_here_and_on_the_cpu)
{
	static const char *const how[] = { "resume", "resume8" };
	struct result r = run_with(how[_i], NULL, STANDIN_DIR);

	ck_assert_msg(gt_streq(r.out, "same loss after step 4, ticket 0\nsame loss after step 4, ticket 17\n"
				      "same loss after step 4, ticket 17\n"), "%s: %s", how[_i], r.out);
}
END_TEST

START_TEST(forbidden_accesses_of_kernels_are_detected)
{
	static const struct {
		const char *kernel, *says, *or; /* the second thread of a race detects it */
	} t[] = {
		{"planted_nothing", "nobody noticed"},
		{"planted_race", "nobody wrote this shared memory in this block", "there was no barrier since"},
		{"planted_warp_race", "nobody wrote this shared memory in this block", "there was no barrier since"},
		{"planted_late_write", "there was no barrier since"},
		{"planted_unwritten", "nobody wrote this shared memory in this block"},
		{"planted_beyond", "it is not in device memory"},
		{"planted_beyond_shared", "beyond the shared memory of this launch"},
		{"planted_misaligned", "an access whose address is no multiple of its size"},
		{"planted_odd_pointer", "the address is no multiple of the size"},
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(t); i++) {
		struct result r = run_with(t[i].kernel, NULL, CHECKED);

		ck_assert_msg((strstr(r.out, t[i].says) || (t[i].or && strstr(r.out, t[i].or))) && !r.status == !i, "%s: %s",
			      t[i].kernel, r.out);
	}
}
END_TEST

/* The other kernels are checked by make check-kernels. */
START_TEST(kernels_access_their_own_memory_in_order)
{
	static const char *const how[] = {"train", "loop", "loop16", "loop8", "images"};
	struct result r = run_with(how[_i], NULL, CHECKED);

	ck_assert_msg(!r.status, "%s: %s", how[_i], r.out);
}
END_TEST

void add_memory_tests(TCase *tc, TCase *slow)
{
	tcase_add_test(tc, memory_is_planned_reported_and_measured);
	tcase_add_loop_test(tc, kernels_of_a_profiled_step_are_its_own_and_count_their_bytes, 0, 2);
	tcase_add_test(tc, batches_are_copied_from_the_callers_memory);
	tcase_add_test(tc, an_anomaly_is_reported_as_on_the_cpu);
	tcase_add_loop_test(tc, a_run_resumes_from_its_checkpoint_here_and_on_the_cpu, 0, 2);
	tcase_add_test(tc, forbidden_accesses_of_kernels_are_detected);
	tcase_add_loop_test(slow, kernels_access_their_own_memory_in_order, 0, 5);
}

int child_memory(const char *what)
{
	if (gt_streq(what, "memory"))
		return memory_and_tell();
	if (gt_streq(what, "profile"))
		return profile_and_tell();
	if (gt_streq(what, "feed"))
		return feed_and_tell();
	if (gt_streq(what, "anomaly"))
		return anomaly_and_tell();
	if (gt_streq(what, "resume"))
		return resume_and_tell(RT_ADAMW);
	if (gt_streq(what, "resume8"))
		return resume_and_tell(RT_ADAMW8);
	return strncmp(what, "planted_", 8) ? -1 : planted_and_tell(what);
}
