/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Properties: the bits of the results do not depend on memory plan, time of updates, recomputation, debug aids or
 * checkpoints.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/file.h"
#include "tests/graphs/variants.h"

#define UPDATES	   3
#define MOST_STEPS (UPDATES * 3)

/* The results of a run: losses, then parameters and buffers. */
struct left {
	int status; /* status of the first step that failed */
	double loss[MOST_STEPS];
	float *values;
	int64_t n;
};

static void left_clear(struct left *l)
{
	free(l->values);
	l->values = NULL;
}

static void read_all(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p, struct left *ret)
{
	ret->n = 0;
	for (int i = 0; i < m->n; i++)
		if (mg->node[i]->role == RT_ROLE_PARAM || mg->node[i]->role == RT_ROLE_BUFFER)
			ret->n += rt_shape_elements(&mg->node[i]->shape);
	ret->values = gt_xcalloc((size_t)ret->n + 1, sizeof(float));
	ret->n = 0;
	for (int i = 0; i < m->n; i++) {
		const struct rt_node *n = mg->node[i];

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		memcpy(ret->values + ret->n, read_value(p, n), rt_node_bytes(n));
		ret->n += rt_shape_elements(&n->shape);
	}
}

static const char *name_at(const struct gen_program *m, const struct gen_graph *mg, int64_t at)
{
	for (int i = 0; i < m->n; i++) {
		const struct rt_node *n = mg->node[i];

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		if (at < rt_shape_elements(&n->shape))
			return n->name;
		at -= rt_shape_elements(&n->shape);
	}
	return "?";
}

/* Runs batches first to end - 1 with their weights. Evaluates after each of them on request. */
static void train(const struct gen_program *m, const struct gen_graph *mg, struct rt_program *p, int first, int end, bool look,
		  struct left *ret)
{
	struct rt_metrics metrics = { 0 };

	for (int t = first; t < end && !ret->status; t++) {
		void **inputs = gen_inputs(m, mg, (uint64_t)t);
		double loss;

		if (m->how[10] % 3)
			rt_set_weight(p, (m->how[10] + 3 * t) % 5);
		ret->status = rt_step(p, (const void *const *)inputs, &metrics, NULL);
		ret->loss[t] = metrics.loss;
		if (look && !ret->status)
			(void)rt_eval(p, (const void *const *)inputs, &loss, NULL);
		gen_inputs_free(inputs);
	}
}

static bool same_left(struct trial *t, const struct gen_program *m, const struct gen_graph *mg, const struct left *a,
		      const struct left *b, const char *how)
{
	if (a->status != b->status)
		return broken(t, "%s: a step ends with %d, without with %d", how, b->status, a->status);
	for (int i = 0; i < MOST_STEPS; i++)
		if (memcmp(&a->loss[i], &b->loss[i], sizeof(double)) != 0)
			return broken(t, "%s: the loss of batch %d is %.17g, without %.17g", how, i, b->loss[i], a->loss[i]);
	for (int64_t i = 0; i < a->n; i++)
		if (memcmp(&a->values[i], &b->values[i], sizeof(float)) != 0)
			return broken(t, "%s: %s ends with %.9g, without with %.9g", how, name_at(m, mg, i),
				      (double)b->values[i], (double)a->values[i]);
	return true;
}

static bool run(struct trial *t, const struct gen_graph *mg, const struct rt_options *opt, bool look, struct left *ret)
{
	gt_auto(rt_program) *p = trial_program(t, t->m, mg, opt);

	memset(ret, 0, sizeof(*ret));
	if (!p)
		return false;
	train(t->m, mg, p, 0, UPDATES * opt->accum, look, ret);
	read_all(t->m, mg, p, ret);
	json_decref(rt_program_report(p));
	if (opt->debug.trace)
		json_decref(rt_program_trace(p));
	return true;
}

struct mode {
	const char *name;
	void (*set)(struct rt_options *o, const struct gen_program *m);
	bool look;
};

static void poisoned(struct rt_options *o, const struct gen_program *m)
{
	o->debug.poison = true;
}

static void late(struct rt_options *o, const struct gen_program *m)
{
	o->debug.poison = o->debug.no_early_update = true;
}

static void apart(struct rt_options *o, const struct gen_program *m)
{
	o->debug.no_reuse = o->memory.no_huge_pages = true;
}

static void kept(struct rt_options *o, const struct gen_program *m)
{
	o->debug.keep_gradients = o->debug.poison = true;
}

static void watched(struct rt_options *o, const struct gen_program *m)
{
	o->debug.profile = o->debug.trace = o->debug.anomaly = true;
}

static void again(struct rt_options *o, const struct gen_program *m)
{
	o->debug.poison = true;
	o->memory.checkpoint = 2 + m->how[11] % 6;
	o->memory.recomputed = m->how[12] % 3;
}

static void same_options(struct rt_options *o, const struct gen_program *m)
{
}

static const struct mode modes[] = {
	{ "the same once more", same_options, false },
	{ "poisoned memory", poisoned, false },
	{ "no early updates", late, false },
	{ "memory of their own", apart, false },
	{ "gradients kept", kept, false },
	{ "profile, trace and anomalies", watched, false },
	{ "checkpointing", again, false },
	{ "evaluations between batches", same_options, true },
};

static uint64_t bytes_of(const struct rt_program *p)
{
	return p->backend->host_memory ? p->plan.arena_bytes : rt_program_planned_bytes(p);
}

/* A memory budget is either met, with the same bits, or rejected with the least budget that fits. */
static bool fits(struct trial *t, const struct gen_graph *mg, struct rt_options opt, const struct left *plain)
{
	struct rt_program *p = NULL;
	struct gt_err err = { 0 };
	struct left l = { 0 };
	uint64_t full = 0;
	bool good = true;

	opt.device = variants_device;
	if (rt_compile(mg->g, mg->loss, &opt, &p, &err) < 0)
		return broken(t, "compiling: %s", err.msg);
	full = bytes_of(p);
	rt_program_free(p);
	p = NULL;
	opt.memory.fit_bytes = full * (50 + t->m->how[13] % 50) / 100;
	if (!opt.memory.fit_bytes)
		return true;
	if (rt_compile(mg->g, mg->loss, &opt, &p, &err) < 0)
		return err.code == ENOMEM && strstr(err.msg, "need") ? true : broken(t, "a budget: %s", err.msg);
	if (bytes_of(p) > opt.memory.fit_bytes)
		good = broken(t, "a budget of %llu bytes is planned with %llu", (unsigned long long)opt.memory.fit_bytes,
			      (unsigned long long)bytes_of(p));
	gen_load(t->m, mg, p);
	train(t->m, mg, p, 0, UPDATES * opt.accum, false, &l);
	read_all(t->m, mg, p, &l);
	good = good && same_left(t, t->m, mg, plain, &l, "a budget");
	left_clear(&l);
	rt_program_free(p);
	return good;
}

bool variant_same_bits(struct trial *t)
{
	struct rt_options opt = trial_options(t->m);
	struct gen_graph mg;
	struct left plain = { 0 };
	bool good;

	gen_build(t->m, GEN_ROWS, &mg, NULL);
	good = run(t, &mg, &opt, false, &plain);
	for (size_t i = 0; good && i < GT_ARRAY_SIZE(modes); i++) {
		struct rt_options o = opt;
		struct left l = { 0 };

		modes[i].set(&o, t->m);
		good = run(t, &mg, &o, modes[i].look, &l);
		/* the anomaly check inspects more than the loss */
		if (good && !(o.debug.anomaly && l.status == -EDOM))
			good = same_left(t, t->m, &mg, &plain, &l, modes[i].name);
		left_clear(&l);
	}
	good = good && fits(t, &mg, opt, &plain);
	left_clear(&plain);
	gen_graph_free(&mg);
	return good;
}

/* Two updates, a checkpoint, and further updates by a program that started with other values. */
bool variant_resumed(struct trial *t)
{
	struct rt_options opt = trial_options(t->m);
	int accum = opt.accum, at = (UPDATES - 1) * accum;
	char path[] = "/tmp/graphXXXXXX";
	struct gen_graph mg;
	struct left whole = { 0 }, parts = { 0 };
	struct rt_program *p = NULL, *q = NULL;
	struct gt_err err = { 0 };
	uint64_t ticket = 0;
	int fd = mkstemp(path);
	bool good;

	if (fd < 0)
		return broken(t, "no file %s", path);
	close(fd);
	gen_build(t->m, GEN_ROWS, &mg, NULL);
	p = trial_program(t, t->m, &mg, &opt);
	opt.device = variants_device;
	opt.seed++;
	good = p && rt_compile(mg.g, mg.loss, &opt, &q, NULL) == 0;
	if (good)
		train(t->m, &mg, p, 0, at, false, &whole);
	if (good && !whole.status) {
		memcpy(parts.loss, whole.loss, sizeof(whole.loss));
		if (rt_save(p, path, 7, &err) < 0 || rt_load(q, path, &ticket, &err) < 0 || ticket != 7)
			good = broken(t, "a checkpoint: %s", err.msg);
		q->opt.seed--; /* the checkpoint restores the seed of dropouts */
	}
	if (good && !whole.status) {
		train(t->m, &mg, p, at, at + accum, false, &whole);
		train(t->m, &mg, q, at, at + accum, false, &parts);
		read_all(t->m, &mg, p, &whole);
		read_all(t->m, &mg, q, &parts);
		good = same_left(t, t->m, &mg, &whole, &parts, "a checkpoint");
	}
	left_clear(&whole);
	left_clear(&parts);
	rt_program_free(p);
	rt_program_free(q);
	gen_graph_free(&mg);
	unlink(path);
	return good;
}

/* One batch of each shape: loss and gradients have the same bits as in a program that has only this shape. */
static bool same_shape(struct trial *t, struct gen_program *m, const struct gen_graph *mg, struct rt_program *family, int shape)
{
	struct rt_options opt = { .debug = { .keep_gradients = true, .poison = true, .no_fuse = family->opt.debug.no_fuse },
				  .threads = family->threads, .deterministic = true };
	gt_auto(rt_program) *alone = trial_program(t, m, &mg[shape], &opt);
	struct rt_metrics a = { 0 }, b = { 0 };
	struct gt_err err = { 0 };
	void **inputs;
	bool good = alone != NULL;
	int r;

	if (!good)
		return false;
	inputs = gen_inputs(m, &mg[shape], 0);
	rt_use_shape(family, shape);
	gen_load(m, &mg[shape], family);
	r = rt_step(family, (const void *const *)inputs, &a, &err);
	if (r != rt_step(alone, (const void *const *)inputs, &b, &err))
		good = broken(t, "shape %d: a step ends with %d", shape, r);
	else if (!r && memcmp(&a.loss, &b.loss, sizeof(a.loss)) != 0)
		good = broken(t, "shape %d: the loss is %.17g, of that shape alone %.17g", shape, a.loss, b.loss);
	for (int i = 0; good && !r && i < m->n; i++) {
		const float *x = read_gradient(family, mg[shape].node[i]), *y = read_gradient(alone, mg[shape].node[i]);

		if (!x != !y || (x && memcmp(x, y, rt_node_bytes(mg[shape].node[i])) != 0))
			good = broken(t, "shape %d: the gradient of v%d differs from that of the shape alone", shape, i);
	}
	gen_inputs_free(inputs);
	return good;
}

bool variant_shapes(struct trial *t)
{
	static const int64_t rows[] = { GEN_LEAST_ROWS, GEN_ROWS, GEN_MOST_ROWS }, order[] = { 1, 0, 2, 1 };
	struct rt_options opt = { .device = variants_device, .deterministic = true, .threads = 1 + t->m->how[6] % 2, .seed = 3,
				  .debug = { .keep_gradients = true, .poison = variants_device == RT_CPU,
					     .no_fuse = t->m->how[4] % 4 == 0 } };
	struct gen_program m = *t->m;
	struct gen_graph mg[3];
	const struct rt_graph *g[3];
	struct rt_node *loss[3];
	struct rt_program *p = NULL;
	bool good = true;

	m.dropout = false; /* the random numbers of a batch depend on the batches before */
	for (int i = 0; i < 3; i++) {
		good &= gen_build(&m, rows[i], &mg[i], NULL) == 0;
		g[i] = mg[i].g;
		loss[i] = mg[i].loss;
	}
	if (!good || rt_compile_shapes(g, loss, 3, &opt, &p, NULL) < 0)
		discard(t); /* the number of rows is part of the model */
	good = true;
	for (size_t i = 0; p && good && i < GT_ARRAY_SIZE(order); i++)
		good = same_shape(t, &m, mg, p, (int)order[i]);
	rt_program_free(p);
	for (int i = 0; i < 3; i++)
		gen_graph_free(&mg[i]);
	return good;
}
