/* SPDX-License-Identifier: Apache-2.0 */
/* Values, gradients and parameters of a program, read and written by its user. */
#include <errno.h>
#include "runtime/exec/program.h"
#include "runtime/transport/comm.h"

/* Returns the program's tensor for n, or NULL unless it holds floats that can be read after a step. */
static struct rt_node *visible(struct rt_program *p, const struct rt_node *n)
{
	struct rt_node *node = n && n->id < p->plan.n_graph_nodes ? p->plan.ir.nodes[n->id] : NULL;

	if (!node || (node->dtype != RT_F32 && node->dtype != RT_BF16 && node->dtype != RT_F16) || !node->data)
		return NULL;
	return node->role == RT_ROLE_PARAM || node->role == RT_ROLE_BUFFER ||
			       (p->opt.debug.no_reuse && rt_ir_producer(&p->plan.ir, node)) ?
		       node :
		       NULL;
}

float *rt_value(struct rt_program *p, const struct rt_node *n)
{
	struct rt_node *node = visible(p, n);

	if (!node || !p->backend->host_memory || node->dtype != RT_F32 || node->piece_unit)
		return NULL;
	if (node->role == RT_ROLE_PARAM || node->role == RT_ROLE_BUFFER)
		p->stale = true;
	return node->data;
}

/* Runs the all-gather. The second one ends when all ranks have used the result of the first. */
static int gather_parts(struct rt_coll *k, const struct rt_cut *cut, float *out, struct gt_err *err)
{
	for (int round = 0; round < 2; round++) {
		int r = rt_coll_start(k, err);

		if (r)
			return r;
		r = rt_coll_wait(k, err);
		if (r)
			return r;
		for (int i = 0; !round && i < cut->parts; i++)
			rt_cut_put(cut, i, sizeof(float), out, rt_coll_from(k, i));
	}
	return 0;
}

/* Reads a tensor of which each tensor parallel rank has a part. Collective. */
static int read_parts(const struct rt_program *p, const struct rt_node *node, const struct rt_cut *cut, float *out,
		      struct gt_err *err)
{
	rt_auto_window window = { 0 };
	rt_auto_coll k = { .kind = RT_ALLGATHER, .window = &window };
	int r;

	for (int i = 0; i < cut->parts; i++)
		k.bytes = GT_MAX(k.bytes, (size_t)rt_cut_elements(cut, i) * sizeof(float));
	r = rt_window_map(p->opt.ranks.tensor, k.bytes, false, &window, err);
	if (r)
		return r;
	r = rt_coll_init(&k, err);
	if (r)
		return r;
	r = rt_run_read(p, node, (float *)(void *)window.base, err);
	return r ? r : gather_parts(&k, cut, out, err);
}

/* n: the tensor of the graph. node: the tensor of the program that belongs to it, with as many elements. */
static int read_node(struct rt_program *p, const struct rt_node *n, const struct rt_node *node, const char *what, float *out,
		     struct gt_err *err)
{
	const struct rt_node *own;

	if (!node)
		return gt_fail(err, EINVAL, "the program does not keep that %s", what);
	own = p->plan.ir.nodes[n->id];
	if (own->cut.parts)
		return read_parts(p, node, &own->cut, out, err);
	if (p->opt.ranks.tensor && !own->piece_unit && rt_shape_elements(&own->shape) != rt_shape_elements(&n->shape))
		return gt_fail(err, ENOSYS, "%d tensor parallel ranks split %s: only parameters can be read from all of them",
			       rt_comm_size(p->opt.ranks.tensor), n->name);
	return rt_run_read(p, node, out, err);
}

int rt_read_value(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	return read_node(p, n, visible(p, n), "value", out, err);
}

int rt_read_gradient(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	bool kept = p->opt.debug.keep_gradients && n && n->id < p->plan.n_graph_nodes;

	return read_node(p, n, kept ? p->plan.gradient[n->id] : NULL, "gradient", out, err);
}

int rt_write_param(struct rt_program *p, const struct rt_node *n, const float *in, struct gt_err *err)
{
	struct rt_node *node = visible(p, n);
	gt_autofree float *part = NULL;

	if (!node || (node->role != RT_ROLE_PARAM && node->role != RT_ROLE_BUFFER))
		return gt_fail(err, EINVAL, "the tensor is neither a parameter nor a buffer of the program");
	if (node->cut.parts) {
		part = gt_xcalloc((size_t)rt_cut_elements(&node->cut, node->cut.part), sizeof(*part));
		rt_cut_take(&node->cut, node->cut.part, sizeof(float), in, part);
		in = part;
	}
	return rt_run_write(p, node, in, err);
}

const float *rt_gradient(struct rt_program *p, const struct rt_node *n)
{
	if (!p->backend->host_memory || !p->opt.debug.keep_gradients || !n || n->id >= p->plan.n_graph_nodes ||
	    !p->plan.gradient[n->id])
		return NULL;
	return p->plan.gradient[n->id]->data;
}
