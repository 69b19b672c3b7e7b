/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Training by several ranks equals that of one rank, bit for bit if the update is sharded, and uses the same
 * checkpoints.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/ckpt/safetensors.h"
#include "runtime/ddp/codec.h"
#include "runtime/backend/program.h"
#include "tests/unit/check_comm.h"

static int count_pruned(const float *w, int64_t n, double fraction, struct gt_err *err)
{
	int64_t zeros = 0;

	for (int64_t i = 0; i < n; i++)
		zeros += !(fabsf(w[i]) > 0);
	WANT(zeros == (int64_t)nearbyint(fraction * (double)n), "%lld of %lld weights are zero", (long long)zeros, (long long)n);
	return 0;
}

int train(struct rt_comm *c, void *arg, struct gt_err *err)
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
	j->opt.ranks.comm = c;
	j->opt.ranks.weight = j->weigh ? 0 : (double)rows / ROWS;
	r = rt_compile(g, rt_model_gpt(g, &k), &j->opt, &p, err);
	if (!r && j->load)
		r = rt_load(p, j->load, &ticket, err);
	for (uint64_t t = 0; !r && t < steps; t++) {
		struct rt_metrics m;

		for (uint64_t i = 0; i < GT_ARRAY_SIZE(x); i++) {
			x[i] = (int32_t)(rt_random_u64(1, t, i) % 64);
			y[i] = (x[i] * 5 + 1) % 64;
		}
		if (j->weigh)
			rt_set_weight(p, rows);
		r = rt_step(p, (const void *[]){ x + first * 16, y + first * 16 }, &m, err);
		j->loss[t] = m.loss;
		if (!r && t == 1 && j->prune > 0)
			r = rt_prune(p, RT_UNSTRUCTURED, j->prune, err);
	}
	for (int i = 0; !r && i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		gt_autofree float *value = NULL;

		if (!rt_node_is_param(n))
			continue;
		value = gt_xcalloc((size_t)rt_shape_elements(rt_node_shape(n)), sizeof(float));
		r = rt_read_value(p, n, value, err);
		if (!r && j->prune > 0 && gt_streq(rt_node_name(n), "h0.qkv.weight"))
			r = count_pruned(value, rt_shape_elements(rt_node_shape(n)), j->prune, err);
		hash = gt_hash64(value, (size_t)rt_shape_elements(rt_node_shape(n)) * 4, hash);
		if (!r)
			r = rt_comm_agree(c, hash, rt_node_name(n), err);
	}
	/* this rank is alone here: the others wait until it starts a bucket again */
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

int64_t losses(struct job j, int ranks, double ret[STEPS])
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

static const struct together together[] = {
	{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } }, 2 },
	{ "adamw, 4 ranks", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } } }, 4 },
	{ "many buckets", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
				     .ranks = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 2 },
	{ "no overlap", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 },
				   .ranks = { .overlap = RT_WHEN_OFF, .bucket_bytes = 5000 } } }, 2 },
	{ "clipped", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .clip_norm = 0.5 } }, 2 },
	{ "two batches per update", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .accum = 2 } }, 2 },
	{ "scaled loss", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .precision.scaler = { .use = RT_SCALER_ON } } },
	  2 },
	{ "uneven split", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } }, .rows = { 5, 3 } }, 2 },
	{ "batches that count differently", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 } }, .rows = { 5, 3 },
					      .weigh = true }, 2 },
	{ "the same, clipped", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 }, .clip_norm = 0.5, .accum = 2 },
				 .rows = { 1, 4, 3 }, .weigh = true }, 3 },
	{ "pruned", { .opt = { .optimizer = { .kind = RT_ADAMW, .lr = 1e-2 }, .sparse = true }, .prune = 0.5 }, 2 },
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
				  .ranks = { .bucket_bytes = 5000, .compress = (enum rt_compress)_i } } };
	double once[STEPS], again[STEPS];

	losses(j, 4, once);
	losses(j, 4, again);
	for (int i = 1; i < STEPS; i += 2)
		ck_assert_double_eq(once[i], again[i]);
}
END_TEST

/* The state of compression is part of the memory plan: its size is the same before and after compilation. */
static int keeps_to_its_budget(struct rt_comm *c, void *arg, struct gt_err *err)
{
	static const struct {
		enum rt_compress kind;
		int copies; /* at least the gradients */
	} t[] = { { RT_COMPRESS_ONEBIT, 1 }, { RT_COMPRESS_POWERSGD, 1 } };
	const struct rt_gpt_config k = { .batch = 1, .seq = 16, .layers = 2, .width = 64, .heads = 2, .vocab = 64 };
	struct rt_options o = { .threads = 1, .optimizer = ADAMW, .ranks = { .comm = c } };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *plain = NULL;
	struct rt_node *loss = rt_model_gpt(g, &k);
	int r = rt_compile(g, loss, &o, &plain, err);

	(void)arg;
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(t); i++) {
		gt_auto(rt_program) *p = NULL, *tight = NULL;
		struct gt_err why = { 0 };
		uint64_t need;

		o.ranks.compress = t[i].kind;
		o.memory.limit_bytes = 0;
		r = rt_compile(g, loss, &o, &p, err);
		if (r)
			return r;
		need = rt_program_planned_bytes(p);
		WANT(need >= rt_program_planned_bytes(plain) + (uint64_t)(3 * rt_program_parameters(p) * t[i].copies),
		     "%s: %llu bytes planned, %llu without", rt_compress_name(t[i].kind), (unsigned long long)need,
		     (unsigned long long)rt_program_planned_bytes(plain));
		o.memory.limit_bytes = need;
		r = rt_compile(g, loss, &o, &tight, err);
		WANT(r || rt_program_planned_bytes(tight) == need, "with a limit of what it needs it needs another");
		o.memory.limit_bytes = rt_program_planned_bytes(plain) + 65536;
		if (!r)
			WANT(rt_compile(g, loss, &o, &(struct rt_program *){ NULL }, &why) == -ENOMEM,
			     "%s fits where only the plain program does", rt_compress_name(t[i].kind));
	}
	return r;
}

START_TEST(the_state_of_compression_is_planned)
{
	struct rt_group g = { .ranks = 2 };

	run(&g, keeps_to_its_budget, NULL);
}
END_TEST

/* ---- sharded updates ---- */

static const int pairs[] = { 0, 0, 1, 1 }, uneven[] = { 0, 0, 1 };
static const struct together shared[] = {
	{ "sgd with momentum", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } }, 2 },
	{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1 } }, .rows = { 3, 3, 2 } }, 3 },
	{ "adam", { .opt = { .optimizer = { .kind = RT_ADAM, .lr = 1e-2 } } }, 4 },
	{ "adamw", { .opt = { .optimizer = ADAMW } }, 2 },
	{ "adamw, 8 bits", { .opt = { .optimizer = { .kind = RT_ADAMW8, .lr = 1e-2 } }, .width = 72, .rows = { 3, 3, 2 } }, 3 },
	{ "many buckets", { .opt = { .optimizer = ADAMW, .ranks = { .first_bucket_bytes = 1, .bucket_bytes = 5000 } } }, 4 },
	{ "overlapped", { .opt = { .optimizer = ADAMW, .ranks = { .overlap = RT_WHEN_ON, .bucket_bytes = 5000 } } }, 4 },
	{ "two nodes", { .opt = { .optimizer = ADAMW }, .node = pairs }, 4 },
	{ "nodes that differ", { .opt = { .optimizer = ADAMW }, .node = uneven, .rows = { 3, 3, 2 } }, 3 },
	{ "clipped", { .opt = { .optimizer = ADAMW, .clip_norm = 0.5 } }, 2 },
	{ "scaled", { .opt = { .optimizer = ADAMW, .precision.scaler = { .use = RT_SCALER_ON } } }, 2 },
	{ "two batches", { .opt = { .optimizer = ADAMW, .accum = 2 } }, 2 },
	{ "pruned", { .opt = { .optimizer = ADAMW, .sparse = true }, .prune = 0.5, .rows = { 3, 3, 2 } }, 3 },
	{ "gradients kept", { .opt = { .optimizer = ADAMW, .debug.keep_gradients = true } }, 2 },
	{ "checkpointing", { .opt = { .optimizer = ADAMW, .memory.checkpoint = 2, .ranks = { .bucket_bytes = 5000 } } }, 2 },
	{ "bf16", { .opt = { .optimizer = ADAMW, .precision.amp = RT_BF16 } }, 2 },
	{ "uneven split", { .opt = { .optimizer = ADAMW }, .rows = { 5, 3 } }, 2 },
	{ "fp16 gradients", { .opt = { .optimizer = ADAMW, .ranks = { .compress = RT_COMPRESS_FP16 } } }, 2 },
	{ "PowerSGD", { .opt = { .optimizer = ADAMW, .ranks = { .compress = RT_COMPRESS_POWERSGD, .compress_after = 2 } } }, 4 },
	{ "1-bit", { .opt = { .optimizer = ADAMW, .ranks = { .compress = RT_COMPRESS_ONEBIT } } }, 2 },
};

START_TEST(a_shared_update_gives_the_same_bits)
{
	const struct together *t = &shared[_i];
	struct job apart = t->job, together_ = t->job;
	double a[STEPS], b[STEPS];

	apart.opt.ranks.shard = RT_WHEN_OFF;
	together_.opt.ranks.shard = t->job.node == uneven ? RT_WHEN_AUTO : RT_WHEN_ON;
	ck_assert_msg(losses(apart, t->ranks, a) == losses(together_, t->ranks, b), "%s: other parameters", t->what);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(!(fabs(a[i] - b[i]) > 0), "%s: step %d: %.9g and %.9g", t->what, i, a[i], b[i]);
	if (t->job.node == uneven) {
		struct rt_group g = { .ranks = t->ranks, .node = uneven };
		struct gt_err err = { 0 };

		together_.opt.ranks.shard = RT_WHEN_ON;
		ck_assert_int_eq(rt_group_run(&g, train, &together_, &err), -EINVAL);
		ck_assert_ptr_nonnull(strstr(err.msg, "different numbers of ranks"));
	}
}
END_TEST

static bool can_gather(const struct rt_options *o)
{
	return !(o->clip_norm > 0) && o->precision.scaler.use != RT_SCALER_ON && !o->debug.keep_gradients && !o->ranks.compress &&
	       !o->sparse;
}

/* An all-reduce over several NUMA nodes sums in another order. */
START_TEST(an_update_by_rank_0_gives_the_same_bits)
{
	const struct together *t = &shared[_i];
	struct job apart = t->job, together_ = t->job;
	double a[STEPS], b[STEPS];
	bool rounds = t->job.node;
	int64_t one, other;

	if (!can_gather(&t->job.opt))
		return; /* refused: see a_gather_that_is_refused */
	apart.opt.ranks.shard = RT_WHEN_OFF;
	together_.opt.ranks.gather = true;
	one = losses(apart, t->ranks, a);
	other = losses(together_, t->ranks, b);
	ck_assert_msg(rounds || one == other, "%s: other parameters", t->what);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(fabs(a[i] - b[i]) <= (rounds ? 1e-6 * fabs(a[i]) : 0), "%s: step %d: %.9g and %.9g", t->what, i, a[i],
			      b[i]);
}
END_TEST

START_TEST(a_gather_that_is_refused)
{
	static const struct {
		struct rt_options opt;
		const char *message;
	} bad[] = {
		{ { .ranks.shard = RT_WHEN_ON }, "cannot gather sharded or compressed gradients" },
		{ { .ranks.compress = RT_COMPRESS_INT8 }, "cannot gather sharded or compressed gradients" },
		{ { .clip_norm = 1 }, "they cannot be clipped, scaled or kept" },
		{ { .precision.scaler.use = RT_SCALER_ON }, "they cannot be clipped, scaled or kept" },
		{ { .debug.keep_gradients = true }, "they cannot be clipped, scaled or kept" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		struct rt_group g = { .ranks = 2 };
		struct job j = { .opt = bad[i].opt };
		struct gt_err err = { 0 };

		j.opt.optimizer = (struct rt_optimizer)ADAMW;
		j.opt.ranks.gather = true;
		ck_assert_int_eq(rt_group_run(&g, train, &j, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, bad[i].message) != NULL, "%s", err.msg);
	}
}
END_TEST

/*
 * Stages 2 and 3 of sharding. Sums over two batches, and norms over pieces, are rounded in another order than without
 * sharding.
 */
START_TEST(sharded_gradients_and_parameters_change_no_bits)
{
	const struct together *t = &shared[_i];
	bool rounds = t->job.opt.accum > 1 || t->job.opt.clip_norm > 0 || t->job.opt.precision.scaler.use == RT_SCALER_ON;

	if (t->job.node || t->job.opt.ranks.compress || t->job.opt.debug.keep_gradients)
		return; /* refused: see stages_of_sharding_that_are_refused */
	for (int stage = 2; stage <= (t->job.opt.sparse ? 2 : 3); stage++) {
		struct job apart = t->job, together_ = t->job;
		double a[STEPS], b[STEPS];
		int64_t one, many;

		apart.opt.ranks.shard = RT_WHEN_OFF;
		together_.opt.ranks.shard = RT_WHEN_ON;
		together_.opt.ranks.shard_stage = stage;
		one = losses(apart, t->ranks, a);
		many = losses(together_, t->ranks, b);
		ck_assert_msg(rounds || one == many, "%s, stage %d: other parameters", t->what, stage);
		for (int i = 0; i < STEPS; i++)
			ck_assert_msg(fabs(a[i] - b[i]) <= (rounds ? 1e-6 * fabs(a[i]) : 0), "%s, stage %d, step %d: %.9g and %.9g",
				      t->what, stage, i, a[i], b[i]);
	}
}
END_TEST

/* Memory of a rank by kind, for a model whose buckets are small. */
static int measure_memory(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct rt_gpt_config k = { .batch = 2, .seq = 16, .layers = 4, .width = 64, .heads = 2, .vocab = 64 };
	uint64_t bytes[4][3], planned[4], p4;

	for (int stage = 0; stage <= 3; stage++) {
		struct rt_options o = { .threads = 1, .optimizer = ADAMW, .memory.no_huge_pages = true,
					.ranks = { .comm = c, .first_bucket_bytes = 1, .bucket_bytes = 1, .shard_stage = stage,
						   .shard = stage ? RT_WHEN_ON : RT_WHEN_OFF } };
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;
		gt_auto_json *doc = NULL;
		const json_t *ddp;
		int r = rt_compile(g, rt_model_gpt(g, &k), &o, &p, err);

		if (r)
			return r;
		doc = rt_program_report(p);
		ddp = json_object_get(doc, "ddp");
		bytes[stage][0] = (uint64_t)gt_json_get_int(ddp, "parameter_bytes", 0);
		bytes[stage][1] = (uint64_t)gt_json_get_int(ddp, "gradient_bytes", 0);
		bytes[stage][2] = (uint64_t)gt_json_get_int(ddp, "optimizer_bytes", 0);
		planned[stage] = rt_program_planned_bytes(p);
		p4 = (uint64_t)rt_program_parameters(p) * 4;
		WANT(gt_json_get_int(ddp, "shard_stage", -1) == stage, "stage %d", stage);
	}
	(void)arg;
	/* P parameters: 4 P bytes of parameters and of gradients, 8 P of state. 256 elements more per tensor at most. */
	WANT(bytes[0][0] == p4 && bytes[0][1] >= p4 && bytes[0][2] == 2 * p4, "one rank's memory");
	for (int stage = 1; stage <= 3; stage++)
		WANT(bytes[stage][2] <= 2 * p4 / 4 + 54 * 2 * 1024, "stage %d: %llu bytes of state", stage,
		     (unsigned long long)bytes[stage][2]);
	WANT(bytes[1][1] >= p4 && bytes[2][1] < p4 / 4 && bytes[3][1] < p4 / 4, "gradients: %llu of %llu bytes",
	     (unsigned long long)bytes[2][1], (unsigned long long)p4);
	WANT(bytes[2][0] == p4 && bytes[3][0] <= p4 / 4 + 54 * 1024, "parameters: %llu of %llu bytes",
	     (unsigned long long)bytes[3][0], (unsigned long long)p4);
	WANT(planned[0] > planned[1] && planned[1] > planned[2] && planned[2] > planned[3], "planned: %llu %llu %llu %llu",
	     (unsigned long long)planned[0], (unsigned long long)planned[1], (unsigned long long)planned[2],
	     (unsigned long long)planned[3]);
	return 0;
}

START_TEST(each_stage_of_sharding_needs_less_memory)
{
	run(&(struct rt_group){ .ranks = 4 }, measure_memory, NULL);
}
END_TEST

START_TEST(stages_of_sharding_that_are_refused)
{
	static const struct {
		struct job job;
		int ranks;
		const char *message;
	} bad[] = {
		{ { .opt = { .optimizer = ADAMW, .ranks = { .shard_stage = 4 } } }, 2, "stage 4 of sharding: 1 to 3 are possible" },
		{ { .opt = { .optimizer = ADAMW, .ranks = { .shard_stage = 2 } }, .node = pairs }, 4,
		  "stage 2 of sharding needs all 4 ranks on one NUMA node: this node has 2" },
		{ { .opt = { .optimizer = ADAMW, .ranks = { .shard_stage = 3, .compress = RT_COMPRESS_FP16 } } }, 2,
		  "stage 3 of sharding does not compress gradients" },
		{ { .opt = { .optimizer = ADAMW, .ranks = { .shard_stage = 2 }, .debug.keep_gradients = true } }, 2,
		  "stage 2 of sharding has no whole gradients to keep" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		struct rt_group g = { .ranks = bad[i].ranks, .node = bad[i].job.node };
		struct job j = bad[i].job;
		struct gt_err err = { 0 };

		j.opt.ranks.shard = RT_WHEN_ON;
		ck_assert_int_eq(rt_group_run(&g, train, &j, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, bad[i].message) != NULL, "%s", err.msg);
	}
}
END_TEST

/* Few ranks sum the gradients in the update itself; if gradients are kept they are reduced before it. */
START_TEST(the_updates_sum_is_the_reductions)
{
	static const struct together all[] = {
		{ "sgd", { .opt = { .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 } } }, 2 },
		{ "adamw, uneven", { .opt = { .optimizer = ADAMW }, .rows = { 3, 3, 2 } }, 3 },
		{ "adamw, 8 bits", { .opt = { .optimizer = { .kind = RT_ADAMW8, .lr = 1e-2 } }, .width = 72 }, 2 },
		{ "two batches", { .opt = { .optimizer = ADAMW, .accum = 2 } }, 2 },
		{ "overlapped", { .opt = { .optimizer = ADAMW, .ranks = { .overlap = RT_WHEN_ON, .bucket_bytes = 5000 } } }, 2 },
	};
	const struct together *t = &all[_i];
	struct job kept = t->job;
	double a[STEPS], b[STEPS];

	kept.opt.debug.keep_gradients = true;
	ck_assert_msg(losses(t->job, t->ranks, a) == losses(kept, t->ranks, b), "%s: other parameters", t->what);
	for (int i = 0; i < STEPS; i++)
		ck_assert_msg(!(fabs(a[i] - b[i]) > 0), "%s: step %d: %.9g and %.9g", t->what, i, a[i], b[i]);
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

/* A checkpoint is independent of the number of ranks: any number reads it and writes the same bytes again. */
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
	j.opt.ranks.shard = RT_WHEN_OFF;
	j.save = plain;
	losses(j, 4, unused);
	j.save = parts;
	j.opt.ranks.gather = true;
	losses(j, 4, unused);
	same_file(plain, parts);
	j.opt.ranks.gather = false;
	j.opt.ranks.shard = RT_WHEN_ON;
	for (int stage = 3; stage >= 1; stage--) {
		j.opt.ranks.shard_stage = stage;
		losses(j, 4, unused);
		same_file(plain, parts);
	}
	j.load = parts;
	j.save = again;
	j.steps = -1; /* loaded and saved, without training */
	for (int ranks = 1; ranks <= 3; ranks++) {
		j.opt.ranks.shard_stage = ranks; /* with one rank, nothing is sharded */
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

/* ---- training results ---- */

#define SIDE	8
struct learn {
	bool images; /* a residual network with batchnorms, whose statistics are those of each rank's rows */
	int accum, steps;
	struct rt_optimizer optimizer;
	const char *save;
};

static int learn(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct learn *l = arg;
	int rows = ROWS / rt_comm_size(c) / l->accum, row = l->images ? SIDE * SIDE * 3 : 16;
	struct rt_gpt_config k = { .batch = rows, .seq = 16, .layers = 2, .width = 32, .heads = 2, .vocab = 64 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = l->images ? rt_model_resnet_small(g, rows, SIDE, 8, 4) : rt_model_gpt(g, &k);
	struct rt_options opt = { .threads = 1, .seed = 3, .accum = l->accum, .optimizer = l->optimizer, .ranks.comm = c };
	static float x[ROWS * SIDE * SIDE * 3];
	static int32_t ids[ROWS * 16], y[ROWS * 16];
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int t = 0; !r && t < l->steps; t++) {
		for (uint64_t i = 0; i < GT_ARRAY_SIZE(x); i++)
			x[i] = rt_random_normal(1, (uint64_t)t, i);
		for (uint64_t i = 0; i < GT_ARRAY_SIZE(ids); i++) {
			ids[i] = (int32_t)(rt_random_u64(2, (uint64_t)t, i) % 64);
			y[i] = l->images ? ids[i] % 4 : (ids[i] * 5 + 1) % 64;
		}
		for (int b = 0; !r && b < l->accum; b++) {
			int first = (rt_comm_rank(c) * l->accum + b) * rows;
			const void *in[] = { l->images ? (void *)(x + first * row) : ids + first * row,
					     y + first * (l->images ? 1 : row) };

			r = rt_step(p, in, &(struct rt_metrics){ 0 }, err);
		}
	}
	return !r && rt_comm_rank(c) == 0 ? rt_save(p, l->save, 0, err) : r;
}

/* Compares two files except for running statistics. Returns the largest difference as a fraction of 1 + |x|. */
static double apart(const char *a, const char *b)
{
	gt_autofree char *x = NULL, *y = NULL;
	size_t nx = 0, ny = 0;
	struct rt_safetensors s = { 0 };
	double most = 0;

	ck_assert_int_eq(gt_file_read(a, 1 << 24, &x, &nx, NULL), 0);
	ck_assert_int_eq(gt_file_read(b, 1 << 24, &y, &ny, NULL), 0);
	ck_assert_uint_eq(nx, ny);
	ck_assert_int_eq(rt_safetensors_parse(x, nx, nx, a, &s, NULL), 0);
	for (size_t i = 0; i < s.n; i++)
		for (uint64_t at = s.data_at + s.tensor[i].begin; at < s.data_at + s.tensor[i].end; at += sizeof(float)) {
			float v, w;

			memcpy(&v, x + at, sizeof(v));
			memcpy(&w, y + at, sizeof(w));
			if (!strstr(s.tensor[i].name, "running_"))
				most = fmax(most, fabs((double)v - (double)w) / (1 + fabs((double)v)));
		}
	rt_safetensors_clear(&s);
	return most;
}

/*
 * Parameters and optimizer state of 2 and 4 ranks equal those of one with all rows. With batchnorms they equal one rank
 * with as many batches per update, because a batch has its own statistics.
 */
START_TEST(all_ranks_get_the_error_of_one_rank)
{
	static const struct learn all[] = {
		{ false, 1, STEPS, { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 }, NULL },
		{ false, 1, STEPS, { .kind = RT_ADAMW, .lr = 1e-2, .eps = 1e-4, .weight_decay = 0.1 }, NULL },
		{ true, 1, STEPS, { .kind = RT_SGD, .lr = 0.05, .momentum = 0.9 }, NULL },
	};
	char dir[] = "/tmp/learntXXXXXX";
	gt_autofree char *start = NULL, *one = NULL, *many = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	start = gt_xasprintf("%s/start", dir);
	one = gt_xasprintf("%s/one", dir);
	many = gt_xasprintf("%s/many", dir);
	for (int ranks = 2; ranks <= 4; ranks += 2) {
		struct learn l = all[_i];

		l.save = many;
		run(&(struct rt_group){ .ranks = ranks }, learn, &l);
		l.accum = l.images ? ranks : 1;
		l.save = one;
		run(&(struct rt_group){ .ranks = 1 }, learn, &l);
		l.save = start;
		l.steps = 0;
		run(&(struct rt_group){ .ranks = 1 }, learn, &l);
		ck_assert_double_gt(apart(start, one), 5e-3);
		ck_assert_msg(apart(one, many) < 2e-5, "%d ranks: apart by %g", ranks, apart(one, many));
	}
	unlink(start);
	unlink(one);
	unlink(many);
	rmdir(dir);
}
END_TEST

/* ---- buckets ---- */

/*
 * torch, compute_bucket_assignment_by_size(): a bucket is closed by the gradient with which it reaches its limit (that
 * of the first bucket, or of the others), in bytes of the gradients. The sizes are odd, so padding between gradients
 * would show.
 */
static int buckets(struct rt_comm *c, void *arg, struct gt_err *err)
{
	int r = 0;

	for (uint64_t t = 0; !r && t < 20; t++) {
		gt_auto(rt_graph) *g = rt_graph_new();
		gt_auto(rt_program) *p = NULL;
		int64_t size[6];
		struct rt_options opt = { .threads = 1, .optimizer = { .kind = RT_SGD, .lr = 0.1 },
					  .ranks = { .comm = c, .first_bucket_bytes = 4 + 4 * (rt_random_u64(5, t, 90) % 300),
						   .bucket_bytes = 4 + 4 * (rt_random_u64(5, t, 91) % 2000) } };

		for (uint64_t i = 0; i < 6; i++)
			size[i] = 1 + (int64_t)(rt_random_u64(5, t, i) % 40);
		r = rt_compile(g, rt_model_mlp(g, 2, size, 6), &opt, &p, err);
		for (int k = 0; !r && k < p->plan.n_buckets; k++) {
			const struct rt_bucket *b = &p->plan.buckets[k];
			uint64_t bytes = 0, last = 0, limit = k ? opt.ranks.bucket_bytes : opt.ranks.first_bucket_bytes;

			for (int i = 0; i < b->n; i++) {
				last = (uint64_t)rt_shape_elements(&b->gradient[i]->shape) * sizeof(float);
				bytes += last;
			}
			WANT(bytes - last < limit, "list %d bucket %d was full before its last gradient", (int)t, k);
			WANT(bytes >= limit || k + 1 == p->plan.n_buckets, "list %d bucket %d of %d of %d bytes is closed", (int)t,
			     k, (int)bytes, (int)limit);
		}
	}
	return r;
}

START_TEST(buckets_are_filled_as_torch_fills_them)
{
	run(&(struct rt_group){ .ranks = 2 }, buckets, NULL);
}
END_TEST

/* ---- ranks in the trace ---- */

static int trace(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct rt_gpt_config k = { .batch = ROWS / 2, .seq = 16, .layers = 2, .width = 32, .heads = 2, .vocab = 64 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_node *loss = rt_model_gpt(g, &k);
	struct rt_options opt = { .threads = 1, .debug.trace = true, .optimizer = { .kind = RT_SGD, .lr = 0.1 },
				  .ranks = { .comm = c, .overlap = RT_WHEN_ON, .first_bucket_bytes = 1, .bucket_bytes = 20000 } };
	static int32_t x[ROWS / 2 * 16];
	gt_auto_json *doc = NULL;
	double least, most, started = INFINITY, last = 0;
	int buckets = 0, r = rt_compile(g, loss, &opt, &p, err);
	json_t *e;
	size_t i;

	for (int t = 0; !r && t < 3; t++)
		r = rt_step(p, (const void *[]){ x, x }, &(struct rt_metrics){ 0 }, err);
	if (r)
		return r;
	doc = rt_program_trace(p);
	least = INFINITY;
	most = 0;
	json_array_foreach(json_object_get(doc, "traceEvents"), i, e) {
		const char *name = gt_json_get_str(e, "name", "");
		json_t *args = json_object_get(e, "args");

		if (gt_streq(name, "live bytes")) {
			least = fmin(least, gt_json_get_real(args, "bytes", 0));
			most = fmax(most, gt_json_get_real(args, "bytes", 0));
		}
		if (gt_json_get_int(args, "step", 0) != 3)
			continue;
		buckets += gt_streq(name, "bucket_start");
		if (gt_streq(name, "bucket_start"))
			started = fmin(started, gt_json_get_real(e, "ts", 0));
		if (gt_streq(gt_json_get_str(e, "cat", ""), "backward"))
			last = fmax(last, gt_json_get_real(e, "ts", 0));
	}
	/* all parameters and gradients: they are in the window */
	WANT(least >= 2 * 4 * (double)rt_program_parameters(p), "%g bytes are live of %g parameters", least,
	     (double)rt_program_parameters(p));
	WANT(most > least && most <= (double)rt_program_planned_bytes(p), "%g bytes are live, %g planned", most,
	     (double)rt_program_planned_bytes(p));
	WANT(buckets > 3 && started < last, "%d buckets, the first started at %g us, the last backward call at %g us", buckets,
	     started, last);
	return 0;
}

START_TEST(the_trace_shows_transfers_of_buckets_in_the_backward_pass)
{
	run(&(struct rt_group){ .ranks = 2 }, trace, NULL);
}
END_TEST

TCase *case_training(void)
{
	TCase *t = tcase_create("training");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, ranks_together_equal_one_rank, 0, GT_ARRAY_SIZE(together));
	tcase_add_loop_test(t, the_same_run_gives_the_same_bits, RT_COMPRESS_NONE, RT_COMPRESS_ONEBIT + 1);
	tcase_add_test(t, the_state_of_compression_is_planned);
	tcase_add_loop_test(t, a_shared_update_gives_the_same_bits, 0, GT_ARRAY_SIZE(shared));
	tcase_add_loop_test(t, an_update_by_rank_0_gives_the_same_bits, 0, GT_ARRAY_SIZE(shared));
	tcase_add_test(t, a_gather_that_is_refused);
	tcase_add_loop_test(t, sharded_gradients_and_parameters_change_no_bits, 0, GT_ARRAY_SIZE(shared));
	tcase_add_test(t, each_stage_of_sharding_needs_less_memory);
	tcase_add_test(t, stages_of_sharding_that_are_refused);
	tcase_add_loop_test(t, the_updates_sum_is_the_reductions, 0, 5);
	tcase_add_loop_test(t, a_checkpoint_is_the_same_from_any_number_of_ranks, 0, 3);
	tcase_add_loop_test(t, all_ranks_get_the_error_of_one_rank, 0, 3);
	tcase_add_test(t, buckets_are_filled_as_torch_fills_them);
	tcase_add_test(t, the_trace_shows_transfers_of_buckets_in_the_backward_pass);
	return t;
}
