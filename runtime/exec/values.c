/* SPDX-License-Identifier: Apache-2.0 */
/* Values, gradients and parameters of a program, read and written by its user. */
#include <errno.h>
#include "runtime/exec/program.h"

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

static int read_node(struct rt_program *p, const struct rt_node *node, const char *what, float *out, struct gt_err *err)
{
	if (!node)
		return gt_fail(err, EINVAL, "the program does not keep that %s", what);
	return rt_run_read(p, node, out, err);
}

int rt_read_value(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	return read_node(p, visible(p, n), "value", out, err);
}

int rt_read_gradient(struct rt_program *p, const struct rt_node *n, float *out, struct gt_err *err)
{
	bool kept = p->opt.debug.keep_gradients && n && n->id < p->plan.n_graph_nodes;

	return read_node(p, kept ? p->plan.gradient[n->id] : NULL, "gradient", out, err);
}

int rt_write_param(struct rt_program *p, const struct rt_node *n, const float *in, struct gt_err *err)
{
	struct rt_node *node = visible(p, n);

	if (!node || (node->role != RT_ROLE_PARAM && node->role != RT_ROLE_BUFFER))
		return gt_fail(err, EINVAL, "the tensor is neither a parameter nor a buffer of the program");
	return rt_run_write(p, node, in, err);
}

const float *rt_gradient(struct rt_program *p, const struct rt_node *n)
{
	if (!p->backend->host_memory || !p->opt.debug.keep_gradients || !n || n->id >= p->plan.n_graph_nodes ||
	    !p->plan.gradient[n->id])
		return NULL;
	return p->plan.gradient[n->id]->data;
}
