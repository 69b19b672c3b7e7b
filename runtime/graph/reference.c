/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates a graph by the definitions of its ops, in double. */
#include <errno.h>
#include <string.h>
#include "runtime/graph/ir.h"
#include "runtime/math/mix.h"

/* Keeps an element if its 32 random bits are at least rate * 2^32. */
static void drop(const struct rt_call *c, const struct rt_dropout_key *dropout, const double *x, double *y)
{
	uint64_t key = rt_random_u64(dropout->seed, RT_DROPOUT_STREAM + (uint64_t)c->attr.stream, (uint64_t)dropout->batch);
	double rate = (double)c->attr.rate;

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++) {
		uint32_t coin = (uint32_t)i ^ (uint32_t)key;

		RT_MIX(coin);
		coin ^= (uint32_t)(key >> 32) + (uint32_t)((uint64_t)i >> 32);
		RT_MIX(coin);
		y[i] = coin >= (uint32_t)(rate * 0x1p32) ? x[i] / (1 - rate) : 0;
	}
}

static void run_call(const struct rt_call *c, const struct rt_dropout_key *dropout, double **value)
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
	if (dropout && c->op->id == RT_OP_DROPOUT)
		drop(c, dropout, in[0], out[0]);
	else
		c->op->reference(c, in, out);
}

int rt_reference_dropout(const struct rt_graph *g, const struct rt_node *watch, const double *const *values,
			 const struct rt_dropout_key *dropout, double *out, struct gt_err *err)
{
	double **value;
	int leaf = 0, r = rt_graph_error(g, err);

	if (r)
		return r;
	value = gt_xcalloc((size_t)g->ir.n_nodes + 1, sizeof(*value));
	for (int i = 0; i < g->ir.n_nodes; i++) {
		const struct rt_node *n = g->ir.nodes[i];
		size_t bytes = (size_t)rt_shape_elements(&n->shape) * sizeof(double);

		if (n->role > RT_ROLE_CACHE)
			continue;
		value[i] = gt_xcalloc(1, bytes);
		memcpy(value[i], values[leaf++], bytes);
	}
	for (int i = 0; i < g->ir.n_calls; i++)
		run_call(g->ir.calls[i], dropout, value);
	memcpy(out, value[watch->id], (size_t)rt_shape_elements(&watch->shape) * sizeof(double));
	for (int i = 0; i < g->ir.n_nodes; i++)
		free(value[i]);
	free(value);
	return 0;
}

int rt_reference(const struct rt_graph *g, const struct rt_node *watch, const double *const *values, double *out,
		 struct gt_err *err)
{
	return rt_reference_dropout(g, watch, values, NULL, out, err);
}
