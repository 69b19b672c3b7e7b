/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks: collectives, training together, compression, and what happens when one is lost. Ranks check inside themselves and
 * answer with an error; rt_group_run() brings it here. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/comm/codec.h"
#include "runtime/comm/comm.h"
#include "runtime/runtime.h"

#define WANT(cond, ...)                                                                                                \
	do {                                                                                                           \
		if (!(cond))                                                                                           \
			return gt_fail(err, EPROTO, __VA_ARGS__);                                                      \
	} while (0)

static void run(struct rt_group *g, rt_rank_main *fn, void *arg)
{
	struct gt_err err = { 0 };

	ck_assert_msg(rt_group_run(g, fn, arg, &err) == 0, "%s", err.msg);
}

/* ---- collectives ---- */

static float value(int rank, int64_t i)
{
	return rt_random_normal(7, (uint64_t)rank, (uint64_t)i);
}

static int sums(struct rt_comm *c, void *arg, struct gt_err *err)
{
	static const int64_t counts[] = { 1, 15, 17, 1000, 70001 };
	int size = rt_comm_size(c), rank = rt_comm_rank(c);
	struct rt_window w = { 0 };
	float *x;
	int r = rt_window_map(c, 70001 * sizeof(float), false, &w, err);

	if (r)
		return r;
	r = rt_comm_set_weight(c, (double)(rank + 1) * 2 / (size * (size + 1)), err);
	x = (float *)(void *)w.base;
	for (size_t t = 0; !r && t < GT_ARRAY_SIZE(counts); t++) {
		struct rt_coll k = { .kind = RT_ALLREDUCE, .window = &w, .n = counts[t], .threads = 1 };

		r = rt_coll_init(&k, err);
		for (int round = 0; !r && round < 3; round++) {
			for (int64_t i = 0; i < k.n; i++)
				x[i] = value(rank, i + round);
			r = rt_coll_start(&k, err);
			if (!r)
				r = rt_coll_wait(&k, err);
			if (!r)
				r = rt_comm_agree(c, gt_hash64(x, (size_t)k.n * sizeof(float), 0), "the sum", err);
			for (int64_t i = 0; !r && i < k.n; i++) {
				double want = 0;

				for (int s = 0; s < size; s++)
					want += (double)value(s, i + round) * rt_comm_weight(c, s);
				WANT(fabs(want - (double)x[i]) < 1e-6, "n %lld element %lld is %g, not %g", (long long)k.n,
				     (long long)i, (double)x[i], want);
				WANT(!w.peer[0] || x[i] == ((float *)(void *)w.peer[0])[i], "element %lld differs between ranks",
				     (long long)i);
			}
			if (!r)
				r = rt_comm_agree(c, 1, "the end of a round", err);
		}
		rt_coll_clear(&k);
	}
	rt_window_unmap(&w);
	return r;
}

static const struct layout {
	int ranks, node[6];
} layouts[] = {
	{ 1, { 0 } },
	{ 2, { 0, 0 } },
	{ 3, { 0, 0, 0 } },
	{ 4, { 0, 0, 0, 0 } },
	{ 2, { 0, 1 } },
	{ 4, { 0, 0, 1, 1 } },
	{ 4, { 5, 2, 5, 2 } },	  /* nodes in any order */
	{ 6, { 0, 0, 1, 1, 2, 2 } },
	{ 3, { 0, 0, 1 } },	  /* not equally many: flat */
};

START_TEST(allreduce_is_the_weighted_sum_on_any_layout)
{
	run(&(struct rt_group){ .ranks = layouts[_i].ranks, .node = layouts[_i].node }, sums, NULL);
}
END_TEST

static int exchanges(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int size = rt_comm_size(c), rank = rt_comm_rank(c), r;
	struct rt_window w = { 0 };
	struct rt_coll all = { .kind = RT_ALLTOALL, .window = &w, .bytes = 64 };
	struct rt_coll gather = { .kind = RT_ALLGATHER, .window = &w, .offset = 1024, .bytes = 64 };

	r = rt_window_map(c, 2048, false, &w, err);
	if (!r)
		r = rt_coll_init(&all, err);
	if (!r)
		r = rt_coll_init(&gather, err);
	for (int i = 0; !r && i < size; i++)
		memset(w.base + i * 64, 16 * rank + i, 64);
	if (!r)
		r = rt_coll_start(&all, err);
	if (!r)
		r = rt_coll_wait(&all, err);
	for (int i = 0; !r && i < size; i++)
		WANT(((const char *)rt_coll_from(&all, i))[63] == 16 * i + rank, "alltoall from %d", i);
	memset(w.base + 1024, 100 + rank, 64);
	if (!r)
		r = rt_coll_start(&gather, err);
	if (!r)
		r = rt_coll_wait(&gather, err);
	for (int i = 0; !r && i < size; i++)
		WANT(((const char *)rt_coll_from(&gather, i))[0] == 100 + i, "allgather from %d", i);
	rt_coll_clear(&all);
	rt_coll_clear(&gather);
	rt_window_unmap(&w);
	return r;
}

START_TEST(every_rank_gets_what_the_others_have_for_it)
{
	run(&(struct rt_group){ .ranks = 3 }, exchanges, NULL);
}
END_TEST

/* ---- training ---- */

#define ROWS	8 /* of all ranks */
#define STEPS	6

struct job {
	struct rt_options opt;
	int rows[4]; /* of each rank; 0: equal */
	const int *node; /* of each rank; NULL: one node */
	int width;	 /* of the model; 0: 32 */
	const char *load, *save; /* checkpoints before the first step and after the last */
	int steps;	 /* 0: STEPS */
	double loss[STEPS];
};

static int train(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct job *j = arg;
	int rank = rt_comm_rank(c), first = 0, rows = j->rows[0] ? j->rows[rank] : ROWS / rt_comm_size(c);
	struct rt_gpt_config k = { .batch = rows, .seq = 16, .layers = 2, .width = j->width ? j->width : 32, .heads = 2,
				   .vocab = 64 };
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_program *p = NULL;
	uint64_t steps = j->steps ? (uint64_t)GT_MAX(j->steps, 0) : STEPS, hash = 0, ticket;
	int32_t x[ROWS * 16], y[ROWS * 16];
	int r = 0;

	for (int i = 0; i < rank; i++)
		first += j->rows[0] ? j->rows[i] : rows;
	j->opt.seed = 3;
	j->opt.threads = 1;
	j->opt.ddp.comm = c;
	j->opt.ddp.weight = (double)rows / ROWS;
	r = rt_compile(g, rt_model_gpt(g, &k), &j->opt, &p, err);
	if (!r && j->load)
		r = rt_load(p, j->load, &ticket, err);
	for (uint64_t t = 0; !r && t < steps; t++) {
		struct rt_metrics m;

		for (uint64_t i = 0; i < GT_ARRAY_SIZE(x); i++) {
			x[i] = (int32_t)(rt_random_u64(1, t, i) % 64);
			y[i] = (x[i] * 5 + 1) % 64;
		}
		r = rt_step(p, (const void *[]){ x + first * 16, y + first * 16 }, &m, err);
		j->loss[t] = m.loss;
	}
	for (int i = 0; !r && i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);

		if (!rt_node_is_param(n))
			continue;
		hash = gt_hash64(rt_value(p, n), (size_t)rt_shape_elements(rt_node_shape(n)) * 4, hash);
		r = rt_comm_agree(c, hash, rt_node_name(n), err);
	}
	/* one rank alone: the others hold still until it starts a bucket again */
	if (!r && j->save && rank == rt_comm_size(c) - 1)
		r = rt_save(p, j->save, 3, err);
	if (!r && rank == 0) {
		gt_auto_json *doc = json_array();
		gt_autofree char *text = NULL;

		for (int t = 0; t < STEPS; t++)
			json_array_append_new(doc, gt_json_real(j->loss[t]));
		json_array_append_new(doc, json_integer((json_int_t)(hash >> 1)));
		text = gt_json_text(doc);
		rt_comm_answer(c, text);
	}
	rt_program_free(p);
	return r;
}

/* The same with a job of its own for each rank. */
static int train_mine(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct job *all = arg;

	return train(c, &all[rt_comm_rank(c)], err);
}

/* The losses of a run by so many ranks; the parameters are the same bits in all of them, and this is their hash. */
static int64_t losses(struct job j, int ranks, double ret[STEPS])
{
	struct rt_group g = { .ranks = ranks, .node = j.node };
	int64_t hash;
	gt_auto_json *doc = NULL;

	run(&g, train, &j);
	ck_assert_int_eq(gt_json_parse(g.answer, strlen(g.answer), "answer", &doc, NULL), 0);
	for (int t = 0; t < STEPS; t++)
		ret[t] = json_number_value(json_array_get(doc, (size_t)t));
	hash = json_integer_value(json_array_get(doc, STEPS));
	free(g.answer);
	return hash;
}

static const struct together {
	const char *what;
	struct job job;
	int ranks;
} together[] = {
	{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } }, 2 },
	{ "adamw, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } } }, 4 },
	{ "many buckets", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
				     .ddp = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 2 },
	{ "no overlap", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
				   .ddp = { .overlap = RT_WHEN_OFF, .bucket_bytes = 5000 } } }, 2 },
	{ "clipped", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .clip_norm = 0.5 } }, 2 },
	{ "two batches per update", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 2 } }, 2 },
	{ "scaled loss", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .scaler = { .use = RT_SCALER_ON } } }, 2 },
	{ "uneven split", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } }, .rows = { 5, 3 } }, 2 },
	{ "one row", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } }, .rows = { 1, 4, 1, 2 } }, 4 },
};

START_TEST(ranks_together_equal_one_rank)
{
	const struct together *t = &together[_i];
	struct job alone = t->job;
	double one[STEPS], many[STEPS];
	int every = t->job.opt.accum ? t->job.opt.accum : 1;

	memset(alone.rows, 0, sizeof(alone.rows));
	losses(alone, 1, one);
	losses(t->job, t->ranks, many);
	for (int i = every - 1; i < STEPS; i += every)
		ck_assert_msg(fabs(one[i] - many[i]) < 2e-5, "%s: step %d: %.8f alone, %.8f together", t->what, i, one[i], many[i]);
	ck_assert(one[STEPS - 1] < one[every - 1]);
}
END_TEST

START_TEST(the_same_run_gives_the_same_bits)
{
	struct job j = { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .accum = 2,
				  .ddp = { .bucket_bytes = 5000, .compress = (enum rt_compress)_i } } };
	double once[STEPS], again[STEPS];

	losses(j, 4, once);
	losses(j, 4, again);
	for (int i = 1; i < STEPS; i += 2)
		ck_assert_double_eq(once[i], again[i]);
}
END_TEST

/* ---- the update shared out ---- */

#define ADAMW	{ .kind = RT_ADAMW, .lr = 1e-2, .weight_decay = 0.1 }

static const int pairs[] = { 0, 0, 1, 1 }, uneven[] = { 0, 0, 1 };
static const struct together shared[] = {
	{ "sgd with momentum", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } }, 2 },
	{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 } }, .rows = { 3, 3, 2 } }, 3 },
	{ "adam", { .opt = { .optimizer = { .kind = RT_ADAM, .lr = 1e-2 } } }, 4 },
	{ "adamw", { .opt = { .optimizer = ADAMW } }, 2 },
	{ "adamw, 8 bits", { .opt = { .optimizer = { .kind = RT_ADAMW8, .lr = 1e-2 } }, .width = 72, .rows = { 3, 3, 2 } }, 3 },
	{ "many buckets", { .opt = { .optimizer = ADAMW, .ddp = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 4 },
	{ "overlapped", { .opt = { .optimizer = ADAMW, .ddp = { .overlap = RT_WHEN_ON, .bucket_bytes = 5000 } } }, 4 },
	{ "two nodes", { .opt = { .optimizer = ADAMW }, .node = pairs }, 4 },
	{ "nodes that differ", { .opt = { .optimizer = ADAMW }, .node = uneven, .rows = { 3, 3, 2 } }, 3 },
	{ "clipped", { .opt = { .optimizer = ADAMW, .clip_norm = 0.5 } }, 2 },
	{ "scaled", { .opt = { .optimizer = ADAMW, .scaler = { .use = RT_SCALER_ON } } }, 2 },
	{ "two batches", { .opt = { .optimizer = ADAMW, .accum = 2 } }, 2 },
	{ "gradients kept", { .opt = { .optimizer = ADAMW, .keep_gradients = true } }, 2 },
	{ "checkpointing", { .opt = { .optimizer = ADAMW, .checkpoint = 2, .ddp = { .bucket_bytes = 5000 } } }, 2 },
	{ "bf16", { .opt = { .optimizer = ADAMW, .amp = RT_BF16 } }, 2 },
	{ "uneven split", { .opt = { .optimizer = ADAMW }, .rows = { 5, 3 } }, 2 },
	{ "fp16 gradients", { .opt = { .optimizer = ADAMW, .ddp = { .compress = RT_COMPRESS_FP16 } } }, 2 },
	{ "PowerSGD", { .opt = { .optimizer = ADAMW, .ddp = { .compress = RT_COMPRESS_POWERSGD, .compress_after = 2 } } }, 4 },
	{ "1-bit", { .opt = { .optimizer = ADAMW, .ddp = { .compress = RT_COMPRESS_ONEBIT } } }, 2 },
};

START_TEST(a_shared_update_gives_the_same_bits)
{
	const struct together *t = &shared[_i];
	struct job apart = t->job, together_ = t->job;
	double a[STEPS], b[STEPS];

	apart.opt.ddp.shard = RT_WHEN_OFF;
	together_.opt.ddp.shard = t->job.node == uneven ? RT_WHEN_AUTO : RT_WHEN_ON;
	ck_assert_msg(losses(apart, t->ranks, a) == losses(together_, t->ranks, b), "%s: other parameters", t->what);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(!(fabs(a[i] - b[i]) > 0), "%s: step %d: %.9g and %.9g", t->what, i, a[i], b[i]);
	if (t->job.node == uneven) {
		struct rt_group g = { .ranks = t->ranks, .node = uneven };
		struct gt_err err = { 0 };

		together_.opt.ddp.shard = RT_WHEN_ON;
		ck_assert_int_eq(rt_group_run(&g, train, &together_, &err), -EINVAL);
		ck_assert_ptr_nonnull(strstr(err.msg, "equally many ranks"));
	}
}
END_TEST

static void same_file(const char *a, const char *b)
{
	gt_autofree char *x = NULL, *y = NULL;
	size_t nx = 0, ny = 0;

	ck_assert_int_eq(gt_file_read(a, 1 << 24, &x, &nx, NULL), 0);
	ck_assert_int_eq(gt_file_read(b, 1 << 24, &y, &ny, NULL), 0);
	ck_assert_uint_eq(nx, ny);
	ck_assert_mem_eq(x, y, nx);
}

/* A checkpoint says nothing of how many ranks wrote it: any other number reads it, and writes the same bytes again. */
START_TEST(a_checkpoint_is_the_same_from_any_number_of_ranks)
{
	static const enum rt_optimizer_kind kinds[] = { RT_SGD, RT_ADAMW, RT_ADAMW8 };
	struct job j = { .opt = { .optimizer = { .kind = kinds[_i], .lr = 1e-2, .momentum = 0.9 } }, .width = 72, .steps = 3 };
	char dir[] = "/tmp/ranksXXXXXX";
	gt_autofree char *plain = NULL, *parts = NULL, *again = NULL;
	double unused[STEPS];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	plain = gt_xasprintf("%s/plain", dir);
	parts = gt_xasprintf("%s/parts", dir);
	again = gt_xasprintf("%s/again", dir);
	j.opt.ddp.shard = RT_WHEN_OFF;
	j.save = plain;
	losses(j, 4, unused);
	j.opt.ddp.shard = RT_WHEN_ON;
	j.save = parts;
	losses(j, 4, unused);
	same_file(plain, parts);
	j.load = parts;
	j.save = again;
	j.steps = -1; /* read and written, nothing between */
	for (int ranks = 1; ranks <= 3; ranks++) {
		memcpy(j.rows, ranks == 3 ? (const int[4]){ 3, 3, 2 } : (const int[4]){ 0 }, sizeof(j.rows));
		losses(j, ranks, unused);
		same_file(plain, again);
	}
	unlink(plain);
	unlink(parts);
	unlink(again);
	rmdir(dir);
}
END_TEST

START_TEST(every_compression_trains)
{
	static const enum rt_compress all[] = { RT_COMPRESS_FP16, RT_COMPRESS_BF16, RT_COMPRESS_INT8, RT_COMPRESS_POWERSGD,
						RT_COMPRESS_ONEBIT };
	static const double most[] = { 1e-2, 3e-2, 5e-2, 0.6, 0.6 };
	struct job j = { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } } };
	double plain[STEPS], loss[STEPS], late[STEPS];

	losses(j, 2, plain);
	j.opt.ddp.compress = all[_i];
	j.opt.ddp.powersgd_rank = 2;
	losses(j, 2, loss);
	ck_assert_msg(fabs(loss[STEPS - 1] - plain[STEPS - 1]) < most[_i], "%g instead of %g", loss[STEPS - 1], plain[STEPS - 1]);
	ck_assert(loss[STEPS - 1] < loss[0]);
	j.opt.ddp.compress_after = STEPS;
	losses(j, 2, late);
	ck_assert_double_eq(late[STEPS - 1], plain[STEPS - 1]);
}
END_TEST

/* ---- compression against its definitions ---- */

#define R	2
#define ROUNDS	4
#define DN	48
#define DM	40

/* Gradients of a matrix (DN,DM) that each rank dictates; what the optimizer saw is lr 1 plain SGD: the change of w. */
static float dictated(int rank, int round, int64_t i)
{
	return rt_random_normal(21 + (uint64_t)round, (uint64_t)rank, (uint64_t)i) * (i % 3 ? 1 : 0.01f);
}

struct dictate {
	enum rt_compress compress;
	void (*expect)(double *mean, int round); /* keeps its own state */
	double tolerance;
};

static int follow(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct dictate *d = arg;
	static float x[DN * DM], before[DN * DM];
	static double mean[DN * DM];
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(DN, DM), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, w, rt_input(g, "x", RT_F32, RT_SHAPE(DN, DM)));
	struct rt_options opt = { .threads = 1, .seed = 9, .optimizer = { .kind = RT_SGD, .lr = 1 },
				  .ddp = { .comm = c, .compress = d->compress, .powersgd_rank = R } };
	gt_auto(rt_program) *p = NULL;
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int round = 0; !r && round < ROUNDS; round++) {
		struct rt_metrics m;

		for (int64_t i = 0; i < DN * DM; i++)
			x[i] = dictated(rt_comm_rank(c), round, i);
		memcpy(before, rt_value(p, w), sizeof(before));
		r = rt_step(p, (const void *[]){ x }, &m, err);
		d->expect(mean, round);
		for (int64_t i = 0; !r && i < DN * DM; i++) {
			double got = (double)(before[i] - rt_value(p, w)[i]);

			WANT(fabs(got - mean[i]) <= d->tolerance, "round %d element %lld: %g, by the definition %g", round,
			     (long long)i, got, mean[i]);
		}
	}
	return r;
}

/* 1-bit with feedback on both sides, of two ranks, in double. The two segments are 1024 and 896 long. */
static void expect_onebit(double *mean, int round)
{
	static double lost[2][DN * DM], lost_sum[DN * DM], sent[2][DN * DM];
	const int64_t n = DN * DM, cut = 1024;

	for (int k = 0; k < 2; k++) {
		double norm = 0, scale;

		for (int64_t i = 0; i < n; i++) {
			lost[k][i] += (double)dictated(k, round, i) / 2;
			norm += lost[k][i] * lost[k][i];
		}
		scale = sqrt(norm / (double)n);
		for (int64_t i = 0; i < n; i++) {
			sent[k][i] = lost[k][i] >= 0 ? scale : -scale;
			lost[k][i] -= sent[k][i];
		}
	}
	for (int s = 0; s < 2; s++) {
		int64_t lo = s ? cut : 0, hi = s ? n : cut;
		double norm = 0, scale;

		for (int64_t i = lo; i < hi; i++) {
			lost_sum[i] += sent[0][i] + sent[1][i];
			norm += lost_sum[i] * lost_sum[i];
		}
		scale = sqrt(norm / (double)(hi - lo));
		for (int64_t i = lo; i < hi; i++) {
			mean[i] = lost_sum[i] >= 0 ? scale : -scale;
			lost_sum[i] -= mean[i];
		}
	}
}

/* Algorithm 1 of Vogels et al. with feedback, two ranks, in double. */
static void expect_powersgd(double *mean, int round)
{
	static double lost[2][DN * DM], q[DM * R];
	double m[2][DN * DM], p[DN * R] = { 0 };

	for (int i = 0; !round && i < DM * R; i++)
		q[i] = (double)rt_random_normal(9, 4000, (uint64_t)i);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < DN * DM; i++) {
			m[k][i] = lost[k][i] + (double)dictated(k, round, i);
			for (int c = 0; c < R; c++)
				p[i / DM * R + c] += m[k][i] * q[i % DM * R + c] / 2;
		}
	for (int c = 0; c < R; c++) {
		double norm = 0;

		for (int d = 0; d < c; d++) {
			double dot = 0;

			for (int i = 0; i < DN; i++)
				dot += p[i * R + c] * p[i * R + d];
			for (int i = 0; i < DN; i++)
				p[i * R + c] -= dot * p[i * R + d];
		}
		for (int i = 0; i < DN; i++)
			norm += p[i * R + c] * p[i * R + c];
		for (int i = 0; i < DN; i++)
			p[i * R + c] /= sqrt(norm);
	}
	memset(q, 0, sizeof(q));
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < DN * DM; i++)
			for (int c = 0; c < R; c++)
				q[i % DM * R + c] += m[k][i] * p[i / DM * R + c] / 2;
	for (int i = 0; i < DN * DM; i++) {
		mean[i] = 0;
		for (int c = 0; c < R; c++)
			mean[i] += p[i / DM * R + c] * q[i % DM * R + c];
		lost[0][i] = m[0][i] - mean[i];
		lost[1][i] = m[1][i] - mean[i];
	}
}

static void expect_mean(double *mean, int round)
{
	for (int64_t i = 0; i < DN * DM; i++)
		mean[i] = ((double)dictated(0, round, i) + (double)dictated(1, round, i)) / 2;
}

START_TEST(compression_follows_its_publication)
{
	/* fp16: two roundings of 2^-11 of values below 4; bf16: of 2^-8; int8: two steps of norm/127 of values below 4 */
	static const struct dictate all[] = {
		{ RT_COMPRESS_ONEBIT, expect_onebit, 3e-5 },
		{ RT_COMPRESS_POWERSGD, expect_powersgd, 3e-5 },
		{ RT_COMPRESS_FP16, expect_mean, 4 * 0x1p-10 },
		{ RT_COMPRESS_BF16, expect_mean, 4 * 0x1p-7 },
		{ RT_COMPRESS_INT8, expect_mean, 3 * 4.0 / 127 },
		{ RT_COMPRESS_NONE, expect_mean, 1e-6 },
	};
	struct dictate d = all[_i];

	run(&(struct rt_group){ .ranks = 2 }, follow, &d);
}
END_TEST

START_TEST(int8_is_right_on_average)
{
	const struct rt_codec *codec = rt_codec_find(RT_COMPRESS_INT8);
	enum { N = 700, TIMES = 4000 };
	unsigned char out[2 * sizeof(float) + N];
	float x[N], y[N];
	double sum[N] = { 0 };

	ck_assert_uint_eq(codec->bytes(N), sizeof(out));
	for (int i = 0; i < N; i++)
		x[i] = rt_random_normal(1, 1, (uint64_t)i);
	for (uint64_t t = 0; t < TIMES; t++) {
		codec->encode(x, N, 0, t << 20, out);
		codec->decode(out, N, y);
		for (int i = 0; i < N; i++)
			sum[i] += (double)y[i] / TIMES;
	}
	/* steps of at most 4/127, so a standard error of 4/127/2/sqrt(4000); six of them */
	for (int i = 0; i < N; i++)
		ck_assert_double_eq_tol(sum[i], (double)x[i], 6 * 4.0 / 127 / 2 / sqrt(TIMES));
	x[3] = INFINITY;
	codec->encode(x, N, 0, 0, out);
	codec->decode(out, N, y);
	ck_assert(isnan(y[0]) && isnan(y[511]) && !isnan(y[512]));
}
END_TEST

/* ---- when one is lost ---- */

static int lose_one(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const int *how = arg;
	double all[RT_MAX_RANKS];

	if (*how == 2)
		rt_comm_set_timeout(c, 0.2);
	for (int i = 0; i < 100; i++) {
		int r;

		if (rt_comm_rank(c) == 1 && i == 50) {
			if (*how == 0)
				raise(SIGKILL);
			if (*how == 1)
				return gt_fail(err, ENOSPC, "the disk is full");
			if (*how == 3)
				_exit(3);
			pause();
		}
		r = rt_comm_gather(c, i, all, err);
		if (r)
			return r;
	}
	return 0;
}

START_TEST(a_lost_rank_ends_the_others_with_its_name)
{
	static const char *const want[] = { "rank 1: killed by signal 9 (Killed)", "rank 1: the disk is full",
					    "rank 1 has not come for 0.2 s",
					    "rank 1: ended with status 3 in the middle of its work" };
	struct rt_group g = { .ranks = 3, .grace_s = 0.5 };
	struct gt_err err = { 0 };
	int how = _i;

	ck_assert_int_lt(rt_group_run(&g, lose_one, &how, &err), 0);
	ck_assert_msg(strstr(err.msg, want[_i]) != NULL, "%s", err.msg);
	ck_assert_ptr_null(g.answer);
}
END_TEST

static int disagree(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct rt_window w;

	return rt_window_map(c, rt_comm_rank(c) ? 4096 : 8192, false, &w, err);
}

START_TEST(ranks_with_different_programs_are_told)
{
	struct rt_group g = { .ranks = 2 }, none = { .ranks = 0 };
	struct gt_err err = { 0 };

	ck_assert_int_eq(rt_group_run(&g, disagree, NULL, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.msg, "do not agree on the size of a window"));
	ck_assert_int_eq(rt_group_run(&none, disagree, NULL, &err), -EINVAL);
}
END_TEST

/* ---- as a rank that mpirun started: tests/peers/check_mpi.py ---- */

static int under_mpirun(void)
{
	struct gt_err err = { 0 };
	struct job j = { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .ddp = { .bucket_bytes = 5000 } } };
	gt_auto(rt_comm) *c = NULL;
	int r = rt_comm_mpi(false, &c, &err);

	if (!r)
		r = sums(c, NULL, &err);
	if (!r)
		r = exchanges(c, NULL, &err);
	if (!r)
		r = train(c, &j, &err);
	if (r) {
		fprintf(stderr, "check_comm: %s\n", err.msg);
		rt_comm_abort(c, 1);
	}
	if (rt_comm_rank(c) == 0)
		printf("%d ranks on %d hosts over %s\n", rt_comm_size(c), rt_comm_hosts(c), rt_comm_transport(c));
	return 0;
}

/* ---- as threads of one process: make check-tsan, make check-valgrind ---- */

static int in_one_process(void)
{
	static const struct together quick[] = {
		{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "many buckets, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
						      .ddp = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 4 },
		{ "two nodes, overlapped, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
							       .ddp = { .overlap = RT_WHEN_ON, .shard = RT_WHEN_ON,
								        .bucket_bytes = 5000 } },
						      .node = pairs }, 4 },
		{ "the update shared out", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
						      .ddp = { .shard = RT_WHEN_ON } } }, 2 },
		{ "the update shared out, clipped", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .clip_norm = 0.5,
							       .ddp = { .shard = RT_WHEN_ON } } }, 2 },
		{ "fp16", { .opt = { .ddp = { .compress = RT_COMPRESS_FP16 }, .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "int8", { .opt = { .ddp = { .compress = RT_COMPRESS_INT8 }, .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 4 },
		{ "powersgd", { .opt = { .ddp = { .compress = RT_COMPRESS_POWERSGD },
					 .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
		{ "onebit", { .opt = { .ddp = { .compress = RT_COMPRESS_ONEBIT },
				       .optimizer = { .kind = RT_SGD, .lr = 0.1 } } }, 2 },
	};
	struct gt_err err = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(layouts); i++)
		r = rt_group_threads(&(struct rt_group){ .ranks = layouts[i].ranks, .node = layouts[i].node }, sums, NULL, &err);
	if (!r)
		r = rt_group_threads(&(struct rt_group){ .ranks = 3 }, exchanges, NULL, &err);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(quick); i++) {
		struct job j[4] = { quick[i].job, quick[i].job, quick[i].job, quick[i].job };
		struct rt_group g = { .ranks = quick[i].ranks, .node = quick[i].job.node };

		r = rt_group_threads(&g, train_mine, j, &err);
		free(g.answer);
		printf("%s %s\n", r ? "not ok" : "ok", quick[i].what);
	}
	if (!r && (rt_group_threads(&(struct rt_group){ .ranks = 2 }, disagree, NULL, &err) != -EINVAL))
		r = gt_fail(&err, EPROTO, "ranks with different programs went on");
	else if (r)
		fprintf(stderr, "check_comm: %s\n", err.msg);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	Suite *s = suite_create("comm");
	TCase *t = tcase_create("ranks");
	SRunner *r;
	int failed;

	if (rt_mpi_started())
		return under_mpirun();
	if (argc > 1 && gt_streq(argv[1], "--one-process"))
		return in_one_process();
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, allreduce_is_the_weighted_sum_on_any_layout, 0, GT_ARRAY_SIZE(layouts));
	tcase_add_test(t, every_rank_gets_what_the_others_have_for_it);
	tcase_add_loop_test(t, ranks_together_equal_one_rank, 0, GT_ARRAY_SIZE(together));
	tcase_add_loop_test(t, the_same_run_gives_the_same_bits, RT_COMPRESS_NONE, RT_COMPRESS_ONEBIT + 1);
	tcase_add_loop_test(t, a_shared_update_gives_the_same_bits, 0, GT_ARRAY_SIZE(shared));
	tcase_add_loop_test(t, a_checkpoint_is_the_same_from_any_number_of_ranks, 0, 3);
	tcase_add_loop_test(t, every_compression_trains, 0, 5);
	tcase_add_loop_test(t, compression_follows_its_publication, 0, 6);
	tcase_add_test(t, int8_is_right_on_average);
	tcase_add_loop_test(t, a_lost_rank_ends_the_others_with_its_name, 0, 4);
	tcase_add_test(t, ranks_with_different_programs_are_told);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
