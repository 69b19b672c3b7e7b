/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/update.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/timing.h"
#include "runtime/ddp/groups.h"
#include "runtime/math/simd.h"

/* ---- opening ---- */

static int new_stream(struct rt_engine *e, cu_stream *ret, struct gt_err *err)
{
	return rt_engine_check(e, e->dev->d.stream_create(ret, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
}

static int new_event(struct rt_engine *e, cu_event *ret, struct gt_err *err)
{
	return rt_engine_check(e, e->dev->d.event_create(ret, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
}

int rt_engine_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state = gt_xcalloc(1, sizeof(*e));
	cu_stream *const streams[] = { &e->stream, &e->copy };
	cu_event *const events[] = { &e->copied[0], &e->copied[1], &e->loss_ready, &e->norm_ready, &e->idle };
	struct rt_comm *group = rt_comms_any(p);
	int r = rt_cuda_open_rank(group ? rt_comm_local_rank(group) : 0, group && rt_comm_launched(group),
				  &e->dev, err);

	if (r)
		return gt_fail_prefix(err, "no device cuda");
	e->tf32 = p->opt.precision.tf32;
	e->exact = p->opt.deterministic;
	e->attention.by = p->opt.attention_by;
	if (p->opt.precision.fp8.use && e->dev->arch < 89)
		return gt_fail(err, ENOSYS, "%s is sm_%d and fp8 needs sm_89 or newer: --amp bf16 works there", e->dev->name,
			       e->dev->arch);
	r = rt_blas_open(e->dev, &e->blas, err);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(streams); i++)
		r = new_stream(e, streams[i], err);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(events); i++)
		r = new_event(e, events[i], err);
	if (!r)
		r = rt_comms_open(p, err);
	return r ? r : rt_engine_read_memory(e, err);
}

static void free_shape(struct rt_engine *e, struct rt_engine_shape *s)
{
	const struct rt_driver *d = &e->dev->d;

	for (int i = 0; i < 4; i++) {
		if (i < 2 && s->forward[i])
			d->graph_exec_destroy(s->forward[i]);
		if (s->backward[i / 2][i % 2])
			d->graph_exec_destroy(s->backward[i / 2][i % 2]);
	}
	for (int i = 0; i < 2; i++)
		if (s->early[i])
			d->graph_exec_destroy(s->early[i]);
	if (s->update)
		d->graph_exec_destroy(s->update);
	free(s->groups);
}

void rt_engine_free(struct rt_program *p)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d;

	if (!e)
		return;
	if (!e->dev) {
		free(e);
		return;
	}
	d = &e->dev->d;
	d->ctx_set(e->dev->ctx);
	rt_engine_release(e);
	d->ctx_sync();
	for (int i = 0; i < e->n_shapes; i++)
		free_shape(e, &e->shapes[i]);
	free(e->shapes);
	rt_comms_close(e); /* before the memory is freed, because NCCL registers the buffers of captured collectives */
	if (e->compress.out)
		d->mem_free(e->compress.out);
	free(e->lowrank);
	rt_timing_free(e->timing);
	rt_launch_user_close(e);
	rt_blas_close(e->blas);
	rt_dnn_close(e->dnn);
	for (int i = 0; i < e->n_buckets; i++) {
		if (e->ready[i])
			d->event_destroy(e->ready[i]);
		if (e->reduced[i])
			d->event_destroy(e->reduced[i]);
	}
	free(e->ready);
	free(e->reduced);
	if (e->reduce && e->reduce != e->stream)
		d->stream_destroy(e->reduce);
	for (int i = 0; i < 2; i++)
		if (e->copied[i])
			d->event_destroy(e->copied[i]);
	if (e->loss_ready)
		d->event_destroy(e->loss_ready);
	if (e->norm_ready)
		d->event_destroy(e->norm_ready);
	if (e->idle)
		d->event_destroy(e->idle);
	if (e->stream)
		d->stream_destroy(e->stream);
	if (e->copy)
		d->stream_destroy(e->copy);
	rt_inputs_free(e);
	if (e->pinned[0])
		d->host_free(e->pinned[0]);
	if (e->base)
		d->mem_free(e->base);
	rt_cuda_close(e->dev);
	free(e);
}

/* NCCL sums floats. */
static int open_buckets(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int n = e->n_buckets = p->plan.n_buckets, r = 0;

	e->ready = gt_xcalloc((size_t)n + 1, sizeof(*e->ready));
	e->reduced = gt_xcalloc((size_t)n + 1, sizeof(*e->reduced));
	for (int k = 0; !r && k < n; k++) {
		const struct rt_bucket *b = &p->plan.buckets[k];

		for (int i = 0; i < b->n; i++)
			if (b->gradient[i]->dtype != RT_F32)
				return gt_fail(err, ENOSYS, "%s is %s; ranks on cuda devices can reduce only f32",
					       b->gradient[i]->name, rt_dtype_name(b->gradient[i]->dtype));
		r = new_event(e, &e->ready[k], err);
		if (!r)
			r = new_event(e, &e->reduced[k], err);
	}
	return r;
}

static int fill_group(struct rt_program *p, const struct update_group *g, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	gt_autofree struct rt_update_tensor *t = gt_xcalloc((size_t)g->n, sizeof(*t));
	gt_autofree struct rt_update_chunk *chunks = gt_xcalloc((size_t)g->n_chunks, sizeof(*chunks));
	int at = 0, r;

	for (int i = 0; i < g->n; i++) {
		const struct rt_call *c = p->plan.ir.calls[g->first + i];

		t[i] = (struct rt_update_tensor){
			.param = rt_at(c->out[0]),
			.state0 = rt_at(c->out[1]),
			.state1 = rt_at(c->out[2]),
			.gradient = rt_at(c->in[0]),
			.scale0 = rt_at(c->out[3]),
			.scale1 = rt_at(c->out[4]),
			.copy = rt_at(rt_plan_reduced_copy(&p->plan, c->out[0])),
			.n = rt_shape_elements(&c->out[0]->shape),
			.gradient_type = typed(RT_UPDATE_F32, c->in[0]),
			.narrow_param = c->out[0]->dtype == RT_BF16,
			.half_copy = p->opt.precision.amp == RT_F16,
			.norm_share = rt_comms_norm_share(p, c->out[0]),
			.stream = (uint64_t)c->out[0]->id,
		};
		for (int64_t start = 0; start < t[i].n; start += RT_UPDATE_CHUNK)
			chunks[at++] = (struct rt_update_chunk){.start = start, .tensor = i};
	}
	r = rt_cuda_put(e->dev, g->tensors, t, (size_t)g->n * sizeof(*t), err);
	return r ? r : rt_cuda_put(e->dev, g->chunks, chunks, (size_t)g->n_chunks * sizeof(*chunks), err);
}

/*
 * Writes the tables of the 8-bit codes. A cell contains at most one border between two codes; the lower 16 bits of a
 * value then select its side.
 */
static int put_maps(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	gt_autofree struct rt_update_maps *maps = gt_xcalloc(1, sizeof(*maps));

	if (!e->maps)
		return 0;
	for (int s = 0; s < 2; s++) {
		const struct rt_map8 *map = rt_map8(s);

		memcpy(maps->value[s], map->value, sizeof(maps->value[s]));
		for (uint32_t i = 0; i < RT_MAP8_CELLS; i++) {
			uint32_t border;

			memcpy(&border, &map->border[i], sizeof(border));
			maps->cell[s][i] = (uint32_t)map->code[i] << 16 | (isfinite(map->border[i]) ? border & 0xffff : 0xffff);
		}
	}
	return rt_cuda_put(e->dev, e->maps, maps, sizeof(*maps), err);
}

/* ---- building ---- */
static int capture(struct rt_program *p, int from, int to, struct rt_launch_how how, void **ret, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_driver *d = &e->dev->d;
	void *graph = NULL;
	int r = rt_engine_check(e, d->capture_begin(e->stream, CU_CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture", err),
	    end;

	if (r)
		return r;
	r = rt_launch_calls(p, from, to, how, err);
	end = d->capture_end(e->stream, &graph);
	if (!r)
		r = rt_engine_check(e, end, "cuStreamEndCapture", err);
	if (!r)
		r = rt_engine_check(e, d->graph_instantiate(ret, graph, 0), "cuGraphInstantiate", err);
	if (graph)
		d->graph_destroy(graph);
	return r;
}

static int capture_all(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct rt_engine_shape *s = e->s;
	int n = p->plan.ir.n_calls, batches = e->infers ? 2 : GT_MIN(p->opt.accum, 3), r = 0;

	for (int batch = 0; !r && batch < batches; batch++) {
		int add = batch > 0, last = batch + 1 == batches;

		rt_plan_set_accumulate(&p->plan, add);
		if (!s->forward[add])
			r = capture(p, 0, s->n_forward, (struct rt_launch_how){.no_once = add, .mean_loss = !e->infers},
				    &s->forward[add], err);
		if (!r && s->n_forward < s->n_backward)
			r = capture(p, s->n_forward, s->n_backward, (struct rt_launch_how){.no_updates = !last},
				    &s->backward[add][last], err);
		e->plain = true;
		if (!r && last && p->opt.ranks.compress_after && rt_compress_bytes(p))
			r = capture(p, s->n_forward, s->n_backward, (struct rt_launch_how){0}, &s->early[add], err);
		e->plain = !rt_compress_active(p, INT64_MAX);
	}
	rt_plan_set_accumulate(&p->plan, false);
	if (!r && s->n_measure < n)
		r = capture(p, s->n_measure, n, (struct rt_launch_how){0}, &s->update, err);
	return r;
}

/* Fills the memory with plausible values, as floats and as bf16: products of zeros would be too fast. */
static int fill_plausibly(struct rt_program *p, struct gt_err *err)
{
	const struct rt_update_step step = {.loss_scale = 1, .grad_scale = 1};
	struct rt_engine *e = p->state;
	size_t bytes = p->plan.arena_bytes, words = GT_MIN((bytes + 3) / 4, (size_t)1 << 20), have;
	gt_autofree uint32_t *pattern = gt_xcalloc(words, sizeof(*pattern));
	int r;

	for (uint64_t i = 0; i < words; i++) {
		float x = rt_random_normal(1, 1, i), y = rt_random_normal(1, 2, i);
		uint32_t a, b;

		memcpy(&a, &x, sizeof(a));
		memcpy(&b, &y, sizeof(b));
		pattern[i] = (a & 0xffff0000u) | b >> 16;
	}
	have = GT_MIN(bytes, words * 4);
	r = rt_cuda_put(e->dev, e->base, pattern, have, err);
	for (size_t n; !r && have < bytes; have += n) {
		n = GT_MIN(have, bytes - have);
		r = rt_engine_check(e, e->dev->d.copy_async(e->base + have, e->base, n, e->stream), "cuMemcpyDtoDAsync",
				    err);
	}
	/* ids and targets must be valid indexes */
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role == RT_ROLE_INPUT && n->dtype == RT_I32 && n->first >= 0)
			r = rt_engine_check(e, e->dev->d.fill_async(rt_at(n), 0, rt_node_bytes(n), e->stream),
					    "cuMemsetD8Async", err);
	}
	if (!r)
		r = rt_cuda_put(e->dev, e->step, &step, sizeof(step), err);
	return r;
}

static int check_calls(const struct rt_program *p, struct gt_err *err)
{
	const struct rt_engine *e = p->state;

	if (e->r) { /* failure since planning */
		*err = e->err;
		return e->r;
	}
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		const char *why = rt_launch_refuses(e, c);

		if (why)
			return gt_fail(err, ENOSYS, "%s of %s: %s; the CPU can run it",
				       c->attr.user ? c->attr.user->name : c->op->name, c->in[0] ? c->in[0]->name : "nothing", why);
	}
	return 0;
}

void rt_engine_use(struct rt_program *p, int shape)
{
	struct rt_engine *e = p->state;

	rt_use_shape(p, shape);
	e->s = &e->shapes[shape];
	e->step_loss = rt_engine_loss(p);
}

static void find_phases(struct rt_program *p)
{
	struct rt_engine_shape *s = rt_engine_of(p)->s;
	struct rt_call *const *calls = p->plan.ir.calls;
	int n = p->plan.ir.n_calls;

	while (s->n_forward < n && calls[s->n_forward]->phase == RT_PHASE_FORWARD)
		s->n_forward++;
	for (s->n_backward = s->n_forward; s->n_backward < n; s->n_backward++)
		if (calls[s->n_backward]->phase == RT_PHASE_GRADIENT)
			break;
	for (s->n_measure = s->n_backward; s->n_measure < n; s->n_measure++)
		if (calls[s->n_measure]->phase != RT_PHASE_GRADIENT)
			break;
}

/* The plan of a stage contains each microbatch. */
static int rehearse_stage(struct rt_program *p, struct gt_err *err)
{
	return rt_launch_calls(p, 0, p->plan.ir.n_calls, (struct rt_launch_how){0}, err);
}

/* Runs every kernel, product and collective once, eagerly: loads kernels, connects ranks, and chooses algorithms by
 * timing. */
static int rehearse(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = fill_plausibly(p, err);

	for (int i = 0; !r && i < e->s->n_groups; i++)
		r = fill_group(p, &e->s->groups[i], err);
	e->tuning = true;
	e->plain = !rt_compress_active(p, INT64_MAX);
	if (!r && p->plan.segment)
		r = rehearse_stage(p, err);
	else if (!r)
		r = rt_launch_calls(p, 0, p->plan.ir.n_calls, (struct rt_launch_how){.mean_loss = true}, err);
	if (!r && p->opt.accum > 1 && !e->infers && !p->plan.segment) { /* products that add to their output use other algorithms */
		rt_plan_set_accumulate(&p->plan, true);
		r = rt_launch_calls(p, 0, e->s->n_backward, (struct rt_launch_how){.no_updates = true}, err);
		rt_plan_set_accumulate(&p->plan, false);
	}
	if (!r && p->opt.ranks.compress_after && rt_compress_bytes(p)) { /* and also uncompressed, as in the first updates */
		e->plain = true;
		r = rt_launch_calls(p, e->s->n_forward, e->s->n_backward, (struct rt_launch_how){0}, err);
		e->plain = !rt_compress_active(p, INT64_MAX);
	}
	if (!r)
		rt_comms_arrive(e);
	if (!r)
		r = rt_engine_drain(e, err);
	e->tuning = false;
	return r;
}

int rt_engine_build(struct rt_program *p, struct gt_err *err)
{
	const struct rt_debug *debug = &p->opt.debug;
	bool eager = debug->poison || debug->profile || debug->trace || debug->anomaly || p->plan.segment;
	struct rt_engine *e = p->state;
	int calls = 0, r = 0;
	double t0;

	e->eval = e->infers = !rt_plan_trains(&p->plan);
	e->shapes = gt_xcalloc((size_t)p->n_shapes, sizeof(*e->shapes));
	e->n_shapes = p->n_shapes;
	for (int i = 0; !r && i < e->n_shapes; i++) {
		rt_engine_use(p, i);
		r = check_calls(p, err);
		find_phases(p);
		rt_comms_count(p);
		rt_engine_find_groups(p);
		rt_fp8_open(p);
		if (!r)
			r = rt_launch_user_open(p, err);
		calls = GT_MAX(calls, p->plan.ir.n_calls);
	}
	if (!r && (p->opt.debug.profile || p->opt.debug.trace))
		e->timing = rt_timing_new(e->dev, calls);
	if (!r)
		r = rt_groups_agree(&p->opt, p->shapes, p->n_shapes, RT_DIM_TENSOR, err);
	if (!r)
		r = open_buckets(p, err);
	if (!r)
		r = rt_engine_allocate(p, err);
	if (!r)
		r = rt_stages_allocate(p, err);
	if (!r)
		r = put_maps(p, err);
	if (!r)
		r = rt_compress_open(p, err);
	for (int i = 0; !r && i < e->n_shapes; i++) {
		rt_engine_use(p, i);
		r = rehearse(p, err);
	}
	if (!r)
		r = rt_compress_clear(p, err);
	if (!r)
		r = rt_engine_start_parameters(p, err);
	t0 = gt_now_s();
	for (int i = 0; !r && i < e->n_shapes && !eager; i++) {
		rt_engine_use(p, i);
		r = capture_all(p, err);
	}
	e->capture_s = gt_now_s() - t0;
	rt_engine_use(p, 0);
	p->stale = true;
	return r ? r : rt_engine_read_memory(e, err);
}

uint64_t rt_engine_bytes(const struct rt_program *p)
{
	return rt_engine_of(p)->bytes;
}

void rt_engine_report(const struct rt_program *p, json_t *doc)
{
	const struct rt_engine *e = p->state;
	char version[64], arch[32];
	int timed, cached, guessed, more[3] = {0};

	rt_blas_counts(e->blas, &timed, &cached, &guessed);
	if (e->dnn)
		rt_dnn_counts(e->dnn, &more[0], &more[1], &more[2]);
	snprintf(version, sizeof(version), "cuBLASLt %zu", rt_blas_version(e->blas));
	snprintf(arch, sizeof(arch), "sm_%d", e->dev->arch);
	json_object_set_new(doc, "card", gt_json_str(e->dev->name));
	json_object_set_new(doc, "isa", json_string(arch));
	json_object_set_new(doc, "blas", json_string(version));
	if (e->dnn) {
		snprintf(version, sizeof(version), "cuDNN %s", rt_dnn_version(e->dnn));
		json_object_set_new(doc, "dnn", json_string(version));
	}
	rt_launch_attention_report(e, doc);
	if (e->timing)
		rt_timing_report(e->timing, doc);
	json_object_set_new(doc, "pages", json_string("device memory"));
	json_object_set_new(doc, "placement", gt_json_str(e->dev->name));
	json_object_set_new(doc, "pages_on_node", json_object());
	json_object_set_new(doc, "memory", rt_engine_memory_report(e));
	json_object_set_new(doc, "products",
			    json_pack("{s:i, s:i, s:i}", "timed", timed + more[0], "from_disk", cached + more[1], "guessed",
			      guessed + more[2]));
	rt_comms_report(p, doc);
	if (e->host_steps)
		json_object_set_new(doc, "host_s_per_step", json_real(e->host_s / (double)e->host_steps));
	json_object_set_new(doc, "inputs", json_pack("{s:I, s:I}", "direct", (json_int_t)e->inputs.direct, "copied",
						     (json_int_t)e->inputs.copied));
	json_object_set_new(doc, "graphs", json_boolean(e->shapes[0].forward[0] != NULL));
}
