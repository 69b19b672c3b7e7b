/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/backend/program.h"
#include "tests/unit/check_comm.h"
#include "tests/unit/split_case.h"

#define BATCH	SPLIT_BATCH
#define LEN	SPLIT_LEN
#define VOCAB	61 /* not divisible by any number of ranks */

static struct rt_node *dense(struct rt_graph *g, const char *name, struct rt_node *x, int64_t in, int64_t out)
{
	return rt_linear(g, x, rt_param(g, name, RT_SHAPE(out, in), RT_INIT_NORMAL(0.1f)), NULL);
}

/*
 * A block with rotated, shared keys and a gate. The gate is one product for both halves, or two products whose results
 * are multiplied. The output layer has a table of its own.
 */
static struct rt_node *gated_block(struct rt_graph *g, int64_t rows, bool side_by_side)
{
	struct rt_node *tokens = rt_input(g, "tokens", RT_I32, RT_SHAPE(rows, LEN));
	struct rt_node *targets = rt_input(g, "targets", RT_I32, RT_SHAPE(rows, LEN));
	struct rt_node *table = rt_param(g, "table", RT_SHAPE(1100, 32), RT_INIT_NORMAL(0.3f));
	struct rt_node *x = rt_embedding(g, tokens, table, NULL), *y;

	y = rt_rmsnorm(g, x, rt_param(g, "norm1", RT_SHAPE(32), RT_INIT_ONES), 1e-5f);
	y = rt_rope(g, dense(g, "qkv", y, 32, 64), 8 + 4, 4, 10000);
	x = rt_add(g, x, dense(g, "proj", rt_attention_grouped(g, y, 8, 4), 32, 32));
	y = rt_rmsnorm(g, x, rt_param(g, "norm2", RT_SHAPE(32), RT_INIT_ONES), 1e-5f);
	if (side_by_side)
		y = rt_swiglu(g, dense(g, "gate_up", y, 32, 96));
	else
		y = rt_mul(g, rt_silu(g, dense(g, "gate", y, 32, 48)), dense(g, "up", y, 32, 48));
	x = rt_add(g, x, dense(g, "down", y, 48, 32));
	x = rt_rmsnorm(g, x, rt_param(g, "norm3", RT_SHAPE(32), RT_INIT_ONES), 1e-5f);
	return rt_cross_entropy(g, dense(g, "out", x, 32, VOCAB), targets);
}

struct rt_node *split_declare(struct rt_graph *g, enum split_model model, int64_t rows)
{
	const struct rt_gpt_config text = { .batch = rows, .seq = LEN, .layers = 2, .width = 32, .heads = 4, .vocab = VOCAB,
					    .dropout = model == DROPOUT ? 0.2f : 0 };
	const struct rt_vit_config image = { .batch = rows, .size = 16, .patch = 8, .layers = 2, .width = 32, .heads = 4,
					     .classes = 10 };

	if (model == LLAMA || model == GATED)
		return gated_block(g, rows, model == LLAMA);
	if (model == MLP)
		return rt_model_mlp(g, rows, (const int64_t[]){ 20, 32, 16, 24, 10 }, 5);
	if (model == VIT)
		return rt_model_vit(g, &image);
	return model == BERT ? rt_model_bert(g, &text) : rt_model_gpt(g, &text);
}

void split_draw(const struct rt_graph *g, uint64_t t, int64_t first, int64_t rows, void *const *input)
{
	int k = 0;

	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n)), limit = k ? 10 : VOCAB;

		if (rt_node_is_param(n) || rt_node_is_buffer(n))
			continue;
		for (int64_t e = 0; e < count; e++) {
			uint64_t at = (uint64_t)(first * (count / rows) + e);

			if (rt_node_dtype(n) == RT_F32)
				((float *)input[k])[e] = rt_random_normal(5, 100 + t, at);
			else
				((int32_t *)input[k])[e] = (int32_t)(rt_random_u64(5, t, at) % (uint64_t)limit);
		}
		k++;
	}
}

/* Compares the gradients of one rank, tensor by tensor, with those of all ranks together. */
static int compare_gradients(const struct split *s, const struct rt_graph *g, struct rt_program *p, struct gt_err *err)
{
	const float *want = s->expected->gradient;
	double limit = s->limit > 0 ? s->limit : 1e-6;
	int64_t before = 0;

	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		gt_autofree float *got = NULL;
		double off = 0, all = 0;
		int r;

		if (!rt_node_is_param(n))
			continue;
		want += before;
		before = count;
		if (p->plan.ir.nodes[n->id]->absent)
			continue;
		got = gt_xcalloc((size_t)count, sizeof(*got));
		r = rt_read_gradient(p, n, got, err);
		if (r)
			return r;
		for (int64_t e = 0; e < count; e++) {
			off += pow((double)(got[e] - want[e]), 2);
			all += pow((double)want[e], 2);
		}
		WANT(sqrt(off) <= limit * sqrt(all), "%s: the gradient is off by %g of its norm", rt_node_name(n),
		     sqrt(off) / sqrt(all));
	}
	return 0;
}

static int keep_gradients(struct split *s, const struct rt_graph *g, struct rt_program *p, struct gt_err *err)
{
	int64_t at = 0;

	for (int i = 0; i < rt_graph_leaves(g); i++) {
		const struct rt_node *n = rt_graph_leaf(g, i);
		int64_t count = rt_shape_elements(rt_node_shape(n));
		int r;

		if (!rt_node_is_param(n))
			continue;
		WANT(at + count <= SPLIT_GRADIENTS, "the model has more than %d gradients", SPLIT_GRADIENTS);
		r = rt_read_gradient(p, n, s->expected->gradient + at, err);
		if (r)
			return r;
		at += count;
	}
	return 0;
}

static int compare_or_keep(struct split *s, const struct rt_graph *g, struct rt_program *p, int update, double loss, bool one,
			   struct gt_err *err)
{
	int r = 0;

	if (update == 0)
		r = one ? keep_gradients(s, g, p, err) : compare_gradients(s, g, p, err);
	if (r)
		return r;
	if (one)
		s->expected->loss[update] = loss;
	WANT(fabs(loss - s->expected->loss[update]) < GT_MAX(1e-4, s->limit), "update %d: the loss is %.7f, not %.7f", update + 1,
	     loss, s->expected->loss[update]);
	return 0;
}

/* Trains; m NULL: as one rank. */
static int train_split(struct split *s, const struct rt_mesh *m, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree float *x = gt_xcalloc(BATCH * 16 * 16 * 3, sizeof(float)), *y = gt_xcalloc(BATCH * LEN, sizeof(float));
	int64_t rows = m ? BATCH / s->data : BATCH;
	struct rt_options opt = s->opt;
	int split = 0, r;

	opt.threads = 1;
	opt.seed = 3;
	opt.debug.keep_gradients = true;
	opt.ranks.comm = m ? m->group[RT_DIM_DATA] : NULL;
	opt.ranks.tensor = m ? m->group[RT_DIM_TENSOR] : NULL;
	opt.pipeline.comm = m ? m->group[RT_DIM_PIPELINE] : NULL;
	r = rt_compile(g, split_declare(g, s->model, rows), &opt, &p, err);
	if (r)
		return r;
	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		split += p->plan.ir.nodes[i]->cut.parts == s->tensor;
	WANT(!m || s->tensor == 1 || split >= 4, "only %d tensors are split", split);
	for (int t = 0; t < (s->updates ? s->updates : SPLIT_UPDATES); t++) {
		struct rt_metrics got;

		for (int k = 0; k < GT_MAX(opt.accum, 1); k++) {
			split_draw(g, (uint64_t)(t * GT_MAX(opt.accum, 1) + k), m ? m->at[RT_DIM_DATA] * rows : 0, rows,
				   (void *[]){ x, y });
			r = rt_step(p, (const void *[]){ x, y }, &got, err);
			if (r)
				return r;
		}
		r = compare_or_keep(s, g, p, t, got.update_loss, !m, err);
		if (r)
			return r;
	}
	return rt_wait(p, err);
}

static int train_one(struct rt_comm *c, void *arg, struct gt_err *err)
{
	(void)c;
	return train_split(arg, NULL, err);
}

static int train_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct split *s = arg;
	rt_auto_mesh m = { 0 };
	int r = rt_mesh_open(c, (const int[]){ s->tensor, s->data, GT_MAX(s->stages, 1) }, &m, err);

	return r ? r : train_split(s, &m, err);
}

int split_trains_like_one_rank(struct split s, struct gt_err *err)
{
	int r;

	s.expected = mmap(NULL, sizeof(*s.expected), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.expected == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot map memory");
	r = rt_group_run(&(struct rt_group){ .ranks = 1 }, train_one, &s, err);
	if (!r)
		r = rt_group_run(&(struct rt_group){ .ranks = s.tensor * s.data * GT_MAX(s.stages, 1) }, train_rank, &s, err);
	munmap(s.expected, sizeof(*s.expected));
	return r;
}
