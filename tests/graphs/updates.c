/* SPDX-License-Identifier: Apache-2.0 */
/* Updates of several batches: accumulated, or of ranks; and what is refused. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/comm/comm.h"
#include "tests/graphs/plain.h"
#include "tests/graphs/ways.h"

#define LR	0.25
#define FLOATS	(1 << 20) /* that ranks hand over */

static double batch_weight(const struct made *m, int t)
{
	return m->how[10] % 3 ? 1 + (m->how[10] + 3 * t) % 4 : 1;
}

/* Sum over the batches of weight times gradient, by programs that know one batch each; by node id. */
static bool gradients(struct trial *t, const struct made *m, const struct made_graph *mg, int batches, double **sum,
		      double *size)
{
	struct rt_options opt = { .keep_gradients = true, .no_fuse = m->how[4] % 4 == 0, .threads = 1 };

	for (int b = 0; b < batches; b++) {
		gt_auto(rt_program) *p = trial_program(t, m, mg, &opt);
		void **inputs = made_inputs(m, mg, (uint64_t)b);
		struct rt_metrics metrics;
		struct gt_err err = { 0 };
		int r = p ? rt_step(p, (const void *const *)inputs, &metrics, &err) : -1;

		made_inputs_free(inputs);
		if (r)
			return p ? broken(t, "%s", err.msg) : false;
		for (int i = 0; i < m->n; i++) {
			const float *g = rt_gradient(p, mg->node[i]);

			for (int64_t k = 0; g && k < rt_shape_elements(&mg->node[i]->shape); k++) {
				sum[mg->node[i]->id][k] += batch_weight(m, b) * (double)g[k];
				size[i] = fmax(size[i], fabs((double)g[k]));
			}
		}
	}
	return true;
}

static double **zeros(const struct made_graph *mg)
{
	double **x = gt_xcalloc((size_t)mg->g->ir.n_nodes + 1, sizeof(*x));

	for (int i = 0; i < mg->g->ir.n_nodes; i++)
		x[i] = gt_xcalloc((size_t)rt_shape_elements(&mg->g->ir.nodes[i]->shape), sizeof(double));
	return x;
}

/* One update by SGD takes each parameter by its mean gradient. */
static bool moved_by(struct trial *t, const struct made *m, const struct made_graph *mg, struct rt_program *p, double **sum,
		     double weights, const double *size)
{
	double **start = made_leaves(m, mg, 0), most = 0;
	struct plain plain;
	bool good = true;

	/* where gradients cancel on their way, the rounding of what they were is left */
	for (int i = 0; i < m->n; i++)
		most = fmax(most, size[i]);
	plain_run(mg->g, start, &(struct plain_how){ .level = 0 }, &plain);
	most *= plain_sharpest(mg->g, &plain);
	plain_clear(mg->g, &plain);
	for (int i = 0; good && i < m->n; i++) {
		const struct rt_node *n = mg->node[i];

		for (int64_t k = 0; good && m->step[i].op == MADE_PARAM && k < rt_shape_elements(&n->shape); k++) {
			double want = start[n->id][k] - LR * sum[n->id][k] / weights, got = (double)rt_value(p, n)[k];

			if (!(fabs(got - want) <= 2e-5 * size[i] + 2e-6 * most + 1e-6 * (fabs(want) + fabs(start[n->id][k]))))
				good = broken(t, "%s[%lld] becomes %.9g, by the mean gradient of its batches %.9g", n->name,
					      (long long)k, got, want);
		}
	}
	made_values_free(start, mg->g->ir.n_nodes);
	return good;
}

bool way_accumulated(struct trial *t)
{
	int batches = 1 + t->m->how[1] % 4;
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = LR }, .accum = batches, .poison = true, .threads = 1,
				  .no_fuse = t->m->how[4] % 4 == 0, .zero_gradients = t->m->how[5] % 2,
				  .checkpoint = t->m->how[11] % 4,
				  .scaler = { .use = t->m->how[9] % 2 ? RT_SCALER_ON : RT_SCALER_OFF, .init = 256 } };
	gt_auto(rt_program) *p = NULL;
	struct made m = *t->m;
	struct made_graph mg;
	struct rt_metrics metrics = { 0 };
	double **sum, size[MADE_STEPS] = { 0 }, weights = 0;
	bool good;

	m.dropout = false;
	made_build(&m, MADE_ROWS, &mg, NULL);
	sum = zeros(&mg);
	good = gradients(t, &m, &mg, batches, sum, size);
	p = good ? trial_program(t, &m, &mg, &opt) : NULL;
	good = p != NULL;
	for (int b = 0; good && b < batches; b++) {
		void **inputs = made_inputs(&m, &mg, (uint64_t)b);
		struct gt_err err = { 0 };

		weights += batch_weight(&m, b);
		rt_set_weight(p, batch_weight(&m, b));
		if (rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
			good = broken(t, "batch %d of %d: %s", b, batches, err.msg);
		made_inputs_free(inputs);
	}
	if (good && !metrics.updated)
		good = broken(t, "%d batches of %d end no update", batches, batches);
	good = good && moved_by(t, &m, &mg, p, sum, weights, size);
	made_values_free(sum, mg.g->ir.n_nodes);
	made_graph_free(&mg);
	return good;
}

/* ---- ranks ---- */
struct job {
	const struct made *m;
	bool apart; /* a batch for each rank */
	int updates;
	float *values; /* shared memory: what rank 0 ends with */
};

static struct rt_options rank_options(const struct made *m, bool apart)
{
	struct rt_options opt = trial_options(m);

	opt.threads = 1;
	opt.amp = RT_F32;
	opt.poison = true;
	opt.ddp.first_bucket_bytes = 1;
	opt.ddp.bucket_bytes = 64 << m->how[12] % 8;
	opt.ddp.overlap = m->how[13] % 2 ? RT_WHEN_ON : RT_WHEN_AUTO;
	opt.ddp.shard = m->how[14] % 3 == 0 ? RT_WHEN_ON : RT_WHEN_OFF;
	opt.keep_gradients = m->how[15] % 4 == 0;
	if (apart) {
		opt.optimizer = (struct rt_optimizer){ .kind = RT_SGD, .lr = LR };
		opt.accum = 1;
		opt.clip_norm = 0;
	}
	return opt;
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct job *j = arg;
	struct rt_options opt = rank_options(j->m, j->apart);
	struct made_graph mg;
	struct rt_program *p = NULL;
	struct rt_metrics metrics;
	int64_t at = 0;
	int r;

	opt.ddp.comm = c;
	made_build(j->m, MADE_ROWS, &mg, NULL);
	r = rt_compile(mg.g, mg.loss, &opt, &p, err);
	if (!r)
		made_load(j->m, &mg, p);
	for (int t = 0; !r && t < j->updates * GT_MAX(opt.accum, 1); t++) {
		void **inputs = made_inputs(j->m, &mg, (uint64_t)(j->apart ? rt_comm_rank(c) : t));

		r = rt_step(p, (const void *const *)inputs, &metrics, err);
		made_inputs_free(inputs);
	}
	for (int i = 0; !r && i < j->m->n; i++) {
		const struct rt_node *n = mg.node[i];

		if (j->m->step[i].op != MADE_PARAM)
			continue;
		r = rt_comm_agree(c, gt_hash64(rt_value(p, n), rt_node_bytes(n), 0), n->name, err);
		if (rt_comm_rank(c) == 0 && at + rt_shape_elements(&n->shape) <= FLOATS)
			memcpy(j->values + at, rt_value(p, n), rt_node_bytes(n));
		at += rt_shape_elements(&n->shape);
	}
	rt_program_free(p);
	made_graph_free(&mg);
	return r;
}

static bool run_ranks(struct trial *t, struct job *j, int ranks)
{
	struct rt_group g = { .ranks = ranks, .no_pin = true };
	struct gt_err err = { 0 };

	if (rt_group_run(&g, one_rank, j, &err) < 0)
		return broken(t, "%d ranks: %s", ranks, err.msg);
	free(g.answer);
	return true;
}

static bool same_params(struct trial *t, const struct job *j, const struct made_graph *mg, struct rt_program *p, int ranks)
{
	int64_t at = 0;

	for (int i = 0; i < j->m->n; i++) {
		const struct rt_node *n = mg->node[i];
		int64_t count = rt_shape_elements(&n->shape);

		if (j->m->step[i].op != MADE_PARAM)
			continue;
		for (int64_t k = 0; k < count && at + count <= FLOATS; k++)
			if (memcmp(&j->values[at + k], &rt_value(p, n)[k], sizeof(float)) != 0)
				return broken(t, "%d ranks: %s[%lld] ends with %.9g, with one rank %.9g", ranks, n->name,
					      (long long)k, (double)j->values[at + k], (double)rt_value(p, n)[k]);
		at += count;
	}
	return true;
}

static int n_ranks(const struct made *m)
{
	return m->how[15] % 3 == 0 ? 4 : 2;
}

/* Halves and quarters of the same gradient add up to it, whatever is rounded. */
bool way_ranks_alike(struct trial *t)
{
	struct made m = *t->m;
	struct rt_options opt = rank_options(&m, false);
	struct job j = { .m = &m, .updates = 2 };
	struct made_graph mg;
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	bool good;

	m.dropout = false; /* ranks draw coins of their own */
	j.values = mmap(NULL, FLOATS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	made_build(&m, MADE_ROWS, &mg, NULL);
	good = run_ranks(t, &j, n_ranks(&m));
	p = good ? trial_program(t, &m, &mg, &opt) : NULL;
	good = p != NULL;
	for (int b = 0; good && b < j.updates * opt.accum; b++) {
		void **inputs = made_inputs(&m, &mg, (uint64_t)b);
		struct gt_err err = { 0 };

		if (rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
			good = broken(t, "%s", err.msg);
		made_inputs_free(inputs);
	}
	good = good && same_params(t, &j, &mg, p, n_ranks(&m));
	made_graph_free(&mg);
	munmap(j.values, FLOATS * sizeof(float));
	return good;
}

bool way_ranks_apart(struct trial *t)
{
	struct made m = *t->m;
	int ranks = n_ranks(&m);
	struct job j = { .m = &m, .apart = true, .updates = 1 };
	struct rt_options opt = { .keep_gradients = true, .threads = 1 };
	struct made_graph mg;
	gt_auto(rt_program) *p = NULL;
	double **sum, size[MADE_STEPS] = { 0 };
	int64_t at = 0;
	bool good;

	m.dropout = false;
	m.how[10] = 0; /* batches count alike */
	j.values = mmap(NULL, FLOATS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	made_build(&m, MADE_ROWS, &mg, NULL);
	good = run_ranks(t, &j, ranks);
	sum = zeros(&mg);
	good = good && gradients(t, &m, &mg, ranks, sum, size);
	p = good ? trial_program(t, &m, &mg, &opt) : NULL;
	for (int i = 0; p && i < m.n; i++) {
		int64_t count = rt_shape_elements(&mg.node[i]->shape);

		if (m.step[i].op != MADE_PARAM)
			continue;
		if (at + count <= FLOATS)
			memcpy(rt_value(p, mg.node[i]), j.values + at, (size_t)count * sizeof(float));
		at += count;
	}
	good = p && at <= FLOATS ? moved_by(t, &m, &mg, p, sum, ranks, size) : good;
	made_values_free(sum, mg.g->ir.n_nodes);
	made_graph_free(&mg);
	munmap(j.values, FLOATS * sizeof(float));
	return good;
}

/* ---- refusals ---- */
bool way_refused(struct trial *t)
{
	struct made m = *t->m;
	struct rt_program *p = NULL;
	struct gt_err first = { 0 }, err = { 0 };
	struct rt_node *n, *loss;
	struct made_graph mg;
	bool good = true;

	if (!m.refused_at)
		return pass_over(t);
	m.n = m.refused_at;
	made_build(&m, MADE_ROWS, &mg, NULL);
	n = made_apply(&mg, &m, &m.refused, MADE_ROWS);
	if (n || rt_graph_error(mg.g, &first) >= 0 || strlen(first.msg) < 10)
		good = broken(t, "%s was refused once, and now it says '%s'", made_op_name(m.refused.op), first.msg);
	loss = rt_dot(mg.g, rt_relu(mg.g, n), mg.node[0]);
	if (good && loss)
		good = broken(t, "what follows a refusal is something");
	if (good && (rt_compile(mg.g, mg.node[0], &(struct rt_options){ .keep_gradients = true }, &p, &err) >= 0 ||
		     !gt_streq(err.msg, first.msg)))
		good = broken(t, "compiling says '%s', refused was '%s'", err.msg, first.msg);
	made_graph_free(&mg);
	return good;
}
