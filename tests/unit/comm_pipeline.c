/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a pipeline train like one rank that accumulates the microbatches, in both schedules. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/backend/program.h"
#include "tests/unit/check_comm.h"

#define PP_ROWS	2 /* rows of a microbatch */
#define UPDATES	3

static const struct pipeline_case {
	const char *what;
	enum model { GPT, BERT, VIT, MLP } model;
	int stages, microbatches;
	enum rt_schedule schedule;
	struct rt_options opt;
} cases[] = {
	{ "gpt, 1f1b", GPT, 2, 4, RT_1F1B, { .optimizer = ADAMW } },
	{ "gpt, gpipe", GPT, 2, 4, RT_GPIPE, { .optimizer = ADAMW } },
	{ "gpt, 4 stages", GPT, 4, 5, RT_1F1B, { .optimizer = ADAMW } },
	{ "gpt, more stages than microbatches", GPT, 4, 2, RT_1F1B, { .optimizer = ADAMW } },
	{ "gpt, one microbatch", GPT, 2, 1, RT_1F1B, { .optimizer = ADAMW } },
	{ "gpt, clipped", GPT, 3, 4, RT_1F1B, { .optimizer = ADAMW, .clip_norm = 0.1 } },
	{ "gpt, dropout, recomputed", GPT, 2, 4, RT_1F1B, { .optimizer = ADAMW, .memory.checkpoint = 3 } },
	{ "gpt, bf16", GPT, 2, 4, RT_1F1B, { .optimizer = ADAMW, .precision.amp = RT_BF16 } },
	{ "gpt, memory poisoned", GPT, 3, 4, RT_1F1B, { .optimizer = ADAMW, .debug.poison = true } },
	{ "gpt, 8-bit moments", GPT, 2, 3, RT_GPIPE, { .optimizer = { .kind = RT_ADAMW8, .lr = 1e-2 } } },
	{ "bert", BERT, 3, 4, RT_1F1B, { .optimizer = ADAMW } },
	{ "vit", VIT, 2, 3, RT_GPIPE, { .optimizer = ADAMW } },
	{ "mlp, sgd", MLP, 3, 4, RT_1F1B, { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } },
};

static struct rt_node *declare(struct rt_graph *g, enum model model, bool dropout)
{
	struct rt_gpt_config k = { .batch = PP_ROWS, .seq = 16, .layers = 3, .width = 32, .heads = 2, .vocab = 64,
				   .dropout = dropout ? 0.1f : 0 };

	if (model == GPT)
		return rt_model_gpt(g, &k);
	if (model == BERT)
		return rt_model_bert(g, &k);
	if (model == VIT)
		return rt_model_vit(g, &(struct rt_vit_config){ .batch = PP_ROWS, .size = 32, .patch = 16, .layers = 2, .width = 32,
								.heads = 2, .classes = 64 });
	return rt_model_mlp(g, PP_ROWS, (const int64_t[]){ 40, 48, 32, 64 }, 4);
}

struct batch {
	union {
		int32_t id[PP_ROWS * 16];
		float f[PP_ROWS * 32 * 32 * 3];
	} x;
	int32_t y[PP_ROWS * 16];
};

static void fill(struct batch *b, enum model model, uint64_t t)
{
	for (uint64_t i = 0; i < GT_ARRAY_SIZE(b->x.f); i++)
		if (model == VIT || model == MLP)
			b->x.f[i] = rt_random_normal(5, t, i);
	for (uint64_t i = 0; i < GT_ARRAY_SIZE(b->y); i++) {
		int32_t id = (int32_t)(rt_random_u64(1, t, i) % 64);

		if (model == GPT || model == BERT)
			b->x.id[i] = id;
		b->y[i] = (id * 5 + 1) % 64;
	}
}

static int update(struct rt_program *p, const struct pipeline_case *t, uint64_t step, double *ret_loss, struct gt_err *err)
{
	gt_autofree struct batch *b = gt_xcalloc(1, sizeof(*b));
	struct rt_metrics m = { 0 };

	for (int i = 0; i < t->microbatches; i++) {
		int r;

		fill(b, t->model, step * 100 + (uint64_t)i);
		r = rt_step(p, (const void *[]){ &b->x, b->y }, &m, err);
		if (r)
			return r;
	}
	*ret_loss = m.update_loss;
	return 0;
}

static int same_gradients(const struct pipeline_case *t, const struct rt_graph *g, struct rt_program *p, struct rt_program *one,
			  int *ret_compared, struct gt_err *err)
{
	double limit = t->opt.precision.amp == RT_BF16 ? 1e-5 : 1e-6;

	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		const float *x = rt_gradient(p, n), *y = rt_gradient(one, n);
		double most = 0, off = 0;

		if (!x)
			continue;
		for (int64_t k = 0; k < rt_shape_elements(rt_node_shape(n)); k++) {
			most = fmax(most, fabs((double)y[k]));
			off = fmax(off, fabs((double)x[k] - (double)y[k]));
		}
		(*ret_compared)++;
		WANT(off <= limit * most, "%s: the gradient of %s differs by %g of %g", t->what, rt_node_name(n), off, most);
	}
	return 0;
}

static int in_files(const struct pipeline_case *t, const struct rt_graph *g, struct rt_node *loss, struct rt_comm *c,
		    struct rt_program *p, struct rt_options opt, const char *dir, struct gt_err *err)
{
	gt_autofree char *staged = gt_xasprintf("%s/staged", dir), *alone = gt_xasprintf("%s/alone%d", dir, rt_comm_rank(c));
	gt_autofree char *a = NULL, *b = NULL;
	gt_auto(rt_program) *one = NULL;
	size_t na, nb;
	uint64_t ticket = 0;
	double x = 0, y = 0;
	int r = rt_save(p, staged, 7, err);

	if (!r)
		r = rt_comm_agree(c, 1, "the end of writing", err);
	if (!r)
		r = rt_compile(g, loss, &opt, &one, err);
	if (!r)
		r = rt_load(one, staged, &ticket, err);
	if (!r)
		r = rt_save(one, alone, ticket, err);
	if (!r)
		r = gt_file_read(staged, 1 << 24, &a, &na, err);
	if (!r)
		r = gt_file_read(alone, 1 << 24, &b, &nb, err);
	if (r)
		return r;
	WANT(na == nb && !memcmp(a, b, na), "%s: the file of %d stages differs from that of one rank", t->what, t->stages);
	r = rt_load(p, alone, &ticket, err);
	WANT(r || ticket == 7, "ticket %llu", (unsigned long long)ticket);
	if (!r)
		r = update(p, t, 50, &x, err);
	if (!r)
		r = update(one, t, 50, &y, err);
	WANT(r || fabs(x - y) < 1e-4, "%s: after loading, a loss of %.8f in stages and %.8f alone", t->what, x, y);
	unlink(alone);
	return r;
}

typedef int group_run(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err);
struct staged {
	const struct pipeline_case *t;
	char dir[64];
};

static int stages_train(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct staged *job = arg;
	const struct pipeline_case *t = job->t;
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL, *one = NULL;
	struct rt_node *loss = declare(g, t->model, strstr(t->what, "dropout") != NULL);
	struct rt_options opt = t->opt;
	double of[RT_MAX_RANKS];
	int compared = 0, r;

	opt.seed = 3;
	opt.threads = 1;
	opt.accum = t->microbatches;
	opt.debug.keep_gradients = true;
	r = rt_compile(g, loss, &opt, &one, err);
	opt.pipeline = (struct rt_pipeline_options){ .comm = c, .schedule = t->schedule };
	if (!r)
		r = rt_compile(g, loss, &opt, &p, err);
	for (uint64_t i = 0; !r && i < UPDATES; i++) {
		double x = 0, y = 0;

		r = update(one, t, i, &y, err);
		if (!r)
			r = update(p, t, i, &x, err);
		WANT(r || fabs(x - y) < 1e-4, "%s: update %d: a loss of %.8f in stages and %.8f alone", t->what, (int)i, x, y);
		if (!r && i == 0)
			r = same_gradients(t, g, p, one, &compared, err);
	}
	WANT(r || compared > 0, "%s: no gradient was compared", t->what);
	if (!r)
		r = rt_comm_gather(c, (double)p->plan.stage->in_flight, of, err);
	for (int i = 0; !r && i < t->stages; i++)
		WANT((int)of[i] == GT_MIN(t->microbatches, t->schedule == RT_GPIPE ? t->microbatches : t->stages - i),
		     "%s: stage %d holds %g microbatches", t->what, i, of[i]);
	opt.pipeline.comm = NULL;
	return r ? r : in_files(t, g, loss, c, p, opt, job->dir, err);
}

static int run_case(const struct pipeline_case *t, group_run *run_ranks, struct gt_err *err)
{
	struct staged job = { .t = t, .dir = "/tmp/gputune-pipelineXXXXXX" };
	gt_autofree char *file = NULL;
	int r;

	if (!mkdtemp(job.dir))
		return gt_fail_errno(err, errno, "cannot make %s", job.dir);
	file = gt_xasprintf("%s/staged", job.dir);
	r = run_ranks(&(struct rt_group){ .ranks = t->stages }, stages_train, &job, err);
	unlink(file);
	rmdir(job.dir);
	return r;
}

/* Runs in check_comm --one-process, outside the Check framework. */
int pipelines_in_one_process(struct gt_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < 4; i++)
		r = run_case(&cases[i], rt_group_threads, err);
	return r;
}

START_TEST(stages_equal_one_rank)
{
	struct gt_err err = { 0 };

	ck_assert_msg(run_case(&cases[_i], rt_group_run, &err) == 0, "%s", err.msg);
}
END_TEST

/* ---- memory ---- */

static int arena_of(struct rt_comm *c, enum rt_schedule schedule, int microbatches, double *ret, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .threads = 1, .seed = 1, .accum = microbatches, .optimizer = ADAMW,
				  .pipeline = { .comm = c, .schedule = schedule } };
	int r = rt_compile(g, declare(g, GPT, false), &opt, &p, err);

	*ret = r ? 0 : (double)p->plan.arena_bytes;
	return r;
}

static int count_memory(struct rt_comm *c, void *arg, struct gt_err *err)
{
	double few, many, more_1f1b;
	int r = arena_of(c, RT_1F1B, 3, &few, err);

	if (!r)
		r = arena_of(c, RT_1F1B, 12, &more_1f1b, err);
	if (r)
		return r;
	WANT(more_1f1b <= 1.02 * few, "stage %d of 1f1b needs %g bytes for 3 microbatches and %g for 12", rt_comm_rank(c), few,
	     more_1f1b);
	r = arena_of(c, RT_GPIPE, 3, &few, err);
	if (!r)
		r = arena_of(c, RT_GPIPE, 12, &many, err);
	WANT(r || many > few + 9 * 16 * 32 * 4 * PP_ROWS, "stage %d of gpipe needs %g bytes for 3 microbatches and %g for 12",
	     rt_comm_rank(c), few, many);
	return r;
}

START_TEST(memory_of_1f1b_does_not_grow_with_the_microbatches)
{
	run(&(struct rt_group){ .ranks = 3 }, count_memory, NULL);
}
END_TEST

/* ---- bad input ---- */

struct bad {
	int how;
	const char *want;
};

static int fail_in_pipeline(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct bad *bad = arg;
	struct pipeline_case t = { .what = "bad", .model = MLP, .microbatches = bad->how == 1 ? 2 + rt_comm_rank(c) : 4 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .threads = 1, .seed = 1, .accum = t.microbatches, .optimizer = ADAMW, .pipeline.comm = c };
	struct rt_node *loss = declare(g, MLP, false);
	double x;
	int r = rt_compile(g, loss, &opt, &p, err);

	for (uint64_t i = 0; !r && i < 4; i++) {
		if (i == 2 && bad->how == 3)
			rt_comm_set_timeout(c, 2);
		if (rt_comm_rank(c) == 1 && i == 2 && bad->how == 2)
			raise(SIGKILL);
		if (rt_comm_rank(c) == 1 && i == 2 && bad->how == 3)
			pause();
		if (rt_comm_rank(c) == 2 && i == 2 && bad->how == 4)
			rt_value(p, rt_graph_node(g, "fc2.weight"))[0] = NAN;
		r = update(p, &t, i, &x, err);
	}
	return r;
}

static const struct bad bad_pipelines[] = {
	{ 0, "4 pipeline stages: the model can be cut into at most 3" },
	{ 1, "do not agree on the stages of the pipeline" },
	{ 2, "rank 1: killed by signal 9 (Killed)" },
	{ 3, "rank 1 has not arrived for 2 s" },
	{ 4, "rank 2: the loss of step 3 is nan; first not finite: loss; no parameter was changed" },
};

START_TEST(a_pipeline_that_cannot_continue_ends_every_rank)
{
	struct rt_group g = { .ranks = _i == 0 ? 4 : 3, .grace_s = 0.5 };
	struct bad bad = bad_pipelines[_i];
	struct gt_err err = { 0 };

	ck_assert_int_lt(rt_group_run(&g, fail_in_pipeline, &bad, &err), 0);
	ck_assert_msg(strstr(err.msg, bad.want) != NULL, "%s", err.msg);
}
END_TEST

TCase *case_pipeline(void)
{
	TCase *t = tcase_create("pipeline");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, stages_equal_one_rank, 0, GT_ARRAY_SIZE(cases));
	tcase_add_test(t, memory_of_1f1b_does_not_grow_with_the_microbatches);
	tcase_add_loop_test(t, a_pipeline_that_cannot_continue_ends_every_rank, 0, GT_ARRAY_SIZE(bad_pipelines));
	return t;
}
