/* SPDX-License-Identifier: Apache-2.0 */
/* The public builders of graphs and basic ops. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "runtime/graph/ir.h"

/* Maximum elements of a tensor. Sizes in bytes then fit into 64 bits everywhere. */
#define MAX_ELEMENTS	(INT64_C(1) << 40)

struct rt_graph *rt_graph_new(void)
{
	return gt_xcalloc(1, sizeof(struct rt_graph));
}

void rt_graph_free(struct rt_graph *g)
{
	if (!g)
		return;
	rt_ir_clear(&g->ir);
	json_decref(g->original_units);
	free(g);
}

int rt_graph_error(const struct rt_graph *g, struct gt_err *err)
{
	if (!g->err.code)
		return 0;
	if (err)
		*err = g->err;
	return -g->err.code;
}

const struct rt_shape *rt_node_shape(const struct rt_node *n)
{
	return &n->shape;
}

const char *rt_node_name(const struct rt_node *n)
{
	return n->name;
}

bool rt_node_is_param(const struct rt_node *n)
{
	return n->role == RT_ROLE_PARAM;
}

bool rt_node_is_buffer(const struct rt_node *n)
{
	return n->role == RT_ROLE_BUFFER;
}

enum rt_dtype rt_node_dtype(const struct rt_node *n)
{
	return n->dtype;
}

static bool is_leaf(const struct rt_node *n)
{
	return n->role <= RT_ROLE_CACHE;
}

int rt_graph_leaves(const struct rt_graph *g)
{
	int n = 0;

	for (int i = 0; i < g->ir.n_nodes; i++)
		n += is_leaf(g->ir.nodes[i]);
	return n;
}

struct rt_node *rt_graph_leaf(const struct rt_graph *g, int i_leaf)
{
	for (int i = 0; i < g->ir.n_nodes; i++)
		if (is_leaf(g->ir.nodes[i]) && !i_leaf--)
			return g->ir.nodes[i];
	return NULL;
}

struct rt_node *rt_graph_node(const struct rt_graph *g, const char *name)
{
	for (int i = g->ir.n_nodes - 1; i >= 0; i--)
		if (gt_streq(g->ir.nodes[i]->name, name))
			return g->ir.nodes[i];
	return NULL;
}

static bool too_large(const struct rt_shape *s)
{
	int64_t elements = 1;

	for (int i = 0; i < s->n; i++) {
		if (s->d[i] > MAX_ELEMENTS / elements)
			return true;
		elements *= s->d[i];
	}
	return false;
}

static struct rt_node *leaf(struct rt_graph *g, enum rt_role role, const char *name, enum rt_dtype dtype,
			    const struct rt_shape *shape)
{
	struct rt_node *n;
	int64_t elements = 1;

	if (g->err.code)
		return NULL;
	for (int i = 0; i < shape->n; i++) {
		if (shape->d[i] < 1 || shape->d[i] > MAX_ELEMENTS / elements) {
			gt_fail(&g->err, EINVAL, "%s: dimension %d is %lld; tensors have 1 to 2^40 elements", name, i,
				(long long)shape->d[i]);
			return NULL;
		}
		elements *= shape->d[i];
	}
	if (shape->n < 1 || shape->n > RT_MAX_DIMS) {
		gt_fail(&g->err, EINVAL, "%s has %d dimensions; 1 to %d are supported", name, shape->n, RT_MAX_DIMS);
		return NULL;
	}
	for (int i = 0; i < g->ir.n_nodes; i++)
		if (is_leaf(g->ir.nodes[i]) && gt_streq(g->ir.nodes[i]->name, name)) {
			gt_fail(&g->err, EEXIST, "%s is declared twice", name);
			return NULL;
		}
	n = rt_ir_node(&g->ir, role, dtype, shape, name);
	n->graph = g;
	return n;
}

struct rt_node *rt_input(struct rt_graph *g, const char *name, enum rt_dtype dtype, struct rt_shape shape)
{
	return leaf(g, RT_ROLE_INPUT, name, dtype, &shape);
}

struct rt_node *rt_param(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init)
{
	struct rt_node *n = leaf(g, RT_ROLE_PARAM, name, RT_F32, &shape);

	if (n)
		n->init = init;
	return n;
}

struct rt_node *rt_buffer(struct rt_graph *g, const char *name, struct rt_shape shape, struct rt_init init)
{
	struct rt_node *n = leaf(g, RT_ROLE_BUFFER, name, RT_F32, &shape);

	if (n)
		n->init = init;
	return n;
}

struct rt_node *rt_cache(struct rt_graph *g, const char *name, struct rt_shape shape)
{
	return leaf(g, RT_ROLE_CACHE, name, RT_F32, &shape);
}

struct rt_node *rt_name(struct rt_node *n, const char *name)
{
	if (n) {
		free(n->name);
		n->name = gt_xstrdup(name);
	}
	return n;
}

struct rt_node *rt_apply(struct rt_graph *g, enum rt_op_id op, const struct rt_attr *attr, struct rt_node *const *in, int n)
{
	struct rt_call probe = { .op = rt_ops[op] }, *c;

	if (g->err.code)
		return NULL;
	for (int i = 0; i < n; i++)
		probe.in[i] = in[i];
	if (attr)
		probe.attr = *attr;
	for (int i = 0; i < n; i++)
		if (in[i] && in[i]->graph != g) {
			gt_fail(&g->err, EINVAL, "%s of %s: the tensor belongs to another graph", probe.op->name, in[i]->name);
			return NULL;
		}
	if (probe.op->shape(&g->ir, &probe, &g->err) < 0)
		return NULL;
	for (int i = 0; i < RT_MAX_IO; i++)
		if (probe.out[i] && too_large(&probe.out[i]->shape)) {
			gt_fail(&g->err, EINVAL, "%s of %s: the result would have more than 2^40 elements", probe.op->name,
				in[0]->name);
			return NULL;
		}
	c = rt_ir_call(&g->ir, op, attr);
	*c = probe;
	for (int i = 0; i < RT_MAX_IO; i++)
		if (c->out[i])
			c->out[i]->graph = g;
	return c->out[0];
}

bool rt_missing(struct rt_graph *g, const char *op, const struct rt_node *a, const struct rt_node *b)
{
	if (!g->err.code && (!a || !b))
		gt_fail(&g->err, EINVAL, "%s: an input tensor is NULL", op);
	return !a || !b;
}

struct rt_node *rt_linear(struct rt_graph *g, struct rt_node *x, struct rt_node *w, struct rt_node *b)
{
	if (rt_missing(g, "linear", x, w))
		return NULL;
	return rt_apply(g, RT_OP_LINEAR, NULL, (struct rt_node *[]){ x, w, b }, 3);
}

struct rt_node *rt_embedding(struct rt_graph *g, struct rt_node *ids, struct rt_node *table, struct rt_node *positions)
{
	if (rt_missing(g, "embedding", ids, table))
		return NULL;
	return rt_apply(g, RT_OP_EMBEDDING, NULL, (struct rt_node *[]){ ids, table, positions }, 3);
}

struct rt_node *rt_layernorm(struct rt_graph *g, struct rt_node *x, struct rt_node *gain, struct rt_node *bias, float eps)
{
	if (rt_missing(g, "layernorm", x, gain) || rt_missing(g, "layernorm", bias, bias))
		return NULL;
	return rt_apply(g, RT_OP_LAYERNORM, &(struct rt_attr){ .eps = eps }, (struct rt_node *[]){ x, gain, bias }, 3);
}

struct rt_node *rt_attention(struct rt_graph *g, struct rt_node *qkv, int heads)
{
	if (rt_missing(g, "attention", qkv, qkv))
		return NULL;
	return rt_apply(g, RT_OP_ATTENTION, &(struct rt_attr){ .heads = heads, .kv_heads = heads }, &qkv, 1);
}

struct rt_node *rt_add(struct rt_graph *g, struct rt_node *a, struct rt_node *b)
{
	if (rt_missing(g, "add", a, b))
		return NULL;
	return rt_apply(g, RT_OP_ADD, NULL, (struct rt_node *[]){ a, b }, 2);
}

struct rt_node *rt_cross_entropy(struct rt_graph *g, struct rt_node *logits, struct rt_node *targets)
{
	if (rt_missing(g, "cross_entropy", logits, targets))
		return NULL;
	return rt_apply(g, RT_OP_CROSS_ENTROPY, NULL, (struct rt_node *[]){ logits, targets }, 2);
}

struct rt_node *rt_logits(const struct rt_node *loss)
{
	const struct rt_call *c = loss ? rt_ir_producer(&loss->graph->ir, loss) : NULL;

	return c && c->op->id == RT_OP_CROSS_ENTROPY ? c->in[0] : NULL;
}

struct rt_node *rt_dot(struct rt_graph *g, struct rt_node *a, struct rt_node *b)
{
	if (rt_missing(g, "dot", a, b))
		return NULL;
	return rt_apply(g, RT_OP_DOT, NULL, (struct rt_node *[]){ a, b }, 2);
}
