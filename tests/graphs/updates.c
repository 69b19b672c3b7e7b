/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of updates from several batches: accumulated, or of several ranks. Also properties of rejected programs. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "runtime/ddp/codec.h"
#include "runtime/transport/comm.h"
#include "tests/graphs/known.h"

#define LR	0.25
#define FLOATS	(1 << 20) /* size of the memory that ranks share */

static double batch_weight(const struct gen_program *m, int t)
{
	return m->how[10] % 3 ? 1 + (m->how[10] + 3 * t) % 4 : 1;
}

/* The expected result of an update from several batches. */
struct mean {
	struct gen_program m; /* the program without dropout */
	struct gen_graph mg;
	double **sum, weights; /* sum of weight times gradient, by node id */
	double off[GEN_STEPS]; /* error bound of the sum, by step */
};

static void mean_start(struct mean *s, const struct gen_program *m)
{
	memset(s, 0, sizeof(*s));
	s->m = *m;
	s->m.dropout = false;
	gen_build(&s->m, GEN_ROWS, &s->mg, NULL);
	s->sum = gt_xcalloc((size_t)s->mg.g->ir.n_nodes + 1, sizeof(*s->sum));
	for (int i = 0; i < s->mg.g->ir.n_nodes; i++)
		s->sum[i] = gt_xcalloc((size_t)rt_shape_elements(&s->mg.g->ir.nodes[i]->shape), sizeof(double));
}

static void mean_clear(struct mean *s)
{
	gen_values_free(s->sum, s->mg.g->ir.n_nodes);
	gen_graph_free(&s->mg);
}

static void mean_of(struct mean *s, const struct known *k, struct rt_program *p, double weight)
{
	s->weights += weight;
	for (int i = 0; i < s->m.n; i++) {
		const struct rt_node *n = k->mg.node[i];
		const float *g = s->m.step[i].op == GEN_PARAM ? read_gradient(p, n) : NULL;

		for (int64_t e = 0; g && e < rt_shape_elements(&n->shape); e++)
			s->sum[n->id][e] += weight * (double)g[e];
		s->off[i] += g ? weight * known_slope_off(k, n) : 0;
	}
}

/* Adds a batch, which runs in a separate program. */
static bool mean_add(struct trial *t, struct mean *s, int batch, int64_t rows, double weight)
{
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_fuse = s->m.how[4] % 4 == 0 }, .threads = 1 };
	struct rt_program *p;
	struct rt_metrics metrics;
	struct gt_err err = { 0 };
	struct known k;
	bool good;

	know_back(&k, &s->m, (uint64_t)batch, rows);
	p = trial_program(t, &s->m, &k.mg, &opt);
	good = p != NULL;
	if (good && rt_step(p, (const void *const *)k.inputs, &metrics, &err) < 0)
		good = broken(t, "%s", err.msg);
	if (good)
		mean_of(s, &k, p, weight);
	rt_program_free(p);
	known_clear(&k);
	return good;
}

/* Checks that an SGD update moves each parameter by its mean gradient. */
static bool moved_by(struct trial *t, const struct mean *s, struct rt_program *p)
{
	double **start = gen_leaves(&s->m, &s->mg, 0);
	bool good = true;

	for (int i = 0; good && i < s->m.n; i++) {
		const struct rt_node *n = s->mg.node[i];
		const float *now = read_value(p, n);

		for (int64_t e = 0; good && s->m.step[i].op == GEN_PARAM && e < rt_shape_elements(&n->shape); e++) {
			double want = start[n->id][e] - LR * s->sum[n->id][e] / s->weights, got = (double)now[e];
			double off = LR * s->off[i] / s->weights + 2e-7 * (fabs(want) + fabs(start[n->id][e]));

			if (!(fabs(got - want) <= off))
				good = broken(t, "%s[%lld] becomes %.9g, by the mean gradient of its batches %.9g (+- %.2g)",
					      n->name, (long long)e, got, want, off);
		}
	}
	gen_values_free(start, s->mg.g->ir.n_nodes);
	return good;
}

bool variant_accumulated(struct trial *t)
{
	int batches = 1 + t->m->how[1] % 4;
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = LR }, .accum = batches, .threads = 1,
				  .debug = { .poison = true, .no_fuse = t->m->how[4] % 4 == 0,
					     .zero_gradients = variants_device == RT_CPU && t->m->how[5] % 2 },
				  .memory.checkpoint = t->m->how[11] % 4,
				  .precision.scaler = { .use = t->m->how[9] % 2 ? RT_SCALER_ON : RT_SCALER_OFF, .init = 256 } };
	gt_auto(rt_program) *p = NULL;
	struct mean mean;
	struct rt_metrics metrics = { 0 };
	bool good = true;

	mean_start(&mean, t->m);
	for (int b = 0; good && b < batches; b++)
		good = mean_add(t, &mean, b, GEN_ROWS, batch_weight(t->m, b));
	p = good ? trial_program(t, &mean.m, &mean.mg, &opt) : NULL;
	good = p != NULL;
	for (int b = 0; good && b < batches; b++) {
		void **inputs = gen_inputs(&mean.m, &mean.mg, (uint64_t)b);
		struct gt_err err = { 0 };

		rt_set_weight(p, batch_weight(t->m, b));
		if (rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
			good = broken(t, "batch %d of %d: %s", b, batches, err.msg);
		gen_inputs_free(inputs);
	}
	if (good && !metrics.updated)
		good = broken(t, "%d batches of %d end no update", batches, batches);
	good = good && moved_by(t, &mean, p);
	mean_clear(&mean);
	return good;
}

/* Batches of three shapes in one update. */
bool variant_mixed(struct trial *t)
{
	static const int64_t rows[] = { GEN_LEAST_ROWS, GEN_ROWS, GEN_MOST_ROWS };
	struct rt_options opt = { .optimizer = { .kind = RT_SGD, .lr = LR }, .accum = 3, .threads = 1,
				  .debug = { .poison = true, .no_fuse = t->m->how[4] % 4 == 0,
					     .zero_gradients = variants_device == RT_CPU && t->m->how[5] % 2 },
				  .device = variants_device };
	struct gen_graph mg[3];
	const struct rt_graph *g[3];
	struct rt_node *loss[3];
	gt_auto(rt_program) *p = NULL;
	struct mean mean;
	bool good = true;

	mean_start(&mean, t->m);
	for (int i = 0; i < 3; i++) {
		good &= gen_build(&mean.m, rows[i], &mg[i], NULL) == 0;
		g[i] = mg[i].g;
		loss[i] = mg[i].loss;
	}
	if (!good || rt_compile_shapes(g, loss, 3, &opt, &p, NULL) < 0)
		discard(t);
	else
		gen_load(&mean.m, &mean.mg, p);
	good = true;
	for (int b = 0; p && good && b < 3; b++) {
		int shape = (t->m->how[0] + 2 * b) % 3;
		void **inputs = gen_inputs(&mean.m, &mg[shape], (uint64_t)b);
		struct rt_metrics metrics;
		struct gt_err err = { 0 };

		good = mean_add(t, &mean, b, rows[shape], batch_weight(t->m, b));
		rt_use_shape(p, shape);
		rt_set_weight(p, batch_weight(t->m, b));
		if (good && rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
			good = broken(t, "batch %d, of shape %d: %s", b, shape, err.msg);
		gen_inputs_free(inputs);
	}
	good = good && (!p || moved_by(t, &mean, p));
	for (int i = 0; i < 3; i++)
		gen_graph_free(&mg[i]);
	mean_clear(&mean);
	return good;
}

/* ---- ranks ---- */
struct job {
	const struct gen_program *m;
	bool apart; /* each rank has its own batches with different weights */
	enum rt_compress compress; /* with compression: one batch for all ranks, and plain SGD */
	int updates;
	float *values; /* shared memory: the final values of rank 0 */
};

static struct rt_options rank_options(const struct gen_program *m, bool apart, enum rt_compress compress)
{
	struct rt_options opt = trial_options(m);

	opt.threads = 1;
	opt.precision.amp = RT_F32;
	opt.debug.poison = true;
	opt.device = variants_device;
	opt.precision.fp8.use = opt.precision.no_master = opt.precision.tf32 = false;
	opt.ranks.first_bucket_bytes = 1;
	opt.ranks.bucket_bytes = 64 << m->how[12] % 8;
	opt.ranks.overlap = m->how[13] % 2 ? RT_WHEN_ON : RT_WHEN_AUTO;
	opt.ranks.shard = m->how[14] % 3 == 0 && variants_device == RT_CPU ? RT_WHEN_ON : RT_WHEN_OFF;
	opt.debug.keep_gradients = m->how[15] % 4 == 0;
	if (apart || compress != RT_COMPRESS_NONE) {
		opt.optimizer = (struct rt_optimizer){ .kind = RT_SGD, .lr = LR };
		opt.accum = 1 + m->how[1] % 2;
		opt.clip_norm = 0;
		opt.debug.no_winograd = false; /* same setting as in the programs with one batch */
	}
	opt.ranks.compress = compress;
	if (compress != RT_COMPRESS_NONE)
		opt.precision.scaler.use = RT_SCALER_OFF; /* with fp16 compression the scaled gradients might overflow */
	return opt;
}

/* Returns the share of this rank in the mean over the rows of all ranks. */
static double rank_share(const struct gen_program *m, int rank, int ranks)
{
	return m->how[11] % 2 ? 1.0 / ranks : 2.0 * (rank + 1) / (ranks * (ranks + 1));
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	struct job *j = arg;
	struct rt_options opt = rank_options(j->m, j->apart, j->compress);
	struct gen_graph mg;
	struct rt_program *p = NULL;
	struct rt_metrics metrics;
	int64_t at = 0;
	int r;

	opt.ranks.comm = c;
	if (j->apart)
		opt.ranks.weight = rank_share(j->m, rt_comm_rank(c), rt_comm_size(c));
	gen_build(j->m, GEN_ROWS, &mg, NULL);
	r = rt_compile(mg.g, mg.loss, &opt, &p, err);
	if (!r)
		gen_load(j->m, &mg, p);
	for (int t = 0; !r && t < j->updates * GT_MAX(opt.accum, 1); t++) {
		int batch = j->apart ? rt_comm_rank(c) * opt.accum + t : t;
		void **inputs = gen_inputs(j->m, &mg, (uint64_t)batch);

		if (!r && j->apart)
			rt_set_weight(p, batch_weight(j->m, batch));
		r = rt_step(p, (const void *const *)inputs, &metrics, err);
		gen_inputs_free(inputs);
	}
	for (int i = 0; !r && i < j->m->n; i++) {
		const struct rt_node *n = mg.node[i];

		if (j->m->step[i].op != GEN_PARAM)
			continue;
		r = rt_comm_agree(c, gt_hash64(read_value(p, n), rt_node_bytes(n), 0), n->name, err);
		if (rt_comm_rank(c) == 0 && at + rt_shape_elements(&n->shape) <= FLOATS)
			memcpy(j->values + at, read_value(p, n), rt_node_bytes(n));
		at += rt_shape_elements(&n->shape);
	}
	rt_program_free(p);
	gen_graph_free(&mg);
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

static bool same_params(struct trial *t, const struct job *j, const struct gen_graph *mg, struct rt_program *p, int ranks)
{
	int64_t at = 0;

	for (int i = 0; i < j->m->n; i++) {
		const struct rt_node *n = mg->node[i];
		int64_t count = rt_shape_elements(&n->shape);
		const float *now = read_value(p, n);

		if (j->m->step[i].op != GEN_PARAM)
			continue;
		for (int64_t k = 0; k < count && at + count <= FLOATS; k++)
			if (memcmp(&j->values[at + k], &now[k], sizeof(float)) != 0)
				return broken(t, "%d ranks: %s[%lld] ends with %.9g, with one rank %.9g", ranks, n->name,
					      (long long)k, (double)j->values[at + k], (double)now[k]);
		at += count;
	}
	return true;
}

static int n_ranks(const struct gen_program *m)
{
	return m->how[15] % 3 == 0 ? 4 : 2;
}

/* Halves and quarters of a gradient add up exactly, however they are rounded. */
bool variant_ranks_alike(struct trial *t)
{
	struct gen_program m = *t->m;
	struct rt_options opt = rank_options(&m, false, RT_COMPRESS_NONE);
	struct job j = { .m = &m, .updates = 2 };
	struct gen_graph mg;
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	bool good;

	m.dropout = false; /* the ranks draw different random numbers */
	j.values = mmap(NULL, FLOATS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gen_build(&m, GEN_ROWS, &mg, NULL);
	good = run_ranks(t, &j, n_ranks(&m));
	p = good ? trial_program(t, &m, &mg, &opt) : NULL;
	good = p != NULL;
	for (int b = 0; good && b < j.updates * opt.accum; b++) {
		void **inputs = gen_inputs(&m, &mg, (uint64_t)b);
		struct gt_err err = { 0 };

		if (rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
			good = broken(t, "%s", err.msg);
		gen_inputs_free(inputs);
	}
	good = good && same_params(t, &j, &mg, p, n_ranks(&m));
	gen_graph_free(&mg);
	munmap(j.values, FLOATS * sizeof(float));
	return good;
}

/* Copies the final values of rank 0 into a program of this process. */
static bool take_values(const struct job *j, const struct gen_graph *mg, struct rt_program *p)
{
	int64_t at = 0;

	for (int i = 0; i < j->m->n; i++) {
		int64_t count = rt_shape_elements(&mg->node[i]->shape);

		if (j->m->step[i].op != GEN_PARAM)
			continue;
		if (at + count <= FLOATS)
			(void)rt_write_param(p, mg->node[i], j->values + at, NULL);
		at += count;
	}
	return at <= FLOATS;
}

bool variant_ranks_apart(struct trial *t)
{
	int ranks = n_ranks(t->m), accum = rank_options(t->m, true, RT_COMPRESS_NONE).accum;
	struct rt_options opt = { .debug.keep_gradients = true, .threads = 1 };
	struct mean mean;
	struct job j = { .m = &mean.m, .apart = true, .updates = 1 };
	gt_auto(rt_program) *p = NULL;
	bool good;

	j.values = mmap(NULL, FLOATS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mean_start(&mean, t->m);
	good = run_ranks(t, &j, ranks);
	for (int b = 0; good && b < ranks * accum; b++)
		good = mean_add(t, &mean, b, GEN_ROWS, rank_share(t->m, b / accum, ranks) * batch_weight(t->m, b));
	p = good ? trial_program(t, &mean.m, &mean.mg, &opt) : NULL;
	good = p && (!take_values(&j, &mean.mg, p) || moved_by(t, &mean, p));
	mean_clear(&mean);
	munmap(j.values, FLOATS * sizeof(float));
	return good;
}

/*
 * Returns the error bound of a gradient after compression; largest is the largest of all gradients. See
 * runtime/ddp/codec.h.
 */
static double journey(enum rt_compress how, double g, double largest)
{
	if (how == RT_COMPRESS_FP16 && fabs(g) > 65000) /* above 65504 fp16 is infinite, as in PyTorch's hook */
		return INFINITY;
	if (how == RT_COMPRESS_FP16)
		return 3 * 0x1p-11 * fabs(g) + 0x1p-22;
	return how == RT_COMPRESS_BF16 ? 3 * 0x1p-8 * fabs(g) : 2.2 / 127 * largest;
}

/* One update from the start values with the gradients of p. Without error feedback each element is near. With error feedback the
 * residual of all parameters together is not larger than the gradient. */
static bool near_gradients(struct trial *t, const struct job *j, const struct gen_graph *mg, struct rt_program *p)
{
	double largest = 0, lost = 0, all = 0;
	bool feeds_back = j->compress == RT_COMPRESS_POWERSGD || j->compress == RT_COMPRESS_ONEBIT;

	for (int pass = 0; pass < 2; pass++) {
		int64_t at = 0;

		for (int i = 0; i < j->m->n; i++) {
			const struct rt_node *n = mg->node[i];
			const float *g = read_gradient(p, n), *start = read_value(p, n);
			int64_t count = rt_shape_elements(&n->shape);

			if (j->m->step[i].op != GEN_PARAM)
				continue;
			for (int64_t k = 0; g && !pass && k < count; k++) {
				largest = fmax(largest, fabs((double)g[k]));
				all += (double)g[k] * (double)g[k];
			}
			for (int64_t k = 0; g && pass && k < count && at + count <= FLOATS; k++) {
				double went = ((double)start[k] - (double)j->values[at + k]) / LR, off = went - (double)g[k];
				double least = 4e-7 * fabs((double)start[k]) / LR; /* rounding of the update */

				lost += fmax(off * off - least * least, 0);
				if (!feeds_back && !(fabs(off) <= journey(j->compress, (double)g[k], largest) + least))
					return broken(t, "%s: %s[%lld] goes by %.9g, its gradient is %.9g",
						      rt_compress_name(j->compress), n->name, (long long)k, went, (double)g[k]);
			}
			at += count;
		}
	}
	return !feeds_back || lost <= 4 * all + 1e-12 ? true :
		broken(t, "%s: %.9g is lost of gradients of %.9g", rt_compress_name(j->compress), sqrt(lost), sqrt(all));
}

/*
 * Checks that all ranks have the same result (one_rank()), that a second run repeats it, and that it is near the result
 * without compression.
 */
bool variant_ranks_compressed(struct trial *t)
{
	struct gen_program m = *t->m;
	struct job j = { .m = &m, .compress = RT_COMPRESS_FP16 + m.how[13] % 5, .updates = 2 };
	struct rt_options opt = { .debug = { .keep_gradients = true, .no_fuse = m.how[4] % 4 == 0 }, .threads = 1 };
	gt_autofree float *first = gt_xcalloc(FLOATS, sizeof(*first));
	gt_auto(rt_program) *p = NULL;
	struct rt_metrics metrics;
	struct gen_graph mg;
	struct gt_err err = { 0 };
	void **inputs;
	bool good;

	m.dropout = false;
	j.values = mmap(NULL, FLOATS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	good = run_ranks(t, &j, n_ranks(&m));
	memcpy(first, j.values, FLOATS * sizeof(float));
	good = good && run_ranks(t, &j, n_ranks(&m));
	if (good && memcmp(first, j.values, FLOATS * sizeof(float)) != 0)
		good = broken(t, "%s: the same ranks end elsewhere", rt_compress_name(j.compress));
	j.updates = 1;
	m.how[1] = 0; /* one batch */
	good = good && run_ranks(t, &j, n_ranks(&m));
	gen_build(&m, GEN_ROWS, &mg, NULL);
	p = good ? trial_program(t, &m, &mg, &opt) : NULL;
	inputs = gen_inputs(&m, &mg, 0);
	good = p != NULL;
	if (good && rt_step(p, (const void *const *)inputs, &metrics, &err) < 0)
		good = broken(t, "%s", err.msg);
	good = good && near_gradients(t, &j, &mg, p);
	gen_inputs_free(inputs);
	gen_graph_free(&mg);
	munmap(j.values, FLOATS * sizeof(float));
	return good;
}

/* ---- rejected programs ---- */
bool variant_refused(struct trial *t)
{
	struct gen_program m = *t->m;
	struct rt_program *p = NULL;
	struct gt_err first = { 0 }, err = { 0 };
	struct rt_node *n, *loss;
	struct gen_graph mg;
	bool good = true;

	if (!m.refused_at)
		return discard(t);
	m.n = m.refused_at;
	gen_build(&m, GEN_ROWS, &mg, NULL);
	n = gen_apply(&mg, &m, &m.refused, GEN_ROWS);
	if (n || rt_graph_error(mg.g, &first) >= 0 || strlen(first.msg) < 10)
		good = broken(t, "%s was rejected before, now the message is '%s'", gen_op_name(m.refused.op), first.msg);
	loss = rt_dot(mg.g, rt_relu(mg.g, n), mg.node[0]);
	if (good && loss)
		good = broken(t, "what follows a refusal is something");
	if (good && (rt_compile(mg.g, mg.node[0], &(struct rt_options){ .debug.keep_gradients = true }, &p, &err) >= 0 ||
		     !gt_streq(err.msg, first.msg)))
		good = broken(t, "compiling says '%s', refused was '%s'", err.msg, first.msg);
	gen_graph_free(&mg);
	return good;
}
