/* SPDX-License-Identifier: Apache-2.0 */
/* The graph by its ops' plain definitions, in double. */
#include <errno.h>
#include <string.h>
#include "runtime/graph/ir.h"

static void run_call(const struct rt_call *c, double **value)
{
	const double *in[RT_MAX_IO] = { NULL };
	double *out[RT_MAX_IO] = { NULL };

	for (int k = 0; k < RT_MAX_IO; k++) {
		if (c->in[k])
			in[k] = value[c->in[k]->id];
		if (c->out[k])
			out[k] = value[c->out[k]->id] =
				gt_xcalloc((size_t)rt_shape_elements(&c->out[k]->shape), sizeof(double));
	}
	c->op->reference(c, in, out);
}

int rt_reference(const struct rt_graph *g, const struct rt_node *watch, const double *const *values, double *out,
		 struct gt_err *err)
{
	double **value = gt_xcalloc((size_t)g->ir.n_nodes + 1, sizeof(*value));
	int leaf = 0, r = rt_graph_error(g, err);

	for (int i = 0; !r && i < g->ir.n_nodes; i++) {
		const struct rt_node *n = g->ir.nodes[i];
		size_t bytes = (size_t)rt_shape_elements(&n->shape) * sizeof(double);

		if (n->role != RT_ROLE_INPUT && n->role != RT_ROLE_PARAM && n->role != RT_ROLE_BUFFER)
			continue;
		value[i] = gt_xcalloc(1, bytes);
		memcpy(value[i], values[leaf++], bytes);
	}
	for (int i = 0; !r && i < g->ir.n_calls; i++)
		run_call(g->ir.calls[i], value);
	if (!r)
		memcpy(out, value[watch->id], (size_t)rt_shape_elements(&watch->shape) * sizeof(double));
	for (int i = 0; i < g->ir.n_nodes; i++)
		free(value[i]);
	free(value);
	return r;
}
