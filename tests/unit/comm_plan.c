/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a rank has the memory and the messages of its program, in all splits of four ranks. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include "tests/unit/check_comm.h"

#define PLAN_ROWS	2
#define PLAN_SEQ	16
#define PLAN_VOCAB	64
#define PLAN_UPDATES	4 /* the report of a pipeline omits the first two */

struct plan_case {
	int dp, tp, pp, zero, accum;
	bool llama;
	enum rt_dtype amp;
	bool sequence, gather;
};

static struct rt_node *declare(struct rt_graph *g, bool llama)
{
	if (llama)
		return rt_model_llama(g, &(struct rt_llama_config){ .batch = PLAN_ROWS, .seq = PLAN_SEQ, .layers = 4, .width = 64,
								    .heads = 4, .kv_heads = 4, .ffn = 96, .vocab = PLAN_VOCAB,
								    .rope_base = 10000, .eps = 1e-5f });
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = PLAN_ROWS, .seq = PLAN_SEQ, .layers = 4, .width = 64, .heads = 4,
							.vocab = PLAN_VOCAB });
}

static struct rt_options options_of(const struct plan_case *t)
{
	return (struct rt_options){
		.threads = 1, .seed = 1, .accum = t->accum, .optimizer = ADAMW, .precision.amp = t->amp,
		.ranks = { .sequence = t->sequence, .gather = t->gather,
			   .shard = t->zero ? RT_WHEN_ON : RT_WHEN_OFF, .shard_stage = t->zero },
	};
}

static int updates(struct rt_program *p, int batches, struct gt_err *err)
{
	int32_t ids[PLAN_ROWS * PLAN_SEQ];

	for (size_t i = 0; i < GT_ARRAY_SIZE(ids); i++)
		ids[i] = (int32_t)(i % PLAN_VOCAB);
	for (int i = 0; i < batches; i++) {
		struct rt_metrics m;
		int r = rt_step(p, (const void *[]){ ids, ids }, &m, err);

		if (r)
			return r;
	}
	return 0;
}

static double reported(const json_t *doc, const char *object, const char *key)
{
	return gt_json_get_real(json_object_get(doc, object), key, 0);
}

static int same_messages(const struct rt_program *p, const struct rt_rank_plan *plan, const struct plan_case *t, struct gt_err *err)
{
	gt_auto_json *doc = rt_program_report(p);
	double data = reported(doc, "ddp", "sent_bytes_per_step");
	double tensor = reported(json_object_get(doc, "groups"), "tensor", "sent_bytes") / PLAN_UPDATES;
	double pipeline = reported(doc, "pipeline", "sent_bytes");

	WANT(fabs(plan->data_bytes - data) < 0.5, "data parallel: %.0f bytes planned, %.0f sent", plan->data_bytes, data);
	WANT(fabs(plan->tensor_bytes - tensor) < 0.5, "tensor parallel: %.0f bytes planned, %.0f sent", plan->tensor_bytes, tensor);
	WANT(fabs(plan->pipeline_bytes - pipeline) < 0.5, "pipeline: %.0f bytes planned, %.0f sent", plan->pipeline_bytes,
	     pipeline);
	WANT(fabs(plan->flops - rt_program_flops(p) * t->accum) < 0.5, "%.0f flops planned, %.0f executed", plan->flops,
	     rt_program_flops(p) * t->accum);
	return 0;
}

static int compare(const struct plan_case *t, const struct rt_mesh *m, struct gt_err *err)
{
	const struct rt_split split = { t->dp, t->tp, t->pp, m->at[RT_DIM_DATA], m->at[RT_DIM_TENSOR], m->at[RT_DIM_PIPELINE] };
	const struct rt_rates rates = { 1e9, 1e9, 1e9 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = options_of(t);
	struct rt_node *loss = declare(g, t->llama);
	struct rt_rank_plan plan;
	int r = rt_plan_rank(g, loss, &opt, &split, &rates, &plan, err);

	if (r)
		return r;
	opt.ranks.comm = m->group[RT_DIM_DATA];
	opt.ranks.tensor = m->group[RT_DIM_TENSOR];
	opt.pipeline.comm = m->group[RT_DIM_PIPELINE];
	r = rt_compile(g, loss, &opt, &p, err);
	if (r)
		return r;
	WANT(plan.planned_bytes == rt_program_planned_bytes(p), "%llu bytes planned, %llu mapped",
	     (unsigned long long)plan.planned_bytes, (unsigned long long)rt_program_planned_bytes(p));
	r = updates(p, PLAN_UPDATES * t->accum, err);
	return r ? r : same_messages(p, &plan, t, err);
}

static int plan_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct plan_case *t = arg;
	rt_auto_mesh m = { 0 };
	const int size[] = { [RT_DIM_TENSOR] = t->tp, [RT_DIM_DATA] = t->dp, [RT_DIM_PIPELINE] = t->pp };
	int r = rt_mesh_open(c, size, &m, err);

	return r ? r : compare(t, &m, err);
}

static const struct plan_case plan_cases[] = {
	{ 4, 1, 1, 0, 1, false, RT_F32 }, { 4, 1, 1, 1, 1, false, RT_F32 }, { 4, 1, 1, 2, 1, false, RT_F32 },
	{ 4, 1, 1, 3, 1, false, RT_F32 }, { 4, 1, 1, 0, 3, true, RT_BF16 }, { 4, 1, 1, 3, 2, true, RT_F32 },
	{ 1, 4, 1, 0, 1, false, RT_F32 }, { 1, 4, 1, 0, 2, true, RT_F32 },  { 1, 1, 4, 0, 4, false, RT_F32 },
	{ 1, 1, 4, 0, 6, true, RT_BF16 }, { 2, 2, 1, 0, 1, false, RT_F32 }, { 2, 2, 1, 1, 2, true, RT_F32 },
	{ 2, 2, 1, 2, 1, true, RT_F32 },  { 2, 2, 1, 3, 1, false, RT_F32 }, { 2, 1, 2, 0, 4, false, RT_F32 },
	{ 2, 1, 2, 1, 4, true, RT_F32 },  { 2, 1, 2, 2, 4, false, RT_F32 }, { 2, 1, 2, 3, 4, true, RT_F32 },
	{ 1, 2, 2, 0, 4, false, RT_F32 },  { 1, 2, 2, 0, 5, true, RT_BF16 },
	{ 1, 4, 1, 0, 1, false, RT_F32, true }, { 2, 2, 1, 3, 2, true, RT_F32, true }, { 1, 2, 2, 0, 4, false, RT_F32, true },
	{ 4, 1, 1, 0, 2, false, RT_F32, .gather = true }, { 2, 1, 2, 0, 4, true, RT_F32, .gather = true },
};

START_TEST(a_plan_is_the_program_of_its_rank)
{
	struct rt_group group = { .ranks = 4 };
	struct plan_case t = plan_cases[_i];

	run(&group, plan_rank, &t);
}
END_TEST

/* With buckets that are small compared with the model. */
START_TEST(each_stage_of_sharding_plans_less_memory_in_a_pipeline)
{
	const struct rt_gpt_config k = { .batch = 2, .seq = 16, .layers = 6, .width = 64, .heads = 2, .vocab = 64 };
	const struct rt_rates rates = { 1e9, 1e9, 1e9 };
	struct rt_rank_plan plan[4];

	for (int zero = 0; zero <= 3; zero++) {
		const struct rt_split split = { .dp = 4, .tp = 1, .pp = 2, .stage = _i };
		struct rt_options opt = options_of(&(struct plan_case){ .zero = zero, .accum = 4 });
		gt_auto(rt_graph) *g = rt_graph_new();
		struct gt_err err = { 0 };

		opt.ranks.first_bucket_bytes = opt.ranks.bucket_bytes = 1;
		ck_assert_msg(!rt_plan_rank(g, rt_model_gpt(g, &k), &opt, &split, &rates, &plan[zero], &err), "%s", err.msg);
	}
	for (int zero = 1; zero <= 3; zero++)
		ck_assert_msg(plan[zero].planned_bytes < plan[zero - 1].planned_bytes, "ZeRO %d needs %llu bytes, ZeRO %d %llu",
			      zero, (unsigned long long)plan[zero].planned_bytes, zero - 1,
			      (unsigned long long)plan[zero - 1].planned_bytes);
	ck_assert(plan[2].gradient_bytes < plan[1].gradient_bytes / 2 && plan[3].parameter_bytes < plan[2].parameter_bytes / 3);
	ck_assert(plan[2].data_bytes > 2 * plan[1].data_bytes); /* four reductions instead of one */
}
END_TEST

TCase *case_plan(void)
{
	TCase *t = tcase_create("plan");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, each_stage_of_sharding_plans_less_memory_in_a_pipeline, 0, 2);
	tcase_add_loop_test(t, a_plan_is_the_program_of_its_rank, 0, GT_ARRAY_SIZE(plan_cases));
	return t;
}
