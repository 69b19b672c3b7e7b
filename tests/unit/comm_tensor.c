/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor parallelism: ranks that split a model compute the gradients and losses of one rank. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "runtime/backend/program.h"
#include "tests/unit/check_comm.h"
#include "tests/unit/split_case.h"

#define BATCH	SPLIT_BATCH
#define LEN	SPLIT_LEN
#define SGD	SPLIT_SGD
#define ADAM	SPLIT_ADAM

static const struct split splits[] = {
	{ GPT, 2, 1, { .optimizer = ADAM } },
	{ GPT, 4, 1, { .optimizer = ADAM } },
	{ GPT, 2, 2, { .optimizer = ADAM } },
	{ BERT, 2, 1, { .optimizer = ADAM } },
	{ BERT, 4, 1, { .optimizer = SGD } },
	{ VIT, 2, 1, { .optimizer = ADAM } },
	{ VIT, 4, 1, { .optimizer = ADAM } },
	{ MLP, 2, 1, { .optimizer = SGD } },
	{ MLP, 4, 1, { .optimizer = SGD } },
	{ LLAMA, 2, 1, { .optimizer = ADAM } },
	{ LLAMA, 4, 1, { .optimizer = ADAM } },
	{ GATED, 4, 1, { .optimizer = ADAM } },
	{ GPT, 2, 1, { .optimizer = SGD, .clip_norm = 0.5 } },
	{ GPT, 2, 2, { .optimizer = SGD, .clip_norm = 0.5, .accum = 2 } },
	{ GPT, 2, 1, { .optimizer = ADAM, .memory.checkpoint = 2 } },
	{ GPT, 2, 1, { .optimizer = ADAM, .debug.no_fuse = true } },
	{ GPT, 2, 1, { .optimizer = ADAM, .debug.poison = true } },
	{ GPT, 4, 1, { .optimizer = ADAM, .precision.scaler = { .use = RT_SCALER_ON } } },
	{ DROPOUT, 2, 1, { .optimizer = ADAM } },
	{ GPT, 2, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ GPT, 4, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ GPT, 2, 2, { .optimizer = SGD, .clip_norm = 0.5, .accum = 2, .ranks.sequence = true } },
	{ BERT, 4, 1, { .optimizer = SGD, .ranks.sequence = true } },
	{ VIT, 2, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ MLP, 4, 1, { .optimizer = SGD, .ranks.sequence = true } },
	{ LLAMA, 4, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ GATED, 2, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ GPT, 2, 1, { .optimizer = ADAM, .memory.checkpoint = 2, .ranks.sequence = true } },
	{ GPT, 2, 1, { .optimizer = ADAM, .debug.no_fuse = true, .ranks.sequence = true } },
	{ GPT, 2, 1, { .optimizer = ADAM, .debug.poison = true, .ranks.sequence = true } },
	{ DROPOUT, 2, 1, { .optimizer = ADAM, .ranks.sequence = true } },
	{ DROPOUT, 4, 1, { .optimizer = ADAM, .ranks.sequence = true } },
};

START_TEST(split_models_train_like_one_rank)
{
	struct gt_err err = { 0 };

	ck_assert_msg(split_trains_like_one_rank(splits[_i], &err) == 0, "%s", err.msg);
}
END_TEST

/* ---- checkpoints ---- */

/* Loads, trains and saves in turn; each is left out if its name is NULL or the number of updates is 0. */
struct through {
	enum split_model model;
	int tensor, data;
	enum rt_when shard;
	const char *load, *save;
	int updates;
};

static int through_file(const struct through *t, const struct rt_mesh *m, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree float *x = gt_xcalloc(BATCH * 16 * 16 * 3, sizeof(float)), *y = gt_xcalloc(BATCH * LEN, sizeof(float));
	int64_t rows = BATCH / t->data;
	struct rt_options opt = { .threads = 1, .seed = 3, .optimizer = ADAM };
	uint64_t ticket = 0;
	int r;

	opt.ranks.shard = t->shard;
	opt.ranks.comm = m ? m->group[RT_DIM_DATA] : NULL;
	opt.ranks.tensor = m ? m->group[RT_DIM_TENSOR] : NULL;
	r = rt_compile(g, split_declare(g, t->model, rows), &opt, &p, err);
	if (r)
		return r;
	r = t->load ? rt_load(p, t->load, &ticket, err) : 0;
	if (!r && m) /* a rank saves the parts of the other ranks too */
		r = rt_comm_agree(m->world, 0, "the end of loading", err);
	for (int i = 0; !r && i < t->updates; i++) {
		struct rt_metrics got;

		split_draw(g, (uint64_t)i, m ? m->at[RT_DIM_DATA] * rows : 0, rows, (void *[]){ x, y });
		r = rt_step(p, (const void *[]){ x, y }, &got, err);
	}
	if (!r && t->save && (!m || m->at[RT_DIM_DATA] == 0))
		r = rt_save(p, t->save, ticket, err);
	return r;
}

static int rank_through_file(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct through *t = arg;
	rt_auto_mesh m = { 0 };
	int r = rt_mesh_open(c, (const int[]){ t->tensor, t->data, 1 }, &m, err);

	if (r)
		return r;
	r = through_file(t, &m, err);
	/* sharded state is read by the first rank of the data group */
	return r ? r : rt_comm_agree(c, 0, "the end", err);
}

static void go_through(struct through t)
{
	struct gt_err err = { 0 };

	if (t.tensor * t.data > 1)
		run(&(struct rt_group){ .ranks = t.tensor * t.data }, rank_through_file, &t);
	else
		ck_assert_msg(through_file(&t, NULL, &err) == 0, "%s", err.msg);
}

static void same_bytes(const char *a, const char *b)
{
	gt_autofree char *x = NULL, *y = NULL;
	size_t nx = 0, ny = 0;

	ck_assert_int_eq(gt_file_read(a, 1 << 24, &x, &nx, NULL), 0);
	ck_assert_int_eq(gt_file_read(b, 1 << 24, &y, &ny, NULL), 0);
	ck_assert_uint_eq(nx, ny);
	ck_assert_mem_eq(x, y, nx);
}

/* Initial values do not depend on the split, and any split loads what any other has saved. */
START_TEST(a_checkpoint_is_the_same_from_any_split)
{
	static const struct {
		int tensor, data;
		enum rt_when shard;
	} ways[] = { { 2, 1, RT_WHEN_OFF }, { 4, 1, RT_WHEN_OFF }, { 2, 2, RT_WHEN_OFF }, { 2, 2, RT_WHEN_ON } };
	char dir[] = "/tmp/splitXXXXXX";
	gt_autofree char *first = NULL, *trained = NULL, *again = NULL;
	enum split_model model = (enum split_model)_i;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	first = gt_xasprintf("%s/first", dir);
	trained = gt_xasprintf("%s/trained", dir);
	again = gt_xasprintf("%s/again", dir);
	go_through((struct through){ model, 1, 1, RT_WHEN_OFF, .save = first });
	for (size_t i = 0; i < GT_ARRAY_SIZE(ways); i++) {
		struct through t = { model, ways[i].tensor, ways[i].data, ways[i].shard, .save = again };

		go_through(t);
		same_bytes(first, again);
		t.save = trained;
		t.updates = 3;
		go_through(t);
		go_through((struct through){ model, 1, 1, RT_WHEN_OFF, .load = trained, .save = again });
		same_bytes(trained, again);
		for (size_t k = 0; k < GT_ARRAY_SIZE(ways); k++) {
			go_through((struct through){ model, ways[k].tensor, ways[k].data, ways[k].shard, trained, again, 0 });
			same_bytes(trained, again);
		}
	}
	unlink(first);
	unlink(trained);
	unlink(again);
	rmdir(dir);
}
END_TEST

static int compile_split(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct rt_node *(*model)(struct rt_graph *g) = *(struct rt_node *(**)(struct rt_graph *))arg;
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = { .threads = 1, .optimizer = SGD, .ranks.tensor = c };

	return rt_compile(g, model(g), &opt, &p, err);
}

static struct rt_node *six_heads(struct rt_graph *g)
{
	return rt_model_gpt(g, &(struct rt_gpt_config){ .batch = 1, .seq = 8, .layers = 1, .width = 24, .heads = 6, .vocab = 64 });
}

static struct rt_node *odd_width(struct rt_graph *g)
{
	return rt_model_mlp(g, 1, (const int64_t[]){ 8, 10, 8, 4 }, 4);
}

static struct rt_node *only_convolutions(struct rt_graph *g)
{
	return rt_model_resnet_small(g, 2, 8, 8, 4);
}

START_TEST(a_split_that_does_not_divide_is_refused)
{
	static const struct {
		struct rt_node *(*model)(struct rt_graph *g);
		const char *message;
	} bad[] = {
		{ six_heads, "h0.attention: 6 heads cannot be divided among 4 tensor parallel ranks" },
		{ odd_width, "fc0: 10 columns cannot be divided among 4 tensor parallel ranks" },
		{ only_convolutions, "the model has no pair of linear layers that 4 tensor parallel ranks can split" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(bad); i++) {
		struct rt_node *(*model)(struct rt_graph *) = bad[i].model;
		struct gt_err err = { 0 };

		ck_assert_int_eq(rt_group_run(&(struct rt_group){ .ranks = 4 }, compile_split, &model, &err), -EINVAL);
		ck_assert_msg(strstr(err.msg, bad[i].message) != NULL, "%s", err.msg);
	}
}
END_TEST

/* Writes other values to each parameter and reads them. */
static int write_and_read(struct rt_comm *c, const struct rt_graph *g, struct rt_program *p, struct gt_err *err)
{
	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		gt_autofree float *to = gt_xcalloc((size_t)count, sizeof(*to)), *from = gt_xcalloc((size_t)count, sizeof(*from));
		int r;

		if (!rt_node_is_param(n))
			continue;
		for (int64_t e = 0; e < count; e++)
			to[e] = (float)(i * 1000 + e);
		r = rt_write_param(p, n, to, err);
		if (!r) /* a rank reads the pieces of others */
			r = rt_comm_agree(c, 0, "the end of writing", err);
		if (!r)
			r = rt_read_value(p, n, from, err);
		if (r)
			return r;
		WANT(!memcmp(from, to, (size_t)count * sizeof(float)), "%s differs from what was written", rt_node_name(n));
	}
	return 0;
}

/* Each value is read, is not kept, or is refused because the ranks split it. */
static int read_values(const struct rt_graph *g, struct rt_program *p, struct gt_err *err)
{
	int split = 0;

	for (int i = 0; i < g->ir.n_nodes; i++) {
		const struct rt_node *n = g->ir.nodes[i];
		gt_autofree float *value = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(*value));
		struct gt_err why = { 0 };
		int r = rt_read_value(p, n, value, &why);

		split += r == -ENOSYS;
		WANT(r == 0 || r == -EINVAL || (r == -ENOSYS && strstr(why.msg, "tensor parallel ranks split")), "%s: %s", n->name,
		     why.msg);
	}
	WANT(split >= 4, "only %d values are split", split);
	return 0;
}

static int access_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct split *s = arg;
	rt_auto_mesh m = { 0 };
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	struct rt_options opt = s->opt;
	int r = rt_mesh_open(c, (const int[]){ s->tensor, s->data, 1 }, &m, err);

	opt.threads = 1;
	opt.debug.no_reuse = true;
	opt.ranks.comm = m.group[RT_DIM_DATA];
	opt.ranks.tensor = m.group[RT_DIM_TENSOR];
	if (!r)
		r = rt_compile(g, split_declare(g, s->model, BATCH / s->data), &opt, &p, err);
	if (!r)
		r = write_and_read(c, g, p, err);
	return r ? r : read_values(g, p, err);
}

START_TEST(split_parameters_are_written_and_read_whole)
{
	static const struct split of[] = {
		{ GPT, 4, 1, { .optimizer = ADAM } },
		{ LLAMA, 2, 1, { .optimizer = ADAM, .debug.no_fuse = true } },
		{ BERT, 2, 2, { .optimizer = ADAM, .ranks = { .shard = RT_WHEN_ON, .shard_stage = 3 } } },
	};
	struct split s = of[_i];

	run(&(struct rt_group){ .ranks = s.tensor * s.data }, access_rank, &s);
}
END_TEST

TCase *case_tensor(void)
{
	TCase *t = tcase_create("tensor");

	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, split_models_train_like_one_rank, 0, GT_ARRAY_SIZE(splits));
	tcase_add_loop_test(t, a_checkpoint_is_the_same_from_any_split, GPT, GATED + 1);
	tcase_add_test(t, a_split_that_does_not_divide_is_refused);
	tcase_add_loop_test(t, split_parameters_are_written_and_read_whole, 0, 3);
	return t;
}
