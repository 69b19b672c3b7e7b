/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a program on the device: one allocation, and with ranks those of compress.c and stages.c. Its size is
 * computed, reported, and compared with the free memory before it is allocated. The plan's arena comes first, then the
 * engine's own memory.
 */
#include <errno.h>
#include "runtime/cuda/engine.h"
#include "runtime/cuda/kernel/update.h"
#include "runtime/cuda/launch.h"

/* Reserve for the driver and the libraries, which later allocate memory for captured graphs, kernels and handles. */
#define RESERVE_SHARE 128 /* the reserve is 1/128 of the device's memory */

int rt_engine_read_memory(struct rt_engine *e, struct gt_err *err)
{
	size_t available = 0, total = 0;
	int r = rt_engine_check(e, e->dev->d.mem_info(&available, &total), "cuMemGetInfo", err);

	if (r)
		return r;
	if (!e->memory.total_bytes) {
		e->memory.total_bytes = total;
		e->memory.free_bytes = available;
		e->least_free = available;
	}
	e->least_free = GT_MIN(e->least_free, available);
	return 0;
}

void rt_engine_limit_memory(struct rt_program *p)
{
	struct rt_engine *e = p->state;
	uint64_t reserve = e->memory.total_bytes / RESERVE_SHARE, most;

	most = e->memory.free_bytes > reserve ? e->memory.free_bytes - reserve : 1;
	p->opt.memory.limit_bytes = p->opt.memory.limit_bytes ? GT_MIN(p->opt.memory.limit_bytes, most) : most;
}

/* ---- the tables of the updates ---- */
static int count_chunks(const struct rt_call *c)
{
	return (int)((rt_shape_elements(&c->out[0]->shape) + RT_UPDATE_CHUNK - 1) / RT_UPDATE_CHUNK);
}

static bool is_alike(const struct rt_call *a, const struct rt_call *b)
{
	return rt_cuda_kernels[a->op->id]->update == rt_cuda_kernels[b->op->id]->update;
}

/* Finds consecutive updates of one kind. */
static int group_from(const struct rt_plan *plan, int first, struct update_group *ret)
{
	struct rt_call *const *calls = plan->ir.calls;
	int i = first;

	while (i < plan->ir.n_calls && !rt_is_update(calls[i]))
		i++;
	*ret = (struct update_group){ .first = i };
	for (; i < plan->ir.n_calls && rt_is_update(calls[i]) && is_alike(calls[i], calls[ret->first]); i++) {
		ret->n++;
		ret->has_8bit |= calls[i]->op->states[0].dtype == RT_U8;
		ret->n_chunks += count_chunks(calls[i]);
	}
	return i;
}

void rt_engine_find_groups(struct rt_program *p)
{
	struct rt_engine_shape *s = rt_engine_of(p)->s;
	struct update_group g;

	for (int i = group_from(&p->plan, 0, &g); g.n; i = group_from(&p->plan, i, &g)) {
		s->groups = gt_xrealloc(s->groups, (size_t)(s->n_groups + 1) * sizeof(*s->groups));
		s->groups[s->n_groups++] = g;
	}
}

static uint64_t table_bytes(const struct update_group *g)
{
	return rt_engine_aligned((uint64_t)g->n * sizeof(struct rt_update_tensor)) +
	       rt_engine_aligned((uint64_t)g->n_chunks * sizeof(struct rt_update_chunk));
}

/* Returns the size of the tables of one plan. *ret_norm: norm, factor, and a partial sum for each chunk. */
static uint64_t tables_bytes(const struct rt_plan *plan, uint64_t *ret_norm)
{
	uint64_t bytes = 0, chunks = 0;
	struct update_group g;

	for (int i = group_from(plan, 0, &g); g.n; i = group_from(plan, i, &g)) {
		bytes += table_bytes(&g);
		chunks += (uint64_t)g.n_chunks;
	}
	*ret_norm = rt_engine_aligned(2 * sizeof(float) + chunks * sizeof(double));
	return bytes;
}

static uint64_t inputs_bytes(const struct rt_plan *plan)
{
	uint64_t bytes = 0;

	for (int i = 0; i < plan->n_graph_nodes; i++)
		if (plan->ir.nodes[i]->role == RT_ROLE_INPUT)
			bytes += rt_engine_aligned(rt_node_bytes(plan->ir.nodes[i]));
	return bytes;
}

/* ---- total size ---- */
struct layout {
	uint64_t arena, window, input, norm, tables, maps;
};

static void widen(struct layout *l, const struct rt_plan *plan)
{
	uint64_t norm;

	l->tables += tables_bytes(plan, &norm);
	l->maps = plan->opt->optimizer.kind == RT_ADAMW8 ? rt_engine_aligned(sizeof(struct rt_update_maps)) : 0;
	l->norm = GT_MAX(l->norm, norm);
	l->input = GT_MAX(l->input, inputs_bytes(plan));
	l->arena = GT_MAX(l->arena, rt_engine_aligned(plan->arena_bytes));
	l->window = GT_MAX(l->window, rt_engine_aligned(plan->window_bytes));
}

/* The step's numbers and the loss over the ranks have a cache line each. */
static uint64_t whole(const struct layout *l)
{
	return l->arena + RT_BLAS_WORKSPACE + 2 * l->input + 2 * RT_ENGINE_ALIGN + l->norm + l->window + l->tables + l->maps;
}

size_t rt_engine_scratch(void *engine, const struct rt_call *c)
{
	const struct rt_cuda_kernel *kernel = rt_cuda_kernels[c->op->id];

	return kernel && kernel->scratch ? kernel->scratch(engine, c) : 0;
}

/* Returns the bytes outside of the layout. */
static uint64_t ranks_bytes(const struct rt_program *p)
{
	return rt_compress_bytes(p) + rt_stages_bytes(p);
}

uint64_t rt_engine_plan_bytes(const struct rt_program *p)
{
	struct layout l = { 0 };

	widen(&l, &p->plan);
	return whole(&l) + ranks_bytes(p);
}

/* Sets the sizes by kind: parameters, states and gradients that stay from batch to batch, and activations. */
static void count_kinds(const struct rt_plan *plan, struct rt_memory *m)
{
	uint64_t kept = 0;

	for (int i = 0; i < plan->ir.n_nodes; i++) {
		const struct rt_node *n = plan->ir.nodes[i];

		if (n->first < 0 || n->storage != n || !(n->shared || rt_is_persistent(n)))
			continue;
		kept += n->shared ? 0 : n->bytes;
		if (n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER)
			m->parameter_bytes += n->bytes;
		else if (n->role == RT_ROLE_STATE)
			m->state_bytes += n->bytes;
		else
			m->gradient_bytes += n->bytes;
	}
	m->activation_bytes = plan->arena_bytes - kept;
}

static void report_plan(struct rt_program *p, const struct layout *l)
{
	struct rt_engine *e = p->state;
	const struct rt_plan *largest = &p->shapes[0];
	struct rt_memory *m = &e->memory;

	for (int i = 1; i < p->n_shapes; i++)
		largest = p->shapes[i].arena_bytes > largest->arena_bytes ? &p->shapes[i] : largest;
	count_kinds(largest, m);
	m->planned_bytes = e->bytes;
	m->workspace_bytes = RT_BLAS_WORKSPACE;
	m->staging_bytes = 2 * l->input;
	m->other_bytes = m->planned_bytes - m->parameter_bytes - m->state_bytes - m->gradient_bytes - m->activation_bytes -
			 m->workspace_bytes - m->staging_bytes;
	if (p->opt.memory.planned)
		p->opt.memory.planned(p->opt.memory.planned_arg, m);
}

static int fits(const struct rt_program *p, uint64_t need, struct gt_err *err)
{
	const struct rt_engine *e = p->state;
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
		       "the program needs %s of memory on %s and %s are free: use a smaller batch or model, or checkpoint "
		       "activations", want, e->dev->name, have);
}

/* ---- allocating ---- */
_Static_assert(sizeof(struct rt_update_step) <= RT_ENGINE_ALIGN / 2 && 2 * sizeof(struct rt_scaler_state) <= RT_ENGINE_ALIGN / 2,
	       "a step's numbers and the loss scaler's share a line");
/* Assigns the addresses after the arena, in this order. */
static void place(struct rt_engine *e, const struct layout *l)
{
	cu_ptr at = e->base + l->arena;

	rt_blas_set_workspace(e->blas, at);
	at += RT_BLAS_WORKSPACE;
	for (int i = 0; i < 2; i++, at += l->input)
		e->staging[i] = at;
	e->step = at;
	e->scaler.state = at + RT_ENGINE_ALIGN / 2;
	at += RT_ENGINE_ALIGN;
	e->norm = at;
	at += l->norm;
	e->loss_mean = at;
	e->found = at + RT_ENGINE_ALIGN / 2;
	at += RT_ENGINE_ALIGN;
	e->window = at;
	at += l->window;
	e->maps = l->maps ? at : 0;
	at += l->maps;
	for (int i = 0; i < e->n_shapes; i++)
		for (int k = 0; k < e->shapes[i].n_groups; k++) {
			struct update_group *g = &e->shapes[i].groups[k];

			g->tensors = at;
			g->chunks = at + rt_engine_aligned((uint64_t)g->n * sizeof(struct rt_update_tensor));
			at += table_bytes(g);
		}
}

static int pin(struct rt_engine *e, uint64_t input, struct gt_err *err)
{
	char *pinned;
	int r = rt_cuda_pinned(e->dev, (void **)&pinned, 2 * input + 3 * RT_ENGINE_ALIGN, err);

	if (r)
		return r;
	e->pinned[0] = pinned;
	e->pinned[1] = pinned + input;
	e->loss = (float *)(void *)(pinned + 2 * input);
	e->steps = (struct rt_update_step *)(void *)(pinned + 2 * input + RT_ENGINE_ALIGN);
	e->norm_out = (float *)(void *)(pinned + 2 * input + 2 * RT_ENGINE_ALIGN);
	e->scaler.seen = (struct rt_scaler_state *)(void *)(pinned + 2 * input + 2 * RT_ENGINE_ALIGN + RT_ENGINE_ALIGN / 2);
	return 0;
}

int rt_engine_allocate(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	struct layout l = { 0 };
	int r;

	for (int i = 0; i < p->n_shapes; i++)
		widen(&l, &p->shapes[i]);
	e->input_bytes = l.input;
	e->bytes = whole(&l) + ranks_bytes(p);
	report_plan(p, &l);
	r = fits(p, e->bytes, err);
	if (!r)
		r = rt_engine_check(e, e->dev->d.mem_alloc(&e->base, whole(&l)), "cuMemAlloc", err);
	if (!r)
		r = pin(e, l.input, err);
	if (r)
		return r;
	place(e, &l);
	p->base = (char *)(uintptr_t)e->base;
	p->window = (char *)(uintptr_t)e->window;
	rt_run_place(p);
	return 0;
}

json_t *rt_engine_memory_report(const struct rt_engine *e)
{
	const struct rt_memory *m = &e->memory;
	size_t available = e->least_free, total = 0;

	e->dev->d.mem_info(&available, &total);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
			 "planned_bytes", (json_int_t)m->planned_bytes, "parameter_bytes", (json_int_t)m->parameter_bytes,
			 "state_bytes", (json_int_t)m->state_bytes, "gradient_bytes", (json_int_t)m->gradient_bytes,
			 "activation_bytes", (json_int_t)m->activation_bytes, "workspace_bytes", (json_int_t)m->workspace_bytes,
			 "staging_bytes", (json_int_t)m->staging_bytes, "other_bytes", (json_int_t)m->other_bytes,
			 "measured_bytes", (json_int_t)(m->free_bytes - GT_MIN(m->free_bytes, GT_MIN(e->least_free, available))),
			 "free_before_bytes", (json_int_t)m->free_bytes, "total_bytes", (json_int_t)m->total_bytes);
}
