/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a graph into a program. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/exec/program.h"
#include "runtime/graph/units.h"
#include "runtime/transport/comm.h"

/* Returns whether x can be a learning rate or a similar factor. False for NaN. */
static bool is_rate(double x)
{
	return x >= 0 && isfinite((float)x);
}

static bool is_fraction(double x)
{
	return x >= 0 && x < 1;
}

static int check_optimizer(const struct rt_optimizer *z, struct gt_err *err)
{
	if (!is_rate(z->lr) || !is_rate(z->weight_decay))
		return gt_fail(err, EINVAL, "learning rate %g and weight decay %g: neither may be negative", z->lr,
			       z->weight_decay);
	if (!is_fraction(z->momentum) || !is_fraction(z->beta1) || !is_fraction(z->beta2) || !is_rate(z->eps))
		return gt_fail(err, EINVAL, "momentum %g and betas %g and %g must be in [0,1), eps %g must not be negative",
			       z->momentum, z->beta1, z->beta2, z->eps);
	return 0;
}

static bool trains(const struct rt_options *o)
{
	return o->optimizer.kind != RT_NO_OPTIMIZER || o->debug.keep_gradients;
}

static int check_options(const struct rt_options *o, struct gt_err *err)
{
	const struct rt_scaler *s = &o->precision.scaler;
	const struct rt_fp8 *fp8 = &o->precision.fp8;

	if (o->precision.amp != RT_F32 && o->precision.amp != RT_BF16 && o->precision.amp != RT_F16)
		return gt_fail(err, EINVAL, "amp in %s: bf16 and f16 are supported", rt_dtype_name(o->precision.amp));
	if (o->memory.checkpoint < 0 || o->memory.recomputed < 0)
		return gt_fail(err, EINVAL, "%d segments, %d of them recomputed: neither may be negative", o->memory.checkpoint,
			       o->memory.recomputed);
	if (fp8->use && (o->precision.amp != RT_BF16 || fp8->history < 1 || fp8->history > 4096 || abs(fp8->margin) > 64))
		return gt_fail(err, EINVAL, "fp8 needs amp in bf16, a history of 1 to 4096 updates and a margin of at most "
			       "64");
	if (o->precision.int8 != RT_INT8_OFF && (trains(o) || o->precision.amp != RT_F32))
		return gt_fail(err, EINVAL, "INT8 products are for programs in f32 that do not train");
	if (o->precision.qat && (!trains(o) || o->precision.amp != RT_F32))
		return gt_fail(err, EINVAL, "quantisation-aware training is for programs in f32 that train");
	if (o->precision.qat && (o->device != RT_CPU || o->ranks.tensor))
		return gt_fail(err, ENOSYS, "quantisation-aware training needs the cpu device and no tensor parallelism");
	if (o->precision.int8 == RT_INT8_STATIC && !o->precision.ranges)
		return gt_fail(err, EINVAL, "static INT8 products need the ranges of a calibration");
	if (o->threads < 0 || o->threads > 4096)
		return gt_fail(err, EINVAL, "%d threads: 0 to 4096 are supported", o->threads);
	if (o->accum < 0 || o->accum > 1 << 20 || !isfinite(o->clip_norm) || o->clip_norm < 0)
		return gt_fail(err, EINVAL, "%d batches per update, clip norm %g: neither may be negative", o->accum,
			       o->clip_norm);
	if (!(s->growth > 1 && s->backoff > 0 && s->backoff < 1 && s->init > 0 && isfinite((float)s->init) && s->interval > 0))
		return gt_fail(err, EINVAL, "the loss scale must start above 0, grow by more than 1 and back off by less "
			       "than 1");
	if (!isfinite(o->pixels.mean) || !isfinite(o->pixels.std) || o->pixels.std < 0)
		return gt_fail(err, EINVAL, "the standard deviation of pixels must be above 0");
	if (o->ranks.compress < RT_COMPRESS_NONE || o->ranks.compress > RT_COMPRESS_ONEBIT || o->ranks.powersgd_rank < 0 ||
	    o->ranks.powersgd_rank > 64 || o->ranks.compress_after < 0)
		return gt_fail(err, EINVAL, "PowerSGD needs a rank of 1 to 64, and compression must start after 0 or more "
			       "updates");
	if (!(o->ranks.weight >= 0 && o->ranks.weight <= 1))
		return gt_fail(err, EINVAL, "a rank's fraction of the rows is %g: it must be in [0,1]", o->ranks.weight);
	if (o->sparse && (o->device != RT_CPU || o->ranks.tensor || o->pipeline.comm ||
			  (o->ranks.shard == RT_WHEN_ON && o->ranks.shard_stage == 3)))
		return gt_fail(err, ENOSYS, "masks of pruned weights need the cpu device and whole weights: no tensor parallelism, "
			       "pipeline or sharding of parameters");
	if (o->sparse && o->optimizer.kind == RT_NO_OPTIMIZER)
		return gt_fail(err, EINVAL, "masks of pruned weights need an optimizer");
	return check_optimizer(&o->optimizer, err);
}

const struct rt_backend *rt_find_backend(enum rt_device device)
{
	for (int i = 0; rt_backend_list[i]; i++)
		if (rt_backend_list[i]->device == device)
			return rt_backend_list[i];
	return NULL;
}

static int choose_backend(struct rt_program *p, struct gt_err *err)
{
	p->backend = rt_find_backend(p->opt.device);
	if (!p->backend)
		return gt_fail(err, EINVAL, "device %d is not part of this build", (int)p->opt.device);
	return p->backend->check(&p->opt, err);
}

static const struct rt_call *producer_of(const struct rt_graph *g, const struct rt_node *n)
{
	return n ? rt_ir_producer(&g->ir, n) : NULL;
}

static bool is_loss(const struct rt_graph *g, const struct rt_node *n)
{
	const struct rt_call *producer = producer_of(g, n);

	return producer && producer->op->loss;
}

static int check_loss(const struct rt_graph *g, const struct rt_node *loss, struct gt_err *err)
{
	int r = rt_graph_error(g, err);

	if (r)
		return r;
	if (!loss)
		return gt_fail(err, EINVAL, "there is no loss to compile");
	if (loss->graph != g)
		return gt_fail(err, EINVAL, "%s belongs to another graph", loss->name);
	if (!is_loss(g, loss))
		return gt_fail(err, EINVAL, "%s is not a loss: a loss is the result of cross_entropy or dot", loss->name);
	return 0;
}

static int check_outputs(const struct rt_graph *g, struct rt_outputs out, const struct rt_options *o, struct gt_err *err)
{
	int r = rt_graph_error(g, err);

	if (r)
		return r;
	if (!out.node || out.n < 1)
		return gt_fail(err, EINVAL, "a program needs at least one output");
	for (int i = 0; i < out.n; i++) {
		if (!out.node[i])
			return gt_fail(err, EINVAL, "output %d is NULL", i);
		if (out.node[i]->graph != g)
			return gt_fail(err, EINVAL, "output %d, %s, belongs to another graph", i, out.node[i]->name);
		if (!producer_of(g, out.node[i]))
			return gt_fail(err, EINVAL, "output %d, %s, is not the result of an op", i, out.node[i]->name);
	}
	if (trains(o) && !is_loss(g, out.node[0]))
		return gt_fail(err, EINVAL, "%s is not a loss: the first output of a program that trains must be its loss",
			       out.node[0]->name);
	return 0;
}

static int run_passes(struct rt_program *p, struct gt_err *err)
{
	for (int i = 0; rt_passes[i]; i++) {
		gt_auto_buf did = { 0 };
		int r = rt_passes[i]->run(&p->plan, &did, err);

		if (r)
			return r;
		json_array_append_new(p->plan.did, json_pack("{s:s, s:s}", "name", rt_passes[i]->name, "did",
							     did.s ? did.s : "nothing to do"));
	}
	return 0;
}

void rt_plan_clear(struct rt_plan *plan)
{
	rt_ir_clear(&plan->ir);
	free(plan->gradient);
	free(plan->toggles);
	for (int i = 0; i < plan->n_buckets; i++) {
		free(plan->buckets[i].gradient);
		free(plan->buckets[i].at);
	}
	free(plan->buckets);
	free(plan->outputs);
	free(plan->reduced);
	free(plan->segment);
	if (plan->stage)
		free(plan->stage->queue);
	free(plan->stage);
	json_decref(plan->did);
	memset(plan, 0, sizeof(*plan));
}

int rt_program_plan(struct rt_program *p, const struct rt_graph *g, struct rt_outputs out, struct gt_err *err)
{
	rt_plan_clear(&p->plan);
	p->plan.did = json_array();
	p->plan.opt = &p->opt;
	p->plan.ranks = p->opt.ranks.comm ? &p->ranks : NULL;
	p->plan.target = &p->backend->target;
	p->plan.align = p->backend->align;
	p->plan.scratch = p->backend->plan_scratch;
	p->plan.backend_state = p->state;
	rt_ir_copy(&p->plan.ir, &g->ir);
	p->plan.n_graph_nodes = g->ir.n_nodes;
	p->plan.outputs = gt_xcalloc((size_t)out.n, sizeof(*p->plan.outputs));
	p->plan.n_outputs = out.n;
	for (int i = 0; i < out.n; i++)
		p->plan.outputs[i] = p->plan.ir.nodes[out.node[i]->id];
	p->plan.loss = is_loss(g, out.node[0]) ? p->plan.outputs[0] : NULL;
	p->plan.gradient = gt_xcalloc((size_t)g->ir.n_nodes, sizeof(*p->plan.gradient));
	return run_passes(p, err);
}

static int plan(struct rt_program *p, const struct rt_graph *const *g, const struct rt_outputs *out, int shapes,
		struct gt_err *err)
{
	int r;

	p->plan.opt = &p->opt;
	r = rt_ranks_decide(&p->opt, rt_plan_measures_gradients(&p->plan), &p->ranks, err);
	return r ? r : rt_program_plan_shapes(p, g, out, shapes, err);
}

static int build(struct rt_program *p, const struct rt_graph *const *g, const struct rt_outputs *out, int shapes,
		 struct gt_err *err)
{
	int r = p->backend->open(p, err);

	if (r)
		return r;
	rt_auto_omp openmp = rt_run_enter(p);
	r = plan(p, g, out, shapes, err);
	if (r)
		return r;
	if (p->opt.debug.trace)
		p->events = gt_xcalloc(RT_TRACE_EVENTS, sizeof(*p->events));
	p->scale.on = rt_plan_scales_loss(&p->plan);
	r = p->plan.stage ? rt_pipeline_new(&p->opt, p->plan.stage, &p->pipeline, err) : 0;
	if (r)
		return r;
	return p->backend->build(p, err);
}

static void set_defaults(struct rt_options *opt)
{
	struct rt_optimizer *o = &opt->optimizer;
	struct rt_scaler *s = &opt->precision.scaler;

	o->beta1 = o->beta1 != 0 ? o->beta1 : 0.9;
	o->beta2 = o->beta2 != 0 ? o->beta2 : 0.999;
	o->eps = o->eps != 0 ? o->eps : 1e-8;
	opt->accum = opt->accum ? opt->accum : 1;
	opt->precision.fp8.history = opt->precision.fp8.history ? opt->precision.fp8.history : 1024;
	opt->ranks.powersgd_rank = opt->ranks.powersgd_rank ? opt->ranks.powersgd_rank : 1;
	s->init = s->init != 0 ? s->init : 65536;
	s->growth = s->growth != 0 ? s->growth : 2;
	s->backoff = s->backoff != 0 ? s->backoff : 0.5;
	s->interval = s->interval != 0 ? s->interval : 2000;
}

static struct rt_program *new_program(const struct rt_options *opt)
{
	struct rt_program *p = gt_xcalloc(1, sizeof(*p));

	p->opt = *opt;
	if (opt->pipeline.comm) {
		p->opt.pipeline.stages = rt_comm_size(opt->pipeline.comm);
		p->opt.pipeline.stage = rt_comm_rank(opt->pipeline.comm);
	}
	p->weight = 1;
	p->scale.scale = (float)opt->precision.scaler.init;
	return p;
}

/* out: per shape, already checked. */
static int compile(const struct rt_graph *const *g, const struct rt_outputs *out, int n, const struct rt_options *opt,
		   struct rt_program **ret, struct gt_err *err)
{
	gt_auto(rt_program) *p = new_program(opt);
	int r;

	r = choose_backend(p, err);
	if (r)
		return r;
	r = build(p, g, out, n, err);
	if (r)
		return r;
	p->pruned = rt_graph_pruned_text(g[0]);
	*ret = gt_take(p);
	return 0;
}

int rt_compile_shapes(const struct rt_graph *const *g, struct rt_node *const *loss, int n, const struct rt_options *opt,
		      struct rt_program **ret, struct gt_err *err)
{
	gt_autofree struct rt_outputs *out = NULL;
	struct rt_options o = *opt;
	int r;

	if (n < 1)
		return gt_fail(err, EINVAL, "a program needs at least one batch shape");
	set_defaults(&o);
	r = check_options(&o, err);
	if (r)
		return r;
	if (n > 1 && o.pipeline.comm)
		return gt_fail(err, ENOSYS, "a pipeline of %d stages trains on batches of one shape, not of %d",
			       rt_comm_size(o.pipeline.comm), n);
	out = gt_xcalloc((size_t)n, sizeof(*out));
	for (int i = 0; i < n; i++) {
		out[i] = (struct rt_outputs){ &loss[i], 1 };
		r = check_loss(g[i], loss[i], err);
		if (r)
			return r;
	}
	return compile(g, out, n, &o, ret, err);
}

int rt_compile(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt, struct rt_program **ret,
	       struct gt_err *err)
{
	return rt_compile_shapes(&g, &loss, 1, opt, ret, err);
}

int rt_program_plan_only(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt,
			 const struct rt_backend *backend, struct rt_program **ret, struct gt_err *err)
{
	gt_auto(rt_program) *p = NULL;
	struct rt_options o = *opt;
	int r;

	set_defaults(&o);
	r = check_options(&o, err);
	if (r)
		return r;
	r = check_loss(g, loss, err);
	if (r)
		return r;
	p = new_program(&o);
	p->backend = backend;
	r = backend->check(&p->opt, err);
	if (r)
		return r;
	r = backend->open(p, err);
	if (r)
		return r;
	r = plan(p, &g, &(struct rt_outputs){ &loss, 1 }, 1, err);
	if (r)
		return r;
	*ret = gt_take(p);
	return 0;
}

int rt_compile_outputs_shapes(const struct rt_graph *const *g, struct rt_node *const *const *outputs, int n, int shapes,
			      const struct rt_options *opt, struct rt_program **ret, struct gt_err *err)
{
	gt_autofree struct rt_outputs *out = NULL;
	struct rt_options o = *opt;
	int r;

	set_defaults(&o);
	r = check_options(&o, err);
	if (r)
		return r;
	if (shapes < 1)
		return gt_fail(err, EINVAL, "a program needs at least one batch shape");
	out = gt_xcalloc((size_t)shapes, sizeof(*out));
	for (int i = 0; i < shapes; i++) {
		out[i] = (struct rt_outputs){ outputs[i], n };
		r = check_outputs(g[i], out[i], &o, err);
		if (r)
			return r;
	}
	return compile(g, out, shapes, &o, ret, err);
}

int rt_compile_outputs(const struct rt_graph *g, struct rt_node *const *outputs, int n, const struct rt_options *opt,
		       struct rt_program **ret, struct gt_err *err)
{
	return rt_compile_outputs_shapes(&g, &outputs, n, 1, opt, ret, err);
}

void rt_program_free(struct rt_program *p)
{
	if (!p)
		return;
	if (p->backend)
		p->backend->free(p);
	rt_pipeline_free(p->pipeline);
	free(p->note);
	free(p->pruned);
	free(p->events);
	for (int i = 0; i < p->n_kernels; i++)
		free(p->kernels[i].name);
	free(p->kernels);
	if (!p->n_shapes || p->plan.ir.nodes != p->shapes[p->shape].ir.nodes)
		rt_plan_clear(&p->plan); /* the plan of an unfinished compilation */
	for (int i = 0; i < p->n_shapes; i++)
		rt_plan_clear(&p->shapes[i]);
	free(p->shapes);
	free(p);
}

void rt_set_lr(struct rt_program *p, double lr)
{
	p->opt.optimizer.lr = lr;
}

/* Returns the elements of a tensor that ranks may split or shard. */
static int64_t whole_elements(const struct rt_node *n)
{
	return rt_shape_elements(n->piece_unit && !n->cut.parts ? &n->whole : rt_cut_whole(n));
}

int64_t rt_program_parameters(const struct rt_program *p)
{
	int64_t n = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_PARAM)
			n += whole_elements(p->plan.ir.nodes[i]);
	return n;
}

static bool is_constant(const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER || (n->role == RT_ROLE_VALUE && n->pinned);
}

uint64_t rt_program_weight_bytes(const struct rt_program *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];
		bool read = false;

		for (int k = 0; is_constant(n) && !read && k < p->plan.ir.n_calls; k++)
			read = !p->plan.ir.calls[k]->run_once && rt_reads(p->plan.ir.calls[k], n);
		bytes += read ? rt_node_bytes(n) : 0;
	}
	return bytes;
}

uint64_t rt_program_cache_bytes(const struct rt_program *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_CACHE && p->plan.ir.nodes[i]->first >= 0)
			bytes += rt_node_bytes(p->plan.ir.nodes[i]);
	return bytes;
}

uint64_t rt_program_planned_bytes(const struct rt_program *p)
{
	return p->backend->bytes(p) + (p->pipeline ? rt_pipeline_bytes(p->pipeline) : 0);
}

int rt_program_threads(const struct rt_program *p)
{
	return p->threads;
}
