/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor parallel ranks and stages of a pipeline on devices compute the gradients and losses of one rank. The message of a
 * rank that waits for another one names the missing rank, or none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/json.h"
#include "lib/util.h"
#include "runtime/transport/comm.h"
#include "tests/unit/check_cuda.h"
#include "tests/unit/split_case.h"

#define ON_CUDA		.device = RT_CUDA, .optimizer = SPLIT_ADAM
#define LOW		0.02 /* limit in bf16 and f16 */

static const struct split splits[] = {
	{ GPT, 2, 1, { ON_CUDA }, .updates = 12 },
	{ GPT, 2, 2, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3 },
	{ VIT, 2, 1, { ON_CUDA }, .updates = 3 },
	{ MLP, 4, 1, { ON_CUDA, .clip_norm = 0.5 }, .updates = 3 },
	{ LLAMA, 2, 1, { ON_CUDA }, .updates = 3 },
	{ DROPOUT, 2, 1, { ON_CUDA }, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .precision.amp = RT_F16 }, .limit = LOW, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ LLAMA, 4, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ DROPOUT, 2, 1, { ON_CUDA, .ranks.sequence = true }, .updates = 3 },
	{ GPT, 2, 1, { ON_CUDA, .ranks.sequence = true, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 3 }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 4, .clip_norm = 0.5 }, .updates = 3, .stages = 3 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 4, .pipeline.schedule = RT_GPIPE }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 2, .debug.poison = true }, .updates = 3, .stages = 2 },
	{ DROPOUT, 1, 1, { ON_CUDA, .accum = 3, .memory.checkpoint = 2 }, .updates = 3, .stages = 2 },
	{ GPT, 1, 1, { ON_CUDA, .accum = 2, .precision.amp = RT_BF16 }, .limit = LOW, .updates = 3, .stages = 2 },
	{ GPT, 1, 2, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3, .stages = 2 },
	{ GPT, 2, 1, { ON_CUDA, .accum = 2, .clip_norm = 0.5 }, .updates = 3, .stages = 2 },
	{ LLAMA, 2, 1, { ON_CUDA, .accum = 2, .ranks.sequence = true }, .updates = 3, .stages = 2 },
};

START_TEST(split_models_train_like_one_rank)
{
	gt_autofree char *name = gt_xasprintf("split%d", _i);
	struct result r = run_with(name, "STANDIN_DEVICES=4 STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "like one rank\n");
}
END_TEST

/* ---- missing ranks ---- */

/* Before its third batch, `victim` stops, or its device stops in a collective (STANDIN_NCCL_FAIL). Only `waits` has a short
 * time limit, so its message is the first. */
static const struct missing {
	int size[RT_DIMS], victim, waits;
	const char *fail, *says;
} missing[] = {
	{ { 1, 1, 3 }, 2, 1, NULL, ": rank 2 has not arrived for 6 s" },
	{ { 2, 2, 1 }, 1, 0, NULL, ": rank 1 has not arrived for 6 s" },
	{ { 2, 1, 2 }, 3, 0, NULL, ": rank 3 has not arrived for 6 s" },
	{ { 1, 1, 3 }, 2, 1, "1:stuck:6", ": NCCL 2.22.3 made no progress for 6 s, and no missing rank is known" },
};

static int compile_split(const struct rt_mesh *m, struct rt_options o, struct rt_graph *g, struct rt_program **ret,
			 struct gt_err *err)
{
	o.ranks.comm = m->group[RT_DIM_DATA];
	o.ranks.tensor = m->group[RT_DIM_TENSOR];
	o.pipeline.comm = m->group[RT_DIM_PIPELINE];
	return rt_compile(g, split_declare(g, GPT, SPLIT_BATCH / m->size[RT_DIM_DATA]), &o, ret, err);
}

static int train_until_lost(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int32_t x[SPLIT_BATCH * SPLIT_LEN], y[SPLIT_BATCH * SPLIT_LEN];
	const struct missing *t = arg;
	rt_auto_mesh m = { 0 }; /* freed after the program */
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	bool victim = rt_comm_rank(c) == t->victim;
	int r;

	rt_comm_set_timeout(c, rt_comm_rank(c) == t->waits ? 6 : 120);
	if (victim && t->fail)
		setenv("STANDIN_NCCL_FAIL", t->fail, 1);
	r = rt_mesh_open(c, t->size, &m, err);
	if (!r)
		r = compile_split(&m, (struct rt_options){ ON_CUDA, .accum = 4, .threads = 1 }, g, &p, err);
	for (int i = 0; !r && i < 12; i++) {
		struct rt_metrics got;

		while (victim && !t->fail && i == 2)
			pause();
		split_draw(g, (uint64_t)i, 0, SPLIT_BATCH / t->size[RT_DIM_DATA], (void *[]){ x, y });
		r = rt_step(p, (const void *[]){ x, y }, &got, err);
	}
	return r ? r : rt_wait(p, err);
}

START_TEST(a_missing_rank_of_a_split_is_named_if_it_is_known)
{
	gt_autofree char *name = gt_xasprintf("missing%d", _i), *waits = gt_xasprintf("rank %d", missing[_i].waits);
	struct result r = run_with(name, "STANDIN_DEVICES=4 STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_msg(gt_starts_with(r.out, waits) && strstr(r.out, missing[_i].says), "%s", r.out);
}
END_TEST

/* ---- memory ---- */

static void keep_plan(void *arg, const struct rt_memory *m)
{
	*(struct rt_memory *)arg = *m;
}

static int plan_memory(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const int *size = arg;
	rt_auto_mesh m = { 0 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_auto_json *report = NULL;
	struct rt_memory plan = { 0 };
	uint64_t measured;
	int r = rt_mesh_open(c, size, &m, err);

	if (!r)
		r = compile_split(&m, (struct rt_options){ ON_CUDA, .accum = 2, .threads = 1,
							   .ranks.compress = size[RT_DIM_DATA] > 1 ? RT_COMPRESS_INT8 : 0,
							   .memory = { .planned = keep_plan, .planned_arg = &plan } }, g, &p, err);
	if (r)
		return r;
	report = rt_program_report(p);
	measured = (uint64_t)gt_json_get_int(json_object_get(report, "memory"), "measured_bytes", 0);
	rt_comm_answer(c, measured >= plan.planned_bytes && measured < plan.planned_bytes + 8192 ? "as planned" : "not as planned");
	return 0;
}

START_TEST(the_plan_includes_the_memory_of_messages)
{
	struct result r = run_with(_i ? "memory-data" : "memory-stages", "STANDIN_DEVICES=2 STANDIN_SMS=1", STANDIN_DIR);

	ck_assert_str_eq(r.out, "as planned\n");
}
END_TEST

void add_tensor_tests(TCase *tc)
{
	tcase_add_loop_test(tc, split_models_train_like_one_rank, 0, GT_ARRAY_SIZE(splits));
	tcase_add_loop_test(tc, a_missing_rank_of_a_split_is_named_if_it_is_known, 0, GT_ARRAY_SIZE(missing));
	tcase_add_loop_test(tc, the_plan_includes_the_memory_of_messages, 0, 2);
}

static int run_and_tell(int ranks, rt_rank_main *fn, const void *arg)
{
	struct rt_group group = { .ranks = ranks };
	struct gt_err err = { 0 };
	int r = rt_group_run(&group, fn, (void *)(uintptr_t)arg, &err);

	puts(r ? err.msg : group.answer ? group.answer : "all ranks have ended");
	free(group.answer);
	return r != 0;
}

int child_tensor(const char *what)
{
	static const int stages[RT_DIMS] = { 1, 1, 2 }, data[RT_DIMS] = { 1, 2, 1 };
	struct gt_err err = { 0 };
	int r;

	if (gt_starts_with(what, "missing")) {
		const struct missing *t = &missing[atoi(what + 7)];

		return run_and_tell(t->size[0] * t->size[1] * t->size[2], train_until_lost, t);
	}
	if (gt_starts_with(what, "memory-"))
		return run_and_tell(2, plan_memory, gt_streq(what, "memory-data") ? data : stages);
	if (strncmp(what, "split", 5) != 0)
		return -1;
	r = split_trains_like_one_rank(splits[atoi(what + 5)], &err);
	puts(r ? err.msg : "like one rank");
	return r != 0;
}
