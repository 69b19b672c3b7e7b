/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes, calls and graphs as data structures. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "runtime/graph/ir.h"

const char *rt_dtype_name(enum rt_dtype dtype)
{
	static const char *const names[] = {
		[RT_F32] = "f32", [RT_I32] = "i32", [RT_BF16] = "bf16", [RT_F16] = "f16", [RT_U8] = "u8",
		[RT_E4M3] = "e4m3", [RT_E5M2] = "e5m2", [RT_I8] = "i8",
	};

	return names[dtype];
}

size_t rt_dtype_bytes(enum rt_dtype dtype)
{
	static const size_t bytes[] = { [RT_F32] = 4, [RT_I32] = 4, [RT_BF16] = 2, [RT_F16] = 2, [RT_U8] = 1,
					[RT_E4M3] = 1, [RT_E5M2] = 1, [RT_I8] = 1 };

	return bytes[dtype];
}

int64_t rt_shape_elements(const struct rt_shape *s)
{
	int64_t n = 1;

	for (int i = 0; i < s->n; i++)
		n *= s->d[i];
	return n;
}

const char *rt_shape_format(const struct rt_shape *s, char *buf, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < s->n && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%lld", i ? "," : "(", (long long)s->d[i]);
	if (used < size)
		snprintf(buf + used, size - used, ")");
	return buf;
}

struct rt_node *rt_ir_node(struct rt_ir *ir, enum rt_role role, enum rt_dtype dtype, const struct rt_shape *shape,
			   const char *name)
{
	struct rt_node *n = gt_xcalloc(1, sizeof(*n));

	n->id = ir->n_nodes;
	n->role = role;
	n->dtype = dtype;
	n->shape = *shape;
	n->name = gt_xstrdup(name);
	if (ir->n_nodes == ir->cap_nodes) {
		ir->cap_nodes = ir->cap_nodes ? 2 * ir->cap_nodes : 64;
		ir->nodes = gt_xrealloc(ir->nodes, (size_t)ir->cap_nodes * sizeof(*ir->nodes));
	}
	ir->nodes[ir->n_nodes++] = n;
	return n;
}

struct rt_call *rt_ir_call(struct rt_ir *ir, enum rt_op_id op, const struct rt_attr *attr)
{
	struct rt_call *c = gt_xcalloc(1, sizeof(*c));

	c->op = rt_ops[op];
	if (attr)
		c->attr = *attr;
	if (ir->n_calls == ir->cap_calls) {
		ir->cap_calls = ir->cap_calls ? 2 * ir->cap_calls : 64;
		ir->calls = gt_xrealloc(ir->calls, (size_t)ir->cap_calls * sizeof(*ir->calls));
	}
	ir->calls[ir->n_calls++] = c;
	return c;
}

void rt_ir_clear(struct rt_ir *ir)
{
	for (int i = 0; i < ir->n_nodes; i++) {
		free(ir->nodes[i]->name);
		free(ir->nodes[i]);
	}
	for (int i = 0; i < ir->n_calls; i++)
		free(ir->calls[i]);
	free(ir->nodes);
	free(ir->calls);
	memset(ir, 0, sizeof(*ir));
}

void rt_ir_copy(struct rt_ir *dst, const struct rt_ir *src)
{
	for (int i = 0; i < src->n_nodes; i++) {
		const struct rt_node *s = src->nodes[i];

		rt_ir_node(dst, s->role, s->dtype, &s->shape, s->name)->init = s->init;
	}
	for (int i = 0; i < src->n_calls; i++) {
		const struct rt_call *s = src->calls[i];
		struct rt_call *c = rt_ir_call(dst, s->op->id, &s->attr);

		for (int k = 0; k < RT_MAX_IO; k++) {
			c->in[k] = s->in[k] ? dst->nodes[s->in[k]->id] : NULL;
			c->out[k] = s->out[k] ? dst->nodes[s->out[k]->id] : NULL;
		}
	}
}

bool rt_reads(const struct rt_call *c, const struct rt_node *n)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->in[k] == n)
			return true;
	return false;
}

bool rt_writes(const struct rt_call *c, const struct rt_node *n)
{
	for (int k = 0; k < RT_MAX_IO; k++)
		if (c->out[k] == n)
			return true;
	return false;
}

struct rt_call *rt_ir_producer(const struct rt_ir *ir, const struct rt_node *n)
{
	for (int i = 0; i < ir->n_calls; i++)
		if (rt_writes(ir->calls[i], n))
			return ir->calls[i];
	return NULL;
}

double rt_call_bytes(const struct rt_call *c)
{
	double bytes = 0;

	for (int k = 0; k < RT_MAX_IO; k++) {
		if (c->in[k])
			bytes += (double)rt_node_bytes(c->in[k]);
		if (c->out[k] && c->out[k]->role != RT_ROLE_SCRATCH)
			bytes += (double)rt_node_bytes(c->out[k]) * (c->attr.accumulate >> k & 1 ? 2 : 1);
	}
	return bytes;
}

uint64_t rt_node_bytes(const struct rt_node *n)
{
	return (uint64_t)rt_shape_elements(&n->shape) * rt_dtype_bytes(n->dtype);
}

uint64_t rt_node_padded_bytes(const struct rt_node *n)
{
	return n->padded_rows ? rt_node_bytes(n) / (uint64_t)n->shape.d[0] * (uint64_t)n->padded_rows : rt_node_bytes(n);
}

int64_t rt_cols(const struct rt_node *n)
{
	return n->shape.d[n->shape.n - 1];
}

int64_t rt_rows(const struct rt_node *n)
{
	int64_t rows = 1;

	for (int i = 0; i < n->shape.n - 1; i++)
		rows *= n->shape.d[i];
	return rows;
}

bool rt_same_shape(const struct rt_node *a, const struct rt_node *b)
{
	return a->shape.n == b->shape.n && !memcmp(a->shape.d, b->shape.d, (size_t)a->shape.n * sizeof(a->shape.d[0]));
}

int rt_mismatch(const struct rt_call *c, const struct rt_node *a, const struct rt_node *b, const char *requirement,
		struct gt_err *err)
{
	char sa[96], sb[96];

	return gt_fail(err, EINVAL, "%s of %s %s and %s %s: %s", c->op->name, a->name,
		       rt_shape_format(&a->shape, sa, sizeof(sa)), b->name, rt_shape_format(&b->shape, sb, sizeof(sb)),
		       requirement);
}

int rt_require_float(const struct rt_call *c, const struct rt_node *n, struct gt_err *err)
{
	if (n->dtype == RT_F32)
		return 0;
	return gt_fail(err, EINVAL, "%s of %s: it is %s; an f32 tensor is required", c->op->name, n->name,
		       rt_dtype_name(n->dtype));
}

int rt_require_floats(const struct rt_call *c, int first, int end, struct gt_err *err)
{
	for (int i = first; i < end; i++) {
		int r = c->in[i] ? rt_require_float(c, c->in[i], err) : 0;

		if (r)
			return r;
	}
	return 0;
}
