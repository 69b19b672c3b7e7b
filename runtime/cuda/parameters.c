/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a program in device memory: start values, and copies from and to the host. */
#include "runtime/cuda/engine.h"
#include "runtime/cuda/launch.h"

static int narrow_copy(struct rt_program *p, struct rt_node *n, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	const struct rt_node *low = rt_plan_reduced_copy(&p->plan, n);
	int64_t count = rt_shape_elements(&n->shape);
	cu_ptr x = rt_at(n), y = rt_at(low);

	if (!low)
		return 0;
	RT_LAUNCH(e, narrowing(low->dtype), GT_MIN((count + 255) / 256, e->dev->sms * 16), 1, 256, 1, 0, &count, &x, &y);
	if (e->r && err)
		*err = e->err;
	return e->r ? e->r : rt_engine_check(e, e->dev->d.stream_sync(e->stream), "cuStreamSynchronize", err);
}

int rt_engine_put(struct rt_program *p, struct rt_node *n, const void *in, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_engine_drain(e, err);
	if (!r)
		r = rt_cuda_put(e->dev, rt_at(n), in, rt_node_bytes(n), err);
	e->scaled = false;
	p->stale = true;
	return r || n->role != RT_ROLE_PARAM ? r : narrow_copy(p, n, err);
}

int rt_engine_get(const struct rt_program *p, const struct rt_node *n, void *out, struct gt_err *err)
{
	const struct rt_engine *e = p->state;
	int r = rt_engine_check(e, e->dev->d.ctx_set(e->dev->ctx), "cuCtxSetCurrent", err);

	if (!r)
		r = rt_engine_drain((struct rt_engine *)e, err);
	return r ? r : rt_engine_check(e, e->dev->d.copy_from(out, rt_at(n), rt_node_bytes(n)), "cuMemcpyDtoH", err);
}

int rt_engine_start_parameters(struct rt_program *p, struct gt_err *err)
{
	struct rt_engine *e = p->state;
	uint64_t bytes = 0;
	int r;

	for (int i = 0; i < p->n_shapes; i++)
		bytes = GT_MAX(bytes, p->shapes[i].pinned_bytes);
	e->scaled = false;
	r = rt_engine_check(e, e->dev->d.fill_async(e->base, 0, bytes, e->stream), "cuMemsetD8Async", err);
	if (!r)
		r = rt_engine_check(e, e->dev->d.stream_sync(e->stream), "cuStreamSynchronize", err);
	for (int i = 0; !r && i < p->plan.n_graph_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		gt_autofree float *w = NULL;

		if (n->absent || (n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER))
			continue;
		w = gt_xcalloc((size_t)rt_shape_elements(&n->shape), sizeof(float));
		rt_run_init_param(n, w, p->opt.seed, p->threads);
		r = rt_run_write(p, n, w, err);
	}
	return r;
}
