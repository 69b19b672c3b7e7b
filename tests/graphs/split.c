/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that ranks split: tensor parallel groups, the stages of a pipeline, data parallel ranks that shard state, gradients or
 * parameters, or several of them. Data parallel ranks get the same batch here, so their mean gradient is that of one rank.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/backend/program.h"
#include "runtime/transport/comm.h"
#include "tests/graphs/variants.h"

/* Difference of a gradient, as a share of the largest gradient of its tensor and of the program, that sums in another order
 * may cause. */
#define OFF_OWN	1e-3
#define OFF_ALL	1e-5
#define OFF_PARAM 4e-7 /* rounding of a parameter, as a share of the largest element of its tensor */
#define RATE	1e-3

struct split_job {
	const struct gen_program *m;
	int tensor, data, stages, shard;
	int *compared; /* shared memory: gradients that rank i compared */
};

static struct rt_options split_options(const struct gen_program *m)
{
	return (struct rt_options){ .threads = 1, .accum = 1 + m->how[1] % 3, .optimizer = { .kind = RT_SGD, .lr = RATE },
				    .pipeline.schedule = m->how[2] % 2 ? RT_GPIPE : RT_1F1B,
				    .debug = { .keep_gradients = true, .poison = true, .no_fuse = m->how[3] % 4 == 0 } };
}

static void load_from(struct rt_program *p, struct rt_program *one, const struct split_job *j, const struct gen_graph *mg)
{
	for (int i = 0; i < j->m->n; i++)
		if (rt_value(one, mg->node[i]) && (mg->node[i]->role == RT_ROLE_PARAM || mg->node[i]->role == RT_ROLE_BUFFER))
			(void)rt_write_param(p, mg->node[i], rt_value(one, mg->node[i]), NULL); /* fails in other stages */
}

static double largest(const float *x, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, fabs((double)x[i]));
	return most;
}

static int compare_gradient(struct rt_program *p, struct rt_program *one, const struct rt_node *n, double all, int *compared,
			    struct gt_err *err)
{
	const struct rt_node *own = p->plan.ir.nodes[n->id];
	const float *got = rt_gradient(p, n), *want = rt_gradient(one, n);
	int64_t count = rt_shape_elements(&n->shape);
	gt_autofree float *part = gt_xcalloc((size_t)count, sizeof(*part));
	double bound;

	if (!got || !want || own->absent)
		return 0;
	bound = OFF_OWN * largest(want, count) + OFF_ALL * all;
	if (own->cut.parts) {
		rt_cut_take(&own->cut, own->cut.part, sizeof(float), want, part);
		want = part;
	}
	(*compared)++;
	for (int64_t i = 0; i < rt_shape_elements(&own->shape); i++)
		if (fabs((double)got[i] - (double)want[i]) > bound)
			return gt_fail(err, ERANGE, "the gradient of %s[%lld] is %.9g, with one rank %.9g", n->name, (long long)i,
				       (double)got[i], (double)want[i]);
	return 0;
}

/* Sharded gradients are not kept: compares the parameter after the update. */
static int compare_param(struct rt_program *p, struct rt_program *one, const struct rt_node *n, double all, int *compared,
			 struct gt_err *err)
{
	int64_t count = rt_shape_elements(&n->shape);
	gt_autofree float *got = gt_xcalloc((size_t)count, sizeof(*got));
	const float *want = rt_value(one, n), *gradient = rt_gradient(one, n);
	double bound;
	int r;

	if (!want || !gradient || p->plan.ir.nodes[n->id]->absent)
		return 0;
	bound = RATE * (OFF_OWN * largest(gradient, count) + OFF_ALL * all) + OFF_PARAM * largest(want, count);
	r = rt_read_value(p, n, got, err);
	if (r)
		return r;
	(*compared)++;
	for (int64_t i = 0; i < count; i++)
		if (fabs((double)got[i] - (double)want[i]) > bound)
			return gt_fail(err, ERANGE, "%s[%lld] is %.9g after the update, with one rank %.9g", n->name, (long long)i,
				       (double)got[i], (double)want[i]);
	return 0;
}

static int compare(struct rt_program *p, struct rt_program *one, const struct split_job *j, const struct gen_graph *mg,
		   int *compared, struct gt_err *err)
{
	double all = 0;
	int r = 0;

	for (int i = 0; i < j->m->n; i++)
		if (j->m->step[i].op == GEN_PARAM && rt_gradient(one, mg->node[i]))
			all = fmax(all, largest(rt_gradient(one, mg->node[i]), rt_shape_elements(&mg->node[i]->shape)));
	for (int i = 0; !r && i < j->m->n; i++)
		if (j->m->step[i].op == GEN_PARAM)
			r = (j->shard < 2 ? compare_gradient : compare_param)(p, one, mg->node[i], all, compared, err);
	return r;
}

/* One update of both programs from the same batches. */
static int update(struct rt_program *p, struct rt_program *one, const struct split_job *j, const struct gen_graph *mg, int accum,
		  struct gt_err *err)
{
	struct rt_metrics got = { 0 }, want = { 0 };
	int r = 0;

	for (int b = 0; !r && b < accum; b++) {
		void **inputs = gen_inputs(j->m, mg, (uint64_t)b);

		r = rt_step(one, (const void *const *)inputs, &want, err);
		if (!r)
			r = rt_step(p, (const void *const *)inputs, &got, err);
		gen_inputs_free(inputs);
	}
	if (!r && fabs(got.update_loss - want.update_loss) > 1e-4 * fmax(1, fabs(want.update_loss)))
		return gt_fail(err, ERANGE, "the loss is %.9g, with one rank %.9g", got.update_loss, want.update_loss);
	return r;
}

static int split_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct split_job *j = arg;
	struct rt_options opt = split_options(j->m);
	rt_auto_mesh mesh = { 0 };
	gt_auto(rt_program) *p = NULL, *one = NULL;
	struct gen_graph mg;
	int r = rt_mesh_open(c, (const int[]){ j->tensor, j->data, j->stages }, &mesh, err);

	gen_build(j->m, GEN_ROWS, &mg, NULL);
	if (!r)
		r = rt_compile(mg.g, mg.loss, &opt, &one, err);
	opt.ranks.tensor = mesh.group[RT_DIM_TENSOR];
	opt.ranks.sequence = j->m->how[5] % 2;
	opt.pipeline.comm = mesh.group[RT_DIM_PIPELINE];
	opt.ranks.comm = mesh.group[RT_DIM_DATA];
	opt.ranks.shard = j->shard ? RT_WHEN_ON : RT_WHEN_OFF;
	opt.ranks.shard_stage = j->shard;
	opt.debug.keep_gradients = j->shard < 2;
	if (j->shard > 1) /* gpipe is refused */
		opt.pipeline.schedule = RT_1F1B;
	if (!r)
		r = rt_compile(mg.g, mg.loss, &opt, &p, err);
	if (!r) {
		gen_load(j->m, &mg, one);
		load_from(p, one, j, &mg);
		r = rt_comm_agree(c, 0, "the end of loading", err);
	}
	if (!r)
		r = update(p, one, j, &mg, opt.accum, err);
	if (!r) /* a rank reads the pieces of others */
		r = rt_comm_agree(c, 0, "the end of the update", err);
	if (!r)
		r = compare(p, one, j, &mg, &j->compared[rt_comm_rank(c)], err);
	gen_graph_free(&mg);
	return r;
}

/* Returns whether the message states why these ranks cannot split the program. */
static bool is_refusal(const char *message)
{
	static const char *const reasons[] = { "the model can be cut into at most", "has no pair of linear layers",
					       "cannot be divided among", "of the pipeline: a parameter may be shared by 2" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(reasons); i++)
		if (strstr(message, reasons[i]))
			return true;
	return false;
}

static bool drops(const struct gen_program *m)
{
	for (int i = 0; i < m->n; i++)
		if (m->step[i].op == GEN_DROPOUT)
			return true;
	return false;
}

bool variant_split(struct trial *t)
{
	static const int sizes[][3] = { { 2, 1, 1 }, { 1, 1, 2 }, { 2, 1, 2 }, { 1, 1, 3 }, { 1, 2, 1 }, { 1, 2, 2 }, { 2, 2, 1 } };
	const int *size = sizes[t->m->how[4] % GT_ARRAY_SIZE(sizes)];
	struct split_job j = { .m = t->m, .tensor = size[0], .data = size[1], .stages = size[2],
			       .shard = size[1] > 1 ? t->m->how[6] % 4 : 0 };
	struct rt_group g = { .ranks = j.tensor * j.data * j.stages, .no_pin = true };
	struct gt_err err = { 0 };
	int r;

	if (j.data > 1 && drops(j.m)) /* data parallel ranks have other masks */
		return discard(t);
	j.compared = mmap(NULL, RT_MAX_RANKS * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	r = rt_group_run(&g, split_rank, &j, &err);
	for (int i = 0; i < g.ranks; i++)
		t->compared += j.compared[i];
	munmap(j.compared, RT_MAX_RANKS * sizeof(int));
	free(g.answer);
	if (r == -EINVAL && is_refusal(err.msg))
		return discard(t);
	return r ? broken(t, "%d tensor parallel x %d data parallel ranks x %d stages, shard %d: %s", j.tensor, j.data,
			  j.stages, j.shard, err.msg) : true;
}
