/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of one rank of a split, made by the passes that compile the program of that rank. Memory, work and messages
 * are counted in its calls, so they are those of the program.
 */
#include <errno.h>
#include <math.h>
#include "runtime/ddp/groups.h"
#include "runtime/exec/program.h"
#include "runtime/transport/comm.h"

/* ---- a GPU that is not in this host ---- */

#define GPU_LOGITS_SLICE	(UINT64_C(4) << 30) /* same limit as in the cuda device */
#define GPU_ALIGN		256

static int gpu_check(const struct rt_options *o, struct gt_err *err)
{
	(void)o;
	(void)err;
	return 0;
}

static int gpu_open(struct rt_program *p, struct gt_err *err)
{
	(void)err;
	p->threads = 1;
	p->opt.debug.no_early_update = true;
	p->opt.memory.logits_slice_bytes = GPU_LOGITS_SLICE;
	return 0;
}

static size_t gpu_scratch(void *state, const struct rt_call *c)
{
	(void)state;
	(void)c;
	return 0;
}

static uint64_t gpu_bytes(const struct rt_program *p)
{
	return p->plan.arena_bytes + rt_run_shared_bytes(p);
}

static void gpu_free(struct rt_program *p)
{
	(void)p;
}

static bool gpu_multiplies(const struct rt_call *c, enum rt_dtype type)
{
	(void)c;
	(void)type;
	return true;
}

/* Tensors are those of the cuda device, ranks those of the CPU: they can be split and sharded in every way. Libraries' work
 * memory is not counted. */
static int gpu_backend(struct rt_backend *ret, struct gt_err *err)
{
	const struct rt_backend *cuda = rt_find_backend(RT_CUDA);

	if (!cuda)
		return gt_fail(err, ENOSYS, "a plan for GPUs needs a build with the cuda device");
	*ret = (struct rt_backend){ .device = RT_CPU, .name = "gpu", .target = cuda->target, .align = GPU_ALIGN,
				    .check = gpu_check, .open = gpu_open, .plan_scratch = gpu_scratch, .plan_bytes = gpu_bytes,
				    .free = gpu_free, .multiplies = gpu_multiplies };
	return 0;
}

/* ---- counts ---- */

enum kind { ACTIVATION, PARAMETER, GRADIENT, OPTIMIZER };

static enum kind kind_of(const struct rt_node *n)
{
	if (n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER)
		return PARAMETER;
	return n->role == RT_ROLE_STATE ? OPTIMIZER : n->sums && !n->shared ? GRADIENT : ACTIVATION;
}

/* Returns the kind of each node. A reduced copy is a parameter. Without early updates all gradients of parameters exist at
 * the end of the backward pass. */
static enum kind *kinds_of(const struct rt_program *p)
{
	const struct rt_plan *plan = &p->plan;
	enum kind *kind = gt_xcalloc((size_t)plan->ir.n_nodes, sizeof(*kind));

	for (int i = 0; i < plan->ir.n_nodes; i++)
		kind[i] = kind_of(plan->ir.nodes[i]);
	for (int i = 0; i < plan->n_graph_nodes; i++) {
		const struct rt_node *g = plan->ir.nodes[i]->role == RT_ROLE_PARAM ? plan->gradient[i] : NULL;
		const struct rt_node *copy = rt_plan_reduced_copy(plan, plan->ir.nodes[i]);

		if (g && !g->shared && p->opt.debug.no_early_update)
			kind[g->storage->id] = GRADIENT;
		if (copy && copy->role == RT_ROLE_STATE)
			kind[copy->id] = PARAMETER;
	}
	return kind;
}

static void count_memory(const struct rt_program *p, struct rt_rank_plan *ret)
{
	gt_autofree enum kind *kind = kinds_of(p);
	uint64_t bytes[] = { [PARAMETER] = 0, [GRADIENT] = p->plan.gradient_bytes, [OPTIMIZER] = 0 }, known;

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		if (n->first >= 0 && n->storage == n)
			bytes[kind[i]] += rt_node_bytes(n);
	}
	ret->planned_bytes = p->backend->plan_bytes(p);
	ret->parameter_bytes = bytes[PARAMETER];
	ret->gradient_bytes = bytes[GRADIENT];
	ret->optimizer_bytes = bytes[OPTIMIZER];
	known = bytes[PARAMETER] + bytes[GRADIENT] + bytes[OPTIMIZER];
	ret->activation_bytes = ret->planned_bytes > known ? ret->planned_bytes - known : 0;
}

/* Returns how often an update runs the call. The calls of a pipeline are listed once per microbatch. */
static double runs_of(const struct rt_program *p, const struct rt_call *c)
{
	bool each = c->phase == RT_PHASE_FORWARD || c->phase == RT_PHASE_BACKWARD;

	return each && !c->run_once && !p->plan.segment ? p->opt.accum : 1;
}

/* The longer of the times of its products and of its memory traffic. */
static double seconds_of(const struct rt_program *p, const struct rt_call *c, const struct rt_rates *rates)
{
	double flops = c->op->flops ? c->op->flops(c) : 0;
	bool reduced = c->op->reduced && c->in[0] && c->in[0]->dtype != RT_F32 && p->backend->multiplies(c, c->in[0]->dtype);

	return fmax(flops / (reduced ? rates->reduced_flops_per_s : rates->flops_per_s), rt_call_bytes(c) / rates->bytes_per_s);
}

static void count_call(const struct rt_program *p, const struct rt_split *s, const struct rt_rates *rates,
		       const struct rt_call *c, struct rt_rank_plan *ret)
{
	double runs = runs_of(p, c), seconds = runs * seconds_of(p, c, rates);

	ret->flops += c->op->flops ? runs * c->op->flops(c) : 0;
	if (c->op->collective == RT_GROUP_CALL && c->attr.dim == RT_DIM_TENSOR) {
		ret->tensor_bytes += runs * rt_groups_call_bytes(c, s->tp);
		ret->tensor_calls += runs;
	} else if (c->op->collective == RT_GROUP_CALL && c->attr.dim == RT_DIM_DATA) {
		ret->data_bytes += runs * rt_groups_call_bytes(c, s->dp);
	} else if (p->plan.stage) {
		ret->pipeline_bytes += rt_pipeline_call_bytes(p->plan.stage, c);
	}
	if (rt_is(c, RT_OP_SHARD_GATHER))
		ret->data_bytes += runs * rt_ddp_gather_bytes(c, s->dp);
	if (c->op->collective)
		return;
	if (c->run_once || c->phase == RT_PHASE_GRADIENT || c->phase == RT_PHASE_UPDATE)
		ret->update_s += seconds;
	else
		ret->batches_s += seconds;
}

static void count(const struct rt_program *p, const struct rt_split *s, const struct rt_rates *rates, struct rt_rank_plan *ret)
{
	double each = p->ranks.stage >= 2 ? p->opt.accum : 1; /* these stages reduce in each batch */

	*ret = (struct rt_rank_plan){ .parameters = rt_program_parameters(p) };
	count_memory(p, ret);
	for (int i = 0; i < p->plan.ir.n_calls; i++)
		count_call(p, s, rates, p->plan.ir.calls[i], ret);
	for (int i = 0; i < p->plan.n_buckets; i++)
		ret->data_bytes += each * rt_ddp_bucket_bytes(&p->plan.buckets[i], &p->ranks, s->data_rank, s->dp);
}

static int check_split(const struct rt_split *s, struct gt_err *err)
{
	const int of[] = { s->dp, s->tp, s->pp }, at[] = { s->data_rank, s->tensor_rank, s->stage };

	for (size_t i = 0; i < GT_ARRAY_SIZE(of); i++)
		if (of[i] < 1 || of[i] > RT_MAX_RANKS || at[i] < 0 || at[i] >= of[i])
			return gt_fail(err, EINVAL, "rank %d of %d in a split: sizes are 1 to %d", at[i], of[i], RT_MAX_RANKS);
	return 0;
}

int rt_plan_rank(const struct rt_graph *g, struct rt_node *loss, const struct rt_options *opt, const struct rt_split *s,
		 const struct rt_rates *rates, struct rt_rank_plan *ret, struct gt_err *err)
{
	gt_auto(rt_comm) *data = NULL, *tensor = NULL, *pipeline = NULL;
	gt_auto(rt_program) *p = NULL;
	struct rt_options o = *opt;
	struct rt_backend gpu;
	int r = check_split(s, err);

	if (r)
		return r;
	r = opt->device == RT_CUDA ? gpu_backend(&gpu, err) : 0;
	if (r)
		return r;
	o.device = RT_CPU;
	o.ranks.comm = s->dp > 1 ? data = rt_comm_planned(s->data_rank, s->dp) : NULL;
	o.ranks.tensor = s->tp > 1 ? tensor = rt_comm_planned(s->tensor_rank, s->tp) : NULL;
	o.pipeline.comm = s->pp > 1 ? pipeline = rt_comm_planned(s->stage, s->pp) : NULL;
	o.memory.limit_bytes = UINT64_MAX;
	if (opt->device == RT_CUDA)
		o.ranks.overlap = RT_WHEN_ON;
	r = rt_program_plan_only(g, loss, &o, opt->device == RT_CUDA ? &gpu : rt_find_backend(RT_CPU), &p, err);
	if (r)
		return r;
	count(p, s, rates, ret);
	return 0;
}
