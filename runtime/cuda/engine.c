/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/comm/ddp.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/timing.h"
#include "runtime/cuda/update.h"

/* ---- opening ---- */
int rt_engine_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda = gt_xcalloc(1, sizeof(*e));
	const struct rt_driver *d;
	struct rt_comm *group = p->opt.ddp.comm;
	int r = rt_cuda_open_rank(group ? rt_comm_rank(group) : 0, group ? rt_comm_hosts(group) : 1, &e->dev, err);

	if (r)
		return gt_fail_prefix(err, "no device cuda");
	d = &e->dev->d;
	e->tf32 = p->opt.tf32;
	e->exact = p->opt.deterministic;
	e->attention.by = p->opt.attention_by;
	if (p->opt.fp8.use && e->dev->arch < 89)
		return gt_fail(err, ENOSYS, "%s is sm_%d and fp8 wants sm_89 or newer: --amp bf16 works there", e->dev->name,
			       e->dev->arch);
	r = rt_blas_open(e->dev, &e->blas, err);
	if (!r && group)
		r = rt_nccl_open(group, &e->nccl, err);
	if (!r && group)
		r = rt_engine_check(e, d->stream_create(&e->reduce, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
	if (!r && group)
		r = rt_engine_check(e, d->event_create(&e->idle, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	e->spins = group && rt_comm_spins(group);
	if (!r)
		r = rt_engine_check(e, d->stream_create(&e->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
	if (!r)
		r = rt_engine_check(e, d->stream_create(&e->copy, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
	for (int i = 0; !r && i < 2; i++)
		r = rt_engine_check(e, d->event_create(&e->copied[i], CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	if (!r)
		r = rt_engine_check(e, d->event_create(&e->loss_ready, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	if (!r)
		r = rt_engine_check(e, d->event_create(&e->norm_ready, CU_EVENT_DISABLE_TIMING), "cuEventCreate", err);
	return r;
}

int rt_engine_limit_memory(struct rt_program *p, struct gt_err *err)
{
	const struct rt_engine *e = p->cuda;
	size_t available = 0, total = 0;
	uint64_t own = RT_BLAS_WORKSPACE;
	int r = rt_engine_check(e, e->dev->d.mem_info(&available, &total), "cuMemGetInfo", err);

	if (r)
		return r;
	available = available > own ? available - own : 1;
	p->opt.memory_limit_bytes = p->opt.memory_limit_bytes ? GT_MIN(p->opt.memory_limit_bytes, available) : available;
	return 0;
}

void rt_engine_free(struct rt_engine *e)
{
	const struct rt_driver *d;

	if (!e)
		return;
	if (!e->dev) {
		free(e);
		return;
	}
	d = &e->dev->d;
	d->ctx_set(e->dev->ctx);
	rt_engine_let_go(e);
	d->ctx_sync();
	for (int i = 0; i < 4; i++) {
		if (i < 2 && e->forward[i])
			d->graph_exec_destroy(e->forward[i]);
		if (e->backward[i / 2][i % 2])
			d->graph_exec_destroy(e->backward[i / 2][i % 2]);
	}
	if (e->update)
		d->graph_exec_destroy(e->update);
	rt_timing_free(e->timing);
	rt_blas_close(e->blas);
	rt_dnn_close(e->dnn);
	rt_nccl_close(e->nccl);
	for (int i = 0; i < e->n_buckets; i++) {
		if (e->ready[i])
			d->event_destroy(e->ready[i]);
		if (e->reduced[i])
			d->event_destroy(e->reduced[i]);
	}
	free(e->ready);
	free(e->reduced);
	if (e->reduce)
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
	if (e->pinned[0])
		d->host_free(e->pinned[0]);
	if (e->base)
		d->mem_free(e->base);
	free(e->groups);
	rt_cuda_close(e->dev);
	free(e);
}

/* ---- memory ---- */
static int count_chunks(const struct rt_call *c)
{
	return (int)((rt_shape_elements(&c->out[0]->shape) + RT_UPDATE_CHUNK - 1) / RT_UPDATE_CHUNK);
}

static void find_groups(struct rt_program *p)
{
	struct rt_engine *e = p->cuda;
	struct rt_call **calls = p->plan.ir.calls;

	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		struct update_group *g;

		if (!rt_is_update(calls[i]))
			continue;
		g = e->n_groups ? &e->groups[e->n_groups - 1] : NULL;
		if (!g || g->first + g->n != i || calls[g->first]->op != calls[i]->op) {
			e->groups = gt_xrealloc(e->groups, (size_t)(e->n_groups + 1) * sizeof(*e->groups));
			g = &e->groups[e->n_groups++];
			*g = (struct update_group){.first = i};
		}
		g->n++;
		g->n_chunks += count_chunks(calls[i]);
	}
}

static uint64_t table_bytes(const struct update_group *g)
{
	return rt_engine_aligned((uint64_t)g->n * sizeof(struct rt_update_tensor)) +
	       rt_engine_aligned((uint64_t)g->n_chunks * sizeof(struct rt_update_chunk));
}

/* Norm, factor, and a partial sum for each chunk. */
static uint64_t norm_bytes(const struct rt_engine *e)
{
	uint64_t chunks = 0;

	for (int i = 0; i < e->n_groups; i++)
		chunks += (uint64_t)e->groups[i].n_chunks;
	return rt_engine_aligned((2 + chunks) * sizeof(float));
}

static uint64_t count_inputs(const struct rt_program *p)
{
	uint64_t bytes = 0;

	for (int i = 0; i < p->plan.n_graph_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_INPUT)
			bytes += rt_engine_aligned(rt_node_bytes(p->plan.ir.nodes[i]));
	return bytes;
}

static int fits(const struct rt_program *p, uint64_t need, struct gt_err *err)
{
	const struct rt_engine *e = p->cuda;
	char want[32], have[32];
	size_t available = 0, total = 0;
	int r = rt_engine_check(e, e->dev->d.mem_info(&available, &total), "cuMemGetInfo", err);

	if (r)
		return r;
	if (need <= available)
		return 0;
	gt_format_bytes(want, sizeof(want), need);
	gt_format_bytes(have, sizeof(have), available);
	return gt_fail(err, ENOMEM,
		       "the program needs %s of memory on %s and %s are free: take a smaller batch or model", want,
		       e->dev->name, have);
}

/* One allocation: the plan's arena, then what the engine itself needs; pinned memory of the host likewise. */
static int allocate(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	uint64_t arena = rt_engine_aligned(p->plan.arena_bytes), input = count_inputs(p), at = arena;
	char *pinned;
	int r;

	e->input_bytes = input;
	e->bytes = arena + RT_BLAS_WORKSPACE + 2 * input + RT_ENGINE_ALIGN + norm_bytes(e) + RT_ENGINE_ALIGN +
		   rt_engine_aligned(p->plan.window_bytes);
	for (int i = 0; i < e->n_groups; i++)
		e->bytes += table_bytes(&e->groups[i]);
	r = fits(p, e->bytes, err);
	if (!r)
		r = rt_engine_check(e, d->mem_alloc(&e->base, e->bytes), "cuMemAlloc", err);
	if (!r)
		r = rt_engine_check(e, d->host_alloc((void **)&pinned, 2 * input + 3 * RT_ENGINE_ALIGN, 0),
				    "cuMemHostAlloc", err);
	if (r)
		return r;
	e->pinned[0] = pinned;
	e->pinned[1] = pinned + input;
	e->loss = (float *)(pinned + 2 * input);
	e->steps = (struct rt_update_step *)(pinned + 2 * input + RT_ENGINE_ALIGN);
	e->norm_out = (float *)(pinned + 2 * input + 2 * RT_ENGINE_ALIGN);
	rt_blas_set_workspace(e->blas, e->base + at);
	at += RT_BLAS_WORKSPACE;
	for (int i = 0; i < 2; i++, at += input)
		e->staging[i] = e->base + at;
	e->step = e->base + at;
	at += RT_ENGINE_ALIGN;
	e->norm = e->base + at;
	at += norm_bytes(e);
	e->loss_mean = e->base + at;
	at += RT_ENGINE_ALIGN;
	e->window = e->base + at;
	at += rt_engine_aligned(p->plan.window_bytes);
	for (int i = 0; i < e->n_groups; i++) {
		struct update_group *g = &e->groups[i];

		g->tensors = e->base + at;
		g->chunks = g->tensors + rt_engine_aligned((uint64_t)g->n * sizeof(struct rt_update_tensor));
		at += table_bytes(g);
	}
	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];

		if (n->first >= 0)
			n->data = (void *)(uintptr_t)((n->shared ? e->window : e->base) + n->offset);
	}
	e->loss_seen = rt_engine_loss(p);
	return 0;
}

/* What NCCL sums is float. */
static int open_buckets(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_driver *d = &e->dev->d;
	int n = p->plan.n_buckets, r = 0;

	e->ready = gt_xcalloc((size_t)n + 1, sizeof(*e->ready));
	e->reduced = gt_xcalloc((size_t)n + 1, sizeof(*e->reduced));
	for (e->n_buckets = 0; !r && e->n_buckets < n; e->n_buckets++) {
		const struct rt_bucket *b = &p->plan.buckets[e->n_buckets];

		for (int i = 0; !r && i < b->n; i++)
			if (b->gradient[i]->dtype != RT_F32)
				r = gt_fail(err, ENOSYS, "%s is %s; ranks on cuda devices reduce f32", b->gradient[i]->name,
					    rt_dtype_name(b->gradient[i]->dtype));
		if (!r)
			r = rt_engine_check(e, d->event_create(&e->ready[e->n_buckets], CU_EVENT_DISABLE_TIMING),
					    "cuEventCreate", err);
		if (!r)
			r = rt_engine_check(e, d->event_create(&e->reduced[e->n_buckets], CU_EVENT_DISABLE_TIMING),
					    "cuEventCreate", err);
	}
	return r;
}

static int fill_group(struct rt_program *p, const struct update_group *g, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
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
			.copy = rt_at(rt_plan_low(&p->plan, c->out[0])),
			.n = rt_shape_elements(&c->out[0]->shape),
			.narrow_gradient = c->in[0]->dtype == RT_BF16,
			.narrow_param = c->out[0]->dtype == RT_BF16,
			.stream = (uint64_t)c->out[0]->id,
		};
		for (int64_t start = 0; start < t[i].n; start += RT_UPDATE_CHUNK)
			chunks[at++] = (struct rt_update_chunk){.start = start, .tensor = i};
	}
	r = rt_engine_check(e, e->dev->d.copy_to(g->tensors, t, (size_t)g->n * sizeof(*t)), "cuMemcpyHtoD", err);
	if (!r)
		r = rt_engine_check(e, e->dev->d.copy_to(g->chunks, chunks, (size_t)g->n_chunks * sizeof(*chunks)),
				    "cuMemcpyHtoD", err);
	return r;
}

/* ---- parameters ---- */
static int narrow_copy(struct rt_program *p, struct rt_node *n, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	const struct rt_node *low = rt_plan_low(&p->plan, n);
	int64_t count = rt_shape_elements(&n->shape);
	cu_ptr x = rt_at(n), y = rt_at(low);
	int r;

	if (!low)
		return 0;
	RT_LAUNCH(e, RT_K_narrow, GT_MIN((count + 255) / 256, e->dev->sms * 16), 1, 256, 1, 0, &count, &x, &y);
	r = e->r;
	if (r && err)
		*err = e->err;
	if (!r)
		r = rt_engine_check(e, e->dev->d.stream_sync(e->stream), "cuStreamSynchronize", err);
	return r;
}

/* Nearest, ties to even; NaN stays NaN. */
static uint16_t narrowed(float x)
{
	uint32_t u;

	memcpy(&u, &x, sizeof(u));
	return isnan(x) ? 0x7fff : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

int rt_engine_write(struct rt_program *p, struct rt_node *n, const float *in, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	gt_autofree uint16_t *low = NULL;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_engine_drain(e, err);
	if (!r)
		e->scaled = false;
	if (n->dtype == RT_BF16) {
		int64_t count = rt_shape_elements(&n->shape);

		low = gt_xcalloc((size_t)count, sizeof(*low));
		for (int64_t i = 0; i < count; i++)
			low[i] = narrowed(in[i]);
	}
	if (!r)
		r = rt_engine_check(e, e->dev->d.copy_to(rt_at(n), low ? (const void *)low : in, rt_node_bytes(n)),
				    "cuMemcpyHtoD", err);
	return r ? r : narrow_copy(p, n, err);
}

static float widen(uint16_t x)
{
	uint32_t u = (uint32_t)x << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

int rt_engine_read(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	int64_t count = rt_shape_elements(&n->shape);
	gt_autofree uint16_t *low = NULL;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_engine_drain(e, err);
	if (r)
		return r;
	if (n->dtype != RT_BF16)
		return rt_engine_check(e, e->dev->d.copy_from(out, rt_at(n), rt_node_bytes(n)), "cuMemcpyDtoH", err);
	low = gt_xcalloc((size_t)count, sizeof(*low));
	r = rt_engine_check(e, e->dev->d.copy_from(low, rt_at(n), rt_node_bytes(n)), "cuMemcpyDtoH", err);
	for (int64_t i = 0; !r && i < count; i++)
		out[i] = widen(low[i]);
	return r;
}

static int start_parameters(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	int r = rt_engine_check(e, e->dev->d.fill_async(e->base, 0, p->plan.pinned_bytes, e->stream), "cuMemsetD8Async",
				err);

	if (!r)
		r = rt_engine_check(e, e->dev->d.stream_sync(e->stream), "cuStreamSynchronize", err);
	e->scaled = false;
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		gt_autofree float *w = NULL;

		if (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		w = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(float));
		rt_program_init_param(n, w, p->opt.seed, p->cpu.threads);
		r = rt_engine_write(p, n, w, err);
	}
	return r;
}

/* ---- building ---- */
static int capture(struct rt_program *p, int from, int to, struct rt_launch_how how, void **ret, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
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
	struct rt_engine *e = p->cuda;
	int n = p->plan.ir.n_calls, r = 0;

	for (int batch = 0; !r && batch < GT_MIN(p->opt.accum, 3); batch++) {
		int add = batch > 0, last = batch + 1 == GT_MIN(p->opt.accum, 3);

		rt_plan_set_accumulate(&p->plan, add);
		if (!e->forward[add])
			r = capture(p, 0, e->n_forward, (struct rt_launch_how){.no_once = add, .mean_loss = true}, &e->forward[add],
				    err);
		if (!r && e->n_forward < e->n_backward)
			r = capture(p, e->n_forward, e->n_backward, (struct rt_launch_how){.no_updates = !last},
				    &e->backward[add][last], err);
	}
	rt_plan_set_accumulate(&p->plan, false);
	if (!r && e->n_measure < n)
		r = capture(p, e->n_measure, n, (struct rt_launch_how){0}, &e->update, err);
	return r;
}

/* Plausible numbers everywhere, as floats and as bf16: zeros would make products look faster than they are. */
static int fill_plausibly(struct rt_program *p, struct gt_err *err)
{
	enum { WORDS = 1 << 20 };
	const struct rt_update_step step = {.loss_scale = 1, .grad_scale = 1};
	gt_autofree uint32_t *pattern = gt_xcalloc(WORDS, sizeof(*pattern));
	struct rt_engine *e = p->cuda;
	size_t bytes = p->plan.arena_bytes, have;
	int r;

	for (uint64_t i = 0; i < WORDS; i++) {
		float x = rt_random_normal(1, 1, i), y = rt_random_normal(1, 2, i);
		uint32_t a, b;

		memcpy(&a, &x, sizeof(a));
		memcpy(&b, &y, sizeof(b));
		pattern[i] = (a & 0xffff0000u) | b >> 16;
	}
	have = GT_MIN(bytes, (size_t)WORDS * 4);
	r = rt_engine_check(e, e->dev->d.copy_to(e->base, pattern, have), "cuMemcpyHtoD", err);
	for (size_t n; !r && have < bytes; have += n) {
		n = GT_MIN(have, bytes - have);
		r = rt_engine_check(e, e->dev->d.copy_async(e->base + have, e->base, n, e->stream), "cuMemcpyDtoDAsync",
				    err);
	}
	/* ids and targets must lie in their tables */
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->role == RT_ROLE_INPUT && n->dtype == RT_I32)
			r = rt_engine_check(e, e->dev->d.fill_async(rt_at(n), 0, rt_node_bytes(n), e->stream),
					    "cuMemsetD8Async", err);
	}
	if (!r)
		r = rt_engine_check(e, e->dev->d.copy_to(e->step, &step, sizeof(step)), "cuMemcpyHtoD", err);
	return r;
}

static int check_calls(const struct rt_program *p, struct gt_err *err)
{
	if (p->cuda->r) { /* since the plan was made */
		*err = p->cuda->err;
		return p->cuda->r;
	}
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		const char *why = rt_launch_refuses(p->cuda, c);

		if (why)
			return gt_fail(err, ENOSYS, "%s of %s: %s; the CPU can run it", c->op->name,
				       c->in[0] ? c->in[0]->name : "nothing", why);
	}
	return 0;
}

int rt_engine_build(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->cuda;
	int n = p->plan.ir.n_calls, r = check_calls(p, err);
	double t0;

	if (r)
		return r;
	while (e->n_forward < n && p->plan.ir.calls[e->n_forward]->phase == RT_PHASE_FORWARD)
		e->n_forward++;
	for (e->n_backward = e->n_forward; e->n_backward < n; e->n_backward++)
		if (p->plan.ir.calls[e->n_backward]->phase == RT_PHASE_GRADIENT)
			break;
	for (e->n_measure = e->n_backward; e->n_measure < n; e->n_measure++)
		if (p->plan.ir.calls[e->n_measure]->phase != RT_PHASE_GRADIENT)
			break;
	find_groups(p);
	rt_fp8_open(p);
	if (p->opt.profile || p->opt.trace)
		e->timing = rt_timing_new(e->dev, n);
	r = open_buckets(p, err);
	if (!r)
		r = allocate(p, err);
	for (int i = 0; !r && i < e->n_groups; i++)
		r = fill_group(p, &e->groups[i], err);
	if (!r)
		r = fill_plausibly(p, err);
	/* Every kernel and product once, eagerly: loaded, and chosen by timing. */
	e->tuning = true;
	if (!r)
		r = rt_launch_calls(p, 0, n, (struct rt_launch_how){.mean_loss = true}, err);
	if (!r && e->nccl)
		rt_comm_come(p->opt.ddp.comm);
	if (!r)
		r = rt_engine_drain(e, err);
	e->tuning = false;
	if (!r)
		r = start_parameters(p, err);
	t0 = gt_now_s();
	if (!r && !p->opt.poison && !p->opt.profile && !p->opt.trace)
		r = capture_all(p, err);
	e->capture_s = gt_now_s() - t0;
	return r;
}

uint64_t rt_engine_bytes(const struct rt_engine *e)
{
	return e->bytes;
}

static json_t *ranks_report(const struct rt_program *p)
{
	struct rt_comm *group = p->opt.ddp.comm;
	json_t *buckets = json_array();
	double bytes = 0, size = rt_comm_size(group);

	for (int i = 0; i < p->plan.n_buckets; i++) {
		json_array_append_new(buckets, json_integer((json_int_t)p->plan.buckets[i].floats * 4));
		bytes += (double)p->plan.buckets[i].floats * 4;
	}
	bytes *= 2 * (size - 1) / size;
	return json_pack("{s:s, s:i, s:i, s:i, s:s, s:f, s:o, s:s, s:f, s:f}", "transport", "nccl", "version",
			 rt_nccl_version(p->cuda->nccl), "hosts", rt_comm_hosts(group), "nodes", rt_comm_nodes(group), "place",
			 rt_comm_place(group), "weight", 1 / size, "bucket_bytes", buckets, "compress", "none",
			 "sent_bytes_per_step", bytes, "raw_bytes_per_step", bytes);
}

void rt_engine_report(const struct rt_program *p, json_t *doc)
{
	const struct rt_engine *e = p->cuda;
	char version[64], arch[32];
	int timed, cached, guessed, more[3] = {0};

	rt_blas_counts(e->blas, &timed, &cached, &guessed);
	if (e->dnn)
		rt_dnn_counts(e->dnn, &more[0], &more[1], &more[2]);
	snprintf(version, sizeof(version), "cuBLASLt %zu", rt_blas_version(e->blas));
	snprintf(arch, sizeof(arch), "sm_%d", e->dev->arch);
	json_object_set_new(doc, "device", json_string("cuda"));
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
	json_object_set_new(doc, "planned_bytes", json_integer((json_int_t)e->bytes));
	json_object_set_new(doc, "products",
			    json_pack("{s:i, s:i, s:i}", "timed", timed + more[0], "from_disk", cached + more[1], "guessed",
			      guessed + more[2]));
	if (e->nccl)
		json_object_set_new(doc, "ddp", ranks_report(p));
	if (e->host_steps)
		json_object_set_new(doc, "host_s_per_step", json_real(e->host_s / (double)e->host_steps));
	json_object_set_new(doc, "graphs", json_boolean(e->forward[0] != NULL));
}
