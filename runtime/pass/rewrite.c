/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "runtime/pass/rewrite.h"

int rt_next(const struct rt_plan *p, int from, enum rt_op_id op)
{
	for (int i = from; i < p->ir.n_calls; i++)
		if (rt_is(p->ir.calls[i], op))
			return i;
	return -1;
}

int rt_producer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end)
{
	for (int i = from; n && i < end; i++)
		if (rt_writes(p->ir.calls[i], n))
			return i;
	return -1;
}

int rt_producer(const struct rt_plan *p, const struct rt_node *n, int *ret_slot)
{
	int at = rt_producer_in(p, n, 0, p->ir.n_calls), slot = 0;

	while (at >= 0 && p->ir.calls[at]->out[slot] != n)
		slot++;
	if (ret_slot)
		*ret_slot = slot;
	return at;
}

int rt_consumer_in(const struct rt_plan *p, const struct rt_node *n, int from, int end)
{
	for (int i = from; i < end; i++)
		if (rt_reads(p->ir.calls[i], n))
			return i;
	return -1;
}

int rt_last_use(const struct rt_plan *p, const struct rt_node *n, enum rt_phase last)
{
	for (int i = p->ir.n_calls - 1; i >= 0; i--) {
		const struct rt_call *c = p->ir.calls[i];

		if (c->phase <= last && (rt_reads(c, n) || rt_writes(c, n)))
			return i;
	}
	return -1;
}

int rt_plan_uses(const struct rt_plan *p, const struct rt_node *n)
{
	int uses = rt_plan_is_output(p, n);

	for (int i = 0; i < p->ir.n_calls; i++)
		uses += rt_reads(p->ir.calls[i], n);
	return uses;
}

bool rt_plan_is_constant(const struct rt_plan *p, const struct rt_node *n)
{
	int producer = rt_producer(p, n, NULL);

	return n->role == RT_ROLE_PARAM || (producer >= 0 && p->ir.calls[producer]->run_once);
}

int rt_forward_end(const struct rt_plan *p)
{
	int i = 0;

	while (i < p->ir.n_calls && p->ir.calls[i]->phase == RT_PHASE_FORWARD)
		i++;
	return i;
}

void rt_plan_remove(struct rt_plan *p, int at)
{
	free(p->ir.calls[at]);
	memmove(p->ir.calls + at, p->ir.calls + at + 1, (size_t)(p->ir.n_calls - at - 1) * sizeof(*p->ir.calls));
	p->ir.n_calls--;
}

struct rt_call *rt_emit_before(struct rt_plan *p, int at, enum rt_op_id op, enum rt_phase phase)
{
	struct rt_call *c = rt_ir_call(&p->ir, op, NULL);

	c->phase = phase;
	memmove(p->ir.calls + at + 1, p->ir.calls + at, (size_t)(p->ir.n_calls - 1 - at) * sizeof(*p->ir.calls));
	p->ir.calls[at] = c;
	return c;
}

void rt_plan_insert(struct rt_plan *p, int at, struct rt_call *c)
{
	free(rt_emit_before(p, at, c->op->id, c->phase));
	p->ir.calls[at] = c;
}

void rt_replace_reads(struct rt_plan *p, const struct rt_node *from, struct rt_node *to)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 0; k < RT_MAX_IO; k++)
			if (p->ir.calls[i]->in[k] == from)
				p->ir.calls[i]->in[k] = to;
}

struct rt_node *rt_node_like(struct rt_plan *p, enum rt_role role, enum rt_dtype type, const struct rt_node *like,
			     const char *prefix)
{
	gt_autofree char *name = gt_xasprintf("%s %s", prefix, like->name);

	return rt_ir_node(&p->ir, role, type, &like->shape, name);
}

static bool matches(struct rt_plan *p, int at, const struct rt_pattern *t)
{
	const struct rt_call *c = p->ir.calls[at];
	const struct rt_node *n = c->in[t->slot];
	int producer, slot;

	if (!rt_is(c, t->op) || (t->act != RT_ACT_NONE && c->attr.act != t->act))
		return false;
	producer = rt_producer(p, n, &slot);
	if (producer < 0 || slot != 0 || !rt_is(p->ir.calls[producer], t->producer))
		return false;
	if (t->plain && p->ir.calls[producer]->attr.act != RT_ACT_NONE)
		return false;
	return (t->shared || rt_plan_uses(p, n) == 1) && t->fuse(p, at, producer);
}

void rt_fuse(struct rt_plan *p, const struct rt_pattern *patterns, int n, int *count)
{
	for (int i = 0; i < p->ir.n_calls; i++)
		for (int k = 0; k < n; k++)
			if (matches(p, i, &patterns[k])) {
				count[k]++;
				i--; /* the next call has moved to this position */
				break;
			}
}
