/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that combine tensor, data and pipeline parallelism and sharding train like one rank, with the same checkpoints. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/backend/program.h"
#include "runtime/ckpt/st_file.h"
#include "tests/unit/check_comm.h"

#define BATCH	8 /* rows of all ranks in one update */
#define MICRO	2 /* microbatches of an update */
#define LEN	8
#define VOCAB	61
#define UPDATES	50

struct grid {
	const char *what;
	bool llama;
	int tensor, data, stages, shard;
	struct rt_options opt;
};
/* The momentum after the first update is its gradient. */
#define SGD	{ .kind = RT_SGD, .lr = 0.05, .momentum = 0.9 }
#define SMALL_BUCKETS { .first_bucket_bytes = 4096, .bucket_bytes = 16384, .overlap = RT_WHEN_ON }
static const struct grid grids[] = {
	{ "gpt, tensor x pipeline", false, 2, 1, 2, 0, { .optimizer = SGD } },
	{ "gpt, data x pipeline", false, 1, 2, 2, 0, { .optimizer = SGD } },
	{ "gpt, data x pipeline, shard 1", false, 1, 2, 2, 1, { .optimizer = SGD } },
	{ "gpt, data x tensor", false, 2, 2, 1, 0, { .optimizer = SGD } },
	{ "gpt, data x tensor, shard 1", false, 2, 2, 1, 1, { .optimizer = SGD } },
	{ "gpt, data x tensor, shard 2", false, 2, 2, 1, 2, { .optimizer = SGD } },
	{ "gpt, data x tensor, shard 3", false, 2, 2, 1, 3, { .optimizer = SGD } },
	{ "gpt, data x tensor x pipeline", false, 2, 2, 2, 0, { .optimizer = SGD } },
	{ "gpt, data x tensor x pipeline, shard 1", false, 2, 2, 2, 1, { .optimizer = SGD } },
	{ "gpt, data x pipeline, shard 2", false, 1, 2, 2, 2, { .optimizer = SGD } },
	{ "gpt, data x pipeline, shard 3", false, 1, 2, 2, 3, { .optimizer = SGD } },
	{ "gpt, data x pipeline, recomputed, shard 3", false, 1, 2, 2, 3, { .optimizer = SGD, .memory.checkpoint = 2 } },
	{ "gpt, data x pipeline, poisoned, shard 3", false, 1, 2, 2, 3, { .optimizer = SGD, .debug.poison = true } },
	{ "gpt, data x pipeline, small buckets", false, 1, 2, 2, 0, { .optimizer = SGD, .ranks = SMALL_BUCKETS } },
	{ "gpt, data x pipeline, small buckets, shard 1", false, 1, 2, 2, 1, { .optimizer = SGD, .ranks = SMALL_BUCKETS } },
	{ "gpt, data x pipeline, small buckets, shard 2", false, 1, 2, 2, 2, { .optimizer = SGD, .ranks = SMALL_BUCKETS } },
	{ "gpt, data x tensor x pipeline, clipped, shard 2", false, 2, 2, 2, 2, { .optimizer = SGD, .clip_norm = 0.5 } },
	{ "gpt, tensor x pipeline, gpipe", false, 2, 1, 2, 0, { .optimizer = SGD, .pipeline.schedule = RT_GPIPE } },
	{ "gpt, tensor x pipeline, clipped", false, 2, 1, 2, 0, { .optimizer = SGD, .clip_norm = 0.5 } },
	{ "gpt, data x tensor x pipeline, clipped, shard 1", false, 2, 2, 2, 1, { .optimizer = SGD, .clip_norm = 0.5 } },
	{ "gpt, tensor x pipeline, recomputed", false, 2, 1, 2, 0, { .optimizer = SGD, .memory.checkpoint = 2 } },
	{ "gpt, tensor x pipeline, poisoned", false, 2, 1, 2, 0, { .optimizer = SGD, .debug.poison = true } },
	{ "gpt, tensor x pipeline, tokens split", false, 2, 1, 2, 0, { .optimizer = SGD, .ranks.sequence = true } },
	{ "gpt, data x tensor x pipeline, tokens split, shard 1", false, 2, 2, 2, 1, { .optimizer = SGD, .ranks.sequence = true } },
	{ "llama, data x tensor, tokens split, shard 3", true, 2, 2, 1, 3, { .optimizer = SGD, .ranks.sequence = true } },
	{ "llama, tensor x pipeline", true, 2, 1, 2, 0, { .optimizer = SGD } },
	{ "llama, data x pipeline, shard 1", true, 1, 2, 2, 1, { .optimizer = SGD } },
	{ "llama, data x tensor, shard 3", true, 2, 2, 1, 3, { .optimizer = SGD } },
	{ "llama, data x tensor x pipeline, shard 1", true, 2, 2, 2, 1, { .optimizer = SGD } },
	{ "llama, all splits, tokens split, shard 3", true, 2, 2, 2, 3, { .optimizer = SGD, .ranks.sequence = true } },
};

struct grid_job {
	struct grid grid;
	char dir[32];
	const double *loss; /* losses of one rank, by update */
};

static struct rt_node *declare(struct rt_graph *g, bool llama, int64_t rows)
{
	const struct rt_llama_config l = { .batch = rows, .seq = LEN, .layers = 3, .width = 32, .heads = 4, .kv_heads = 2,
					   .ffn = 48, .vocab = VOCAB, .rope_base = 10000, .eps = 1e-5f };
	const struct rt_gpt_config k = { .batch = rows, .seq = LEN, .layers = 3, .width = 32, .heads = 4, .vocab = VOCAB };

	return llama ? rt_model_llama(g, &l) : rt_model_gpt(g, &k);
}

/* A failure in a stage must change no parameter. */
static int check_updates(const struct rt_program *p, struct gt_err *err)
{
	bool met = false;

	for (int i = 0; p->plan.stage && i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		met |= c->op->collective == RT_STAGES_MEET;
		WANT(met || c->phase != RT_PHASE_UPDATE || c->op->collective, "%s of %s runs before the stages meet", c->op->name,
		     c->origin);
	}
	return 0;
}

static int compile(const struct grid *k, const struct rt_mesh *m, struct rt_program **ret, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_options opt = k->opt;

	opt.threads = 1;
	opt.seed = 3;
	opt.accum = MICRO;
	opt.ranks.comm = m ? m->group[RT_DIM_DATA] : NULL;
	opt.ranks.tensor = m ? m->group[RT_DIM_TENSOR] : NULL;
	opt.ranks.shard = k->shard ? RT_WHEN_ON : RT_WHEN_OFF;
	opt.ranks.shard_stage = k->shard;
	opt.pipeline.comm = m ? m->group[RT_DIM_PIPELINE] : NULL;
	return rt_compile(g, declare(g, k->llama, BATCH / MICRO / (m ? k->data : 1)), &opt, ret, err);
}

static int update(struct rt_program *p, const struct grid *k, const struct rt_mesh *m, uint64_t step, double *ret_loss,
		  struct gt_err *err)
{
	uint64_t rows = BATCH / MICRO / (uint64_t)(m ? k->data : 1), first = m ? (uint64_t)m->at[RT_DIM_DATA] * rows : 0;
	struct rt_metrics got = { 0 };

	for (uint64_t b = 0; b < MICRO; b++) {
		int32_t x[BATCH * LEN], y[BATCH * LEN];
		int r;

		for (uint64_t i = 0; i < rows * LEN; i++) {
			x[i] = (int32_t)(rt_random_u64(5, step * MICRO + b, first * LEN + i) % VOCAB);
			y[i] = (x[i] * 5 + 1) % VOCAB;
		}
		r = rt_step(p, (const void *[]){ x, y }, &got, err);
		if (r)
			return r;
	}
	*ret_loss = got.update_loss;
	return 0;
}

/* Saves by the data parallel ranks 0, which have the whole model together. The other ranks wait. */
static int save(struct rt_program *p, const struct rt_mesh *m, const char *path, struct gt_err *err)
{
	int r = m->at[RT_DIM_DATA] == 0 ? rt_save(p, path, 7, err) : 0;

	return r ? r : rt_comm_agree(m->world, 0, "the end of writing", err);
}

static int compare_tensor(const struct rt_st_tensor *t, const struct rt_st_file *got, const struct rt_st_file *want,
			  struct gt_err *err)
{
	uint64_t n = (t->end - t->begin) / sizeof(float);
	gt_autofree float *x = gt_xcalloc(n, sizeof(*x)), *y = gt_xcalloc(n, sizeof(*y));
	double most = 0, off = 0;
	int r = rt_st_read(got, t->begin, x, t->end - t->begin, err);

	if (r)
		return r;
	r = rt_st_read(want, t->begin, y, t->end - t->begin, err);
	if (r)
		return r;
	for (uint64_t i = 0; i < n; i++) {
		most = fmax(most, fabs((double)y[i]));
		off = fmax(off, fabs((double)x[i] - (double)y[i]));
	}
	WANT(off <= 1e-6 * most, "%s differs by %g of %g", t->name, off, most);
	return 0;
}

static int compare_files(const char *got_path, const char *want_path, struct gt_err *err)
{
	rt_auto_st_file got = RT_ST_CLOSED, want = RT_ST_CLOSED;
	rt_auto_safetensors a = { 0 }, b = { 0 };
	int r = rt_st_open(got_path, &got, &a, err);

	if (r)
		return r;
	r = rt_st_open(want_path, &want, &b, err);
	if (r)
		return r;
	WANT(a.n == b.n && a.n > 30, "%zu tensors and %zu", a.n, b.n);
	for (size_t i = 0; i < a.n; i++) {
		WANT(gt_streq(a.tensor[i].name, b.tensor[i].name), "%s and %s", a.tensor[i].name, b.tensor[i].name);
		r = compare_tensor(&b.tensor[i], &got, &want, err);
		if (r)
			return r;
	}
	return 0;
}

/* Compares parameters and gradients after the first update, and the loss of each update, with those of one rank. */
static int train_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct grid_job *j = arg;
	const struct grid *k = &j->grid;
	gt_autofree char *one = gt_xasprintf("%s/one", j->dir), *all = gt_xasprintf("%s/all", j->dir);
	rt_auto_mesh m = { 0 };
	gt_auto(rt_program) *p = NULL;
	int r = rt_mesh_open(c, (const int[]){ k->tensor, k->data, k->stages }, &m, err);

	if (!r)
		r = compile(k, &m, &p, err);
	if (!r)
		r = check_updates(p, err);
	for (uint64_t t = 0; !r && t < UPDATES; t++) {
		double loss;

		r = update(p, k, &m, t, &loss, err);
		WANT(r || fabs(loss - j->loss[t]) < 1e-4, "%s, update %d: a loss of %.7f, not %.7f", k->what, (int)t, loss,
		     j->loss[t]);
		if (!r && t == 0)
			r = save(p, &m, all, err);
		if (!r && t == 0 && rt_comm_rank(c) == 0)
			r = compare_files(all, one, err);
	}
	return r;
}

static int train_one(struct grid_job *j, double *loss, struct gt_err *err)
{
	gt_autofree char *one = gt_xasprintf("%s/one", j->dir);
	gt_auto(rt_program) *p = NULL;
	int r = compile(&j->grid, NULL, &p, err);

	for (uint64_t t = 0; !r && t < UPDATES; t++) {
		r = update(p, &j->grid, NULL, t, &loss[t], err);
		if (!r && t == 0)
			r = rt_save(p, one, 7, err);
	}
	j->loss = loss;
	return r;
}

static void make_dir(struct grid_job *j)
{
	snprintf(j->dir, sizeof(j->dir), "/tmp/gridXXXXXX");
	if (!mkdtemp(j->dir))
		abort();
}

static void remove_dir(const struct grid_job *j)
{
	static const char *const files[] = { "one", "all", "again" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(files); i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", j->dir, files[i]);

		unlink(path);
	}
	rmdir(j->dir);
}

START_TEST(a_grid_of_ranks_trains_like_one_rank)
{
	struct grid_job j = { .grid = grids[_i] };
	struct gt_err err = { 0 };
	double loss[UPDATES];

	make_dir(&j);
	ck_assert_msg(train_one(&j, loss, &err) == 0, "%s", err.msg);
	run(&(struct rt_group){ .ranks = j.grid.tensor * j.grid.data * j.grid.stages }, train_rank, &j);
	remove_dir(&j);
}
END_TEST

/* In check_comm --one-process, outside of a test of Check. Tensor x pipeline, and data parallel ranks with sharding. */
int grids_in_one_process(struct gt_err *err)
{
	static const size_t of[] = { 0, 2, 6, 8, 10, 15 };
	int r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(of); i++) {
		const struct grid *k = &grids[of[i]];
		struct grid_job j = { .grid = *k };
		double loss[UPDATES];

		make_dir(&j);
		r = train_one(&j, loss, err);
		if (!r)
			r = rt_group_threads(&(struct rt_group){ .ranks = k->tensor * k->data * k->stages }, train_rank, &j, err);
		remove_dir(&j);
		printf("%s %s\n", r ? "not ok" : "ok", k->what);
	}
	return r;
}

/* ---- checkpoints ---- */

static int same_bytes(const char *a, const char *b, const char *what, struct gt_err *err)
{
	gt_autofree char *x = NULL, *y = NULL;
	size_t nx = 0, ny = 0;
	int r = gt_file_read(a, 1 << 24, &x, &nx, err);

	if (!r)
		r = gt_file_read(b, 1 << 24, &y, &ny, err);
	WANT(r || (nx == ny && !memcmp(x, y, nx)), "%s: the file changed when it was loaded and saved again", what);
	return r;
}

/* Loads the file with a grid of ranks, and saves it. */
static int through(struct rt_comm *c, const struct grid *k, const struct grid_job *j, struct gt_err *err)
{
	gt_autofree char *from = gt_xasprintf("%s/one", j->dir), *to = gt_xasprintf("%s/again", j->dir);
	rt_auto_mesh m = { 0 };
	gt_auto(rt_program) *p = NULL;
	uint64_t ticket = 0;
	int r = rt_mesh_open(c, (const int[]){ k->tensor, k->data, k->stages }, &m, err);

	if (!r)
		r = compile(k, &m, &p, err);
	if (!r)
		r = rt_load(p, from, &ticket, err);
	WANT(r || ticket == 7, "ticket %d", (int)ticket);
	if (!r) /* a rank saves the pieces of others */
		r = rt_comm_agree(c, 0, "the end of loading", err);
	if (!r)
		r = save(p, &m, to, err);
	if (!r && rt_comm_rank(c) == 0)
		r = same_bytes(from, to, k->what, err);
	return r;
}

static int through_all(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct grid_job *j = arg;

	for (size_t i = 0; i < GT_ARRAY_SIZE(grids); i++) {
		const struct grid *k = &grids[i];
		int r;

		if (k->llama != j->grid.llama || k->tensor * k->data * k->stages != rt_comm_size(c))
			continue;
		r = through(c, k, j, err);
		if (!r) /* the file is complete in all ranks before the next grid replaces it */
			r = rt_comm_agree(c, 0, "the grid", err);
		if (r)
			return r;
	}
	return 0;
}

START_TEST(each_grid_of_ranks_reads_and_writes_the_file_of_one_rank)
{
	struct grid_job j = { .grid = { .llama = _i & 1, .opt = { .optimizer = SGD } } };
	struct gt_err err = { 0 };
	double loss[UPDATES];

	make_dir(&j);
	ck_assert_msg(train_one(&j, loss, &err) == 0, "%s", err.msg);
	run(&(struct rt_group){ .ranks = _i < 2 ? 4 : 8 }, through_all, &j);
	remove_dir(&j);
}
END_TEST

TCase *case_grid(void)
{
	TCase *t = tcase_create("grid");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, a_grid_of_ranks_trains_like_one_rank, 0, GT_ARRAY_SIZE(grids));
	tcase_add_loop_test(t, each_grid_of_ranks_reads_and_writes_the_file_of_one_rank, 0, 4);
	return t;
}
