/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communicators of a program: of the data parallel ranks, which average gradients, of the tensor parallel ranks, which
 * run the collectives of the program (graph/op_collective.c), and of the stages of a pipeline (stages.c).
 */
#include "runtime/cuda/engine.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/nccl.h"
#include "runtime/ddp/codec.h"
#include "runtime/ddp/groups.h"

/*
 * Creates the stream of the reductions with the highest priority. When a product of the backward pass frees multiprocessors,
 * the blocks of a reduction then run before those of the next product. Other ranks wait for the reduction. A captured kernel
 * keeps the priority of its stream.
 *
 * NCCL may deadlock if the kernels of two communicators run in different orders on different devices (NCCL user guide, "Using
 * multiple NCCL communicators concurrently"). With tensor parallel ranks, all collectives are therefore on one stream.
 */
static int open_reduce(struct rt_engine *e, struct gt_err *err)
{
	const struct rt_driver *d = &e->dev->d;
	int least = 0, greatest = 0, r;

	if (e->tensor) {
		e->reduce = e->stream;
		return 0;
	}
	r = rt_engine_check(e, d->priorities(&least, &greatest), "cuCtxGetStreamPriorityRange", err);
	return r ? r : rt_engine_check(e, d->stream_create_first(&e->reduce, CU_STREAM_NON_BLOCKING, greatest),
				       "cuStreamCreateWithPriority", err);
}

struct rt_comm *rt_comms_any(const struct rt_program *p)
{
	const struct rt_options *o = &p->opt;

	return o->ranks.comm ? o->ranks.comm : o->ranks.tensor ? o->ranks.tensor : o->pipeline.comm;
}

int rt_comms_open(struct rt_program *p, struct gt_err *err)
{
	struct rt_comm *data = p->opt.ranks.comm, *tensor = p->opt.ranks.tensor;
	struct rt_engine *e = p->state;
	int r = data ? rt_nccl_open(e->dev, data, &e->nccl, err) : 0;

	if (!r && tensor)
		r = rt_nccl_open(e->dev, tensor, &e->tensor, err);
	if (!r)
		r = rt_stages_open(p, err);
	if (r || !rt_engine_has_ranks(e))
		return r;
	e->spins = rt_comm_spins(rt_comms_any(p));
	return open_reduce(e, err);
}

void rt_comms_close(struct rt_engine *e)
{
	rt_nccl_close(e->nccl);
	rt_nccl_close(e->tensor);
	rt_stages_close(e);
}

void rt_comms_abort(struct rt_engine *e)
{
	if (e->nccl)
		rt_nccl_abort(e->nccl);
	if (e->tensor)
		rt_nccl_abort(e->tensor);
	rt_stages_abort(e);
}

void rt_comms_arrive(struct rt_engine *e)
{
	if (e->nccl)
		rt_comm_arrive(rt_nccl_group(e->nccl));
	if (e->tensor)
		rt_comm_arrive(rt_nccl_group(e->tensor));
}

int rt_comms_watch(struct rt_engine *e, double waited_s, struct gt_err *err)
{
	struct rt_nccl *all[2 + RT_STAGES_COMMS];
	int n = rt_stages_list(e, all);

	if (e->nccl)
		all[n++] = e->nccl;
	if (e->tensor)
		all[n++] = e->tensor;
	return rt_nccl_watch(all, n, waited_s, err);
}

/* ---- calls ---- */

static int all_reduce(struct rt_engine *e, struct rt_nccl *n, const struct rt_call *c, struct gt_err *err)
{
	int r = 0;

	for (int k = 0; !r && k < RT_MAX_IO && c->in[k]; k++)
		r = rt_nccl_sum(n, rt_at(c->out[k]), rt_at(c->in[k]), rt_shape_elements(&c->in[k]->shape), c->in[k]->dtype,
				e->stream, err);
	return r;
}

/* The first, eager run waits for each collective, because the products after it may wait for the device without watching
 * the other ranks. */
int rt_comms_call(struct rt_engine *e, const struct rt_call *c, struct gt_err *err)
{
	struct rt_nccl *n = rt_engine_group(e, c->attr.dim);
	cu_ptr x = rt_at(c->in[0]), y = rt_at(c->out[0]);
	int r;

	if (rt_is(c, RT_OP_ALL_REDUCE))
		r = all_reduce(e, n, c, err);
	else if (rt_is(c, RT_OP_ALL_GATHER))
		r = rt_nccl_all_gather(n, y, x, rt_node_bytes(c->in[0]), e->stream, err);
	else
		r = rt_nccl_reduce_scatter(n, y, x, rt_shape_elements(&c->out[0]->shape), c->in[0]->dtype, e->stream, err);
	if (r || !e->tuning)
		return r;
	rt_comm_arrive(rt_nccl_group(n)); /* groups of other stages run other collectives */
	return rt_engine_drain(e, err);
}

/* The owner of a parameter that two stages share counts its gradient. */
float rt_comms_norm_share(const struct rt_program *p, const struct rt_node *param)
{
	const struct rt_engine *e = p->state;

	if (p->plan.stage && param->stage != p->plan.stage->index)
		return 0;
	return e->tensor && !param->cut.parts ? 1 / (float)rt_comm_size(rt_nccl_group(e->tensor)) : 1;
}

/* ---- report ---- */

void rt_comms_count(struct rt_program *p)
{
	struct rt_engine *e = p->state;

	for (int i = 0; e->tensor && i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];
		bool backward = c->phase != RT_PHASE_FORWARD;

		if (c->op->collective != RT_GROUP_CALL || c->attr.dim != RT_DIM_TENSOR)
			continue;
		e->s->group_calls[backward]++;
		e->s->group_bytes[backward] += rt_groups_call_bytes(c, rt_comm_size(rt_nccl_group(e->tensor)));
	}
}

void rt_comms_ran(struct rt_engine *e, bool backward)
{
	e->group_calls += e->s->group_calls[backward];
	e->group_bytes += e->s->group_bytes[backward];
}

static json_t *ranks_report(const struct rt_program *p)
{
	struct rt_comm *group = p->opt.ranks.comm;
	json_t *buckets = json_array();
	double bytes = 0, size = rt_comm_size(group);

	for (int i = 0; i < p->plan.n_buckets; i++) {
		json_array_append_new(buckets, json_integer((json_int_t)p->plan.buckets[i].floats * 4));
		bytes += (double)p->plan.buckets[i].floats * 4;
	}
	bytes *= 2 * (size - 1) / size;
	return json_pack("{s:s, s:i, s:i, s:i, s:s, s:f, s:o, s:s, s:f, s:f}", "transport", "nccl", "version",
			 rt_nccl_version(rt_engine_of(p)->nccl), "hosts", rt_comm_hosts(group), "nodes", rt_comm_nodes(group),
			 "place", rt_comm_place(group), "weight", 1 / size, "bucket_bytes", buckets, "compress",
			 rt_compress_name(p->opt.ranks.compress), "sent_bytes_per_step", rt_compress_sent_bytes(p),
			 "raw_bytes_per_step", bytes);
}

void rt_comms_report(const struct rt_program *p, json_t *doc)
{
	const struct rt_engine *e = p->state;

	if (e->nccl)
		json_object_set_new(doc, "ddp", ranks_report(p));
	if (e->tensor)
		json_object_set_new(doc, "groups",
				    json_pack("{s:{s:i, s:I, s:o}}", "tensor", "ranks", rt_comm_size(rt_nccl_group(e->tensor)),
					      "calls", (json_int_t)e->group_calls, "sent_bytes", gt_json_real(e->group_bytes)));
}
