/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structured pruning: finds the layers of a graph that can lose units, and removes units. A layer is followed from its
 * product to the next product. Between the two are only ops that work on each unit by itself, and that map zeros to zeros. So
 * a model with zeroed units and the model without these units compute the same values.
 */
#include <errno.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/graph/attention.h"
#include "runtime/graph/units.h"

/* ---- groups ---- */

void rt_unit_groups_clear(struct rt_unit_groups *groups)
{
	for (int i = 0; i < groups->n; i++)
		free(groups->group[i].slice);
	free(groups->group);
}

/* Returns the number of inputs of calls that are n, and one of these calls. */
static int readers(const struct rt_graph *g, const struct rt_node *n, struct rt_call **ret)
{
	int count = 0;

	for (int i = 0; i < g->ir.n_calls; i++)
		for (int k = 0; k < RT_MAX_IO; k++)
			if (g->ir.calls[i]->in[k] == n) {
				*ret = g->ir.calls[i];
				count++;
			}
	return count;
}

/* Returns whether n is a parameter or buffer that is read once. */
static bool is_own(const struct rt_graph *g, const struct rt_node *n)
{
	struct rt_call *c = NULL;

	return (n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER) && readers(g, n, &c) == 1;
}

static bool is_product(const struct rt_graph *g, const struct rt_call *c)
{
	return (rt_is(c, RT_OP_LINEAR) || (rt_is(c, RT_OP_CONV) && c->attr.groups == 1)) && is_own(g, c->in[1]) &&
	       c->in[1]->role == RT_ROLE_PARAM;
}

static struct rt_slice *add_slice(struct rt_unit_group *u, struct rt_node *n, int axis, int64_t len)
{
	struct rt_slice *s;

	u->slice = gt_xrealloc(u->slice, (size_t)(u->n_slices + 1) * sizeof(*u->slice));
	s = &u->slice[u->n_slices++];
	*s = (struct rt_slice){ .node = n, .axis = axis, .blocks = 1, .len = { len } };
	return s;
}

/* Divides the units of all slices so far, which consist of single columns, into blocks. */
static void set_blocks(struct rt_unit_group *u, int blocks, const int64_t *start, const int64_t *len)
{
	for (int i = 0; i < u->n_slices; i++) {
		u->slice[i].blocks = blocks;
		memcpy(u->slice[i].start, start, (size_t)blocks * sizeof(*start));
		memcpy(u->slice[i].len, len, (size_t)blocks * sizeof(*len));
	}
}

static bool keeps_zero(const struct rt_call *c)
{
	if (rt_is(c, RT_OP_ACT))
		return c->attr.act != RT_ACT_SIGMOID;
	if (rt_is(c, RT_OP_AFFINE))
		return c->attr.offset == 0;
	return rt_is(c, RT_OP_DROPOUT) || rt_is(c, RT_OP_MAX_POOL) || rt_is(c, RT_OP_AVG_POOL);
}

/* ---- walk from a layer to the next one ---- */

struct walk {
	const struct rt_graph *g;
	struct rt_unit_group *u;
	int64_t len;  /* columns per unit at the current position */
	bool divided; /* the units are no longer the columns of the layer */
};

static void pass_on(const struct walk *w, const struct rt_call *c)
{
	for (int k = 0; k < RT_MAX_IO && c->out[k]; k++)
		add_slice(w->u, c->out[k], c->out[k]->shape.n - 1, w->len);
}

/* x, gain, bias, running mean and variance -> y, mean, 1 / standard deviation */
static bool pass_batchnorm(const struct walk *w, const struct rt_call *c)
{
	for (int k = 1; k < 5; k++) {
		if (!is_own(w->g, c->in[k]))
			return false;
		add_slice(w->u, c->in[k], 0, w->len);
	}
	pass_on(w, c);
	return true;
}

static bool pass_rope(const struct walk *w, struct rt_call *c)
{
	if (w->divided || w->u->rope || !rt_is(w->u->layer, RT_OP_LINEAR))
		return false;
	w->u->rope = c;
	pass_on(w, c);
	return true;
}

static bool rotates(const struct rt_call *rope, const struct rt_heads *h)
{
	return rope->attr.depth == h->depth && (rope->attr.heads == h->heads || rope->attr.heads == h->heads + h->kv_heads);
}

/* A unit is a head of keys and values, and the heads of queries that read it. */
static bool pass_attention(struct walk *w, struct rt_call *c, const struct rt_node *x)
{
	struct rt_heads h = rt_heads_of(&c->attr, rt_cols(x));
	struct rt_unit_group *u = w->u;

	if (w->divided || c->in[0] != x || !rt_is(u->layer, RT_OP_LINEAR) || (u->rope && !rotates(u->rope, &h)))
		return false;
	set_blocks(u, 3, (int64_t[]){ 0, h.key, h.value }, (int64_t[]){ h.group * h.depth, h.depth, h.depth });
	u->kind = RT_UNIT_HEADS;
	u->units = h.kv_heads;
	u->size = h.group;
	u->attention = c;
	w->len = h.group * h.depth;
	w->divided = true;
	add_slice(u, c->out[0], 2, w->len);
	if (rt_is(c, RT_OP_ATTENTION)) {
		add_slice(u, c->out[1], 1, h.group); /* log-sum-exp per head */
	} else {
		struct rt_slice *cache = add_slice(u, c->in[1], 1, 1);

		cache->blocks = 2;
		cache->start[1] = h.kv_heads;
		cache->len[1] = 1;
	}
	return true;
}

static bool pass_swiglu(struct walk *w, const struct rt_call *c)
{
	int64_t half = rt_cols(c->out[0]);

	if (w->divided || w->u->rope || !rt_is(w->u->layer, RT_OP_LINEAR))
		return false;
	set_blocks(w->u, 2, (int64_t[]){ 0, half }, (int64_t[]){ 1, 1 });
	w->u->units = half;
	w->divided = true;
	add_slice(w->u, c->out[0], c->out[0]->shape.n - 1, 1);
	return true;
}

/* Adds the slices of call c, which reads x. Returns false if the units cannot be followed. */
static bool pass_call(struct walk *w, struct rt_call *c, const struct rt_node *x)
{
	if (rt_is(c, RT_OP_ATTENTION) || rt_is(c, RT_OP_ATTENTION_CACHED))
		return pass_attention(w, c, x);
	if (rt_is(c, RT_OP_SWIGLU))
		return pass_swiglu(w, c);
	if (rt_is(c, RT_OP_ROPE) || rt_is(c, RT_OP_ROPE_AT))
		return c->in[0] == x && pass_rope(w, c);
	if (c->in[0] != x || (w->u->rope && !w->divided))
		return false;
	if (rt_is(c, RT_OP_BATCHNORM))
		return pass_batchnorm(w, c);
	if (!keeps_zero(c))
		return false;
	pass_on(w, c);
	return true;
}

/* Follows the columns of u->layer to the next product. Returns false if they are read elsewhere. */
static bool follow(const struct rt_graph *g, struct rt_unit_group *u)
{
	struct walk w = { .g = g, .u = u, .len = 1 };
	struct rt_node *x = u->layer->out[0];
	struct rt_call *c = NULL;

	add_slice(u, u->layer->in[1], 0, 1);
	if (u->layer->in[2])
		add_slice(u, u->layer->in[2], 0, 1);
	add_slice(u, x, x->shape.n - 1, 1);
	while (readers(g, x, &c) == 1 && !is_product(g, c)) {
		if (!pass_call(&w, c, x))
			return false;
		x = c->out[0];
	}
	if (readers(g, x, &c) != 1 || c->in[0] != x || (u->rope && !u->attention))
		return false;
	add_slice(u, c->in[1], 1, w.len);
	return true;
}

void rt_find_unit_groups(const struct rt_graph *g, struct rt_unit_groups *ret)
{
	*ret = (struct rt_unit_groups){ .group = gt_xcalloc((size_t)g->ir.n_calls + 1, sizeof(*ret->group)) };
	for (int i = 0; i < g->ir.n_calls; i++) {
		struct rt_call *c = g->ir.calls[i];
		struct rt_unit_group *u = &ret->group[ret->n];

		if (!is_product(g, c) || (c->in[2] && !is_own(g, c->in[2])))
			continue;
		*u = (struct rt_unit_group){ .layer = c, .size = 1, .units = c->in[1]->shape.d[0] };
		u->kind = rt_is(c, RT_OP_CONV) ? RT_UNIT_CHANNELS : RT_UNIT_NEURONS;
		if (follow(g, u))
			ret->n++;
		else
			free(u->slice);
	}
}

const struct rt_unit_group *rt_find_unit_group(const struct rt_unit_groups *groups, const char *weight)
{
	for (int i = 0; i < groups->n; i++)
		if (gt_streq(groups->group[i].layer->in[1]->name, weight))
			return &groups->group[i];
	return NULL;
}

/* ---- the original numbers ---- */

int64_t rt_original_units(const struct rt_graph *g, const struct rt_unit_group *u)
{
	const json_t *n = json_object_get(g->original_units, u->layer->in[1]->name);

	return n ? (int64_t)json_integer_value(n) : u->units;
}

char *rt_graph_pruned_text(const struct rt_graph *g)
{
	rt_auto_unit_groups groups = { 0 };
	gt_auto_json *layers = NULL;

	if (!g->original_units)
		return NULL;
	rt_find_unit_groups(g, &groups);
	layers = json_object();
	for (int i = 0; i < groups.n; i++) {
		const struct rt_unit_group *u = &groups.group[i];

		if (rt_original_units(g, u) != u->units)
			json_object_set_new(layers, u->layer->in[1]->name,
					    json_pack("[I, I]", (json_int_t)u->units, (json_int_t)rt_original_units(g, u)));
	}
	return json_dumps(layers, JSON_COMPACT);
}

/* ---- units of the caller ---- */

int rt_graph_units(const struct rt_graph *g, struct rt_units **ret, struct gt_err *err)
{
	rt_auto_unit_groups groups = { 0 };
	struct rt_units *all;
	int r = rt_graph_error(g, err);

	if (r)
		return r;
	rt_find_unit_groups(g, &groups);
	all = gt_xcalloc(1, sizeof(*all));
	all->layer = gt_xcalloc((size_t)groups.n + 1, sizeof(*all->layer));
	for (; all->n < groups.n; all->n++) {
		const struct rt_unit_group *u = &groups.group[all->n];

		all->layer[all->n] = (struct rt_layer_units){
			.weight = gt_xstrdup(u->layer->in[1]->name), .kind = u->kind, .units = u->units, .size = u->size,
			.original = rt_original_units(g, u), .removed = gt_xcalloc((size_t)u->units, sizeof(bool)),
		};
	}
	*ret = all;
	return 0;
}

void rt_units_free(struct rt_units *u)
{
	if (!u)
		return;
	for (int i = 0; i < u->n; i++) {
		free(u->layer[i].weight);
		free(u->layer[i].removed);
	}
	free(u->layer);
	free(u);
}

int64_t rt_units_removed(const struct rt_layer_units *u)
{
	int64_t n = 0;

	for (int64_t i = 0; i < u->units; i++)
		n += u->removed[i];
	return n;
}

static void remove_units(struct rt_graph *g, const struct rt_unit_group *u, int64_t removed)
{
	struct rt_call *rope = u->rope, *attention = u->attention;

	if (!g->original_units)
		g->original_units = json_object();
	json_object_set_new(g->original_units, u->layer->in[1]->name, json_integer((json_int_t)rt_original_units(g, u)));
	for (int i = 0; i < u->n_slices; i++)
		for (int b = 0; b < u->slice[i].blocks; b++)
			u->slice[i].node->shape.d[u->slice[i].axis] -= removed * u->slice[i].len[b];
	if (rope)
		rope->attr.heads -= (int)(removed * (rope->attr.heads == attention->attr.heads ? u->size : u->size + 1));
	if (attention) {
		attention->attr.heads -= (int)(removed * u->size);
		attention->attr.kv_heads -= (int)removed;
	}
}

int rt_graph_remove_units(struct rt_graph *g, const struct rt_units *units, struct gt_err *err)
{
	rt_auto_unit_groups groups = { 0 };
	int r = rt_graph_error(g, err);

	if (r)
		return r;
	rt_find_unit_groups(g, &groups);
	for (int i = 0; i < units->n; i++) {
		const struct rt_layer_units *l = &units->layer[i];
		const struct rt_unit_group *u = rt_find_unit_group(&groups, l->weight);

		if (!u || u->units != l->units)
			return gt_fail(err, EINVAL, "%s: the graph has %lld units in this layer, not %lld", l->weight,
				       u ? (long long)u->units : 0, (long long)l->units);
		if (rt_units_removed(l) >= l->units)
			return gt_fail(err, EINVAL, "%s: all %lld units of the layer are removed", l->weight, (long long)l->units);
	}
	for (int i = 0; i < units->n; i++)
		if (rt_units_removed(&units->layer[i]))
			remove_units(g, rt_find_unit_group(&groups, units->layer[i].weight), rt_units_removed(&units->layer[i]));
	return 0;
}
