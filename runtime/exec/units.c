/* SPDX-License-Identifier: Apache-2.0 */
/* Structured pruning of a program: chooses units, and copies the values of the other units to a smaller program. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/exec/program.h"
#include "runtime/graph/units.h"

/* ---- choice ---- */

static const char *const kind_names[RT_UNIT_KINDS] = { "heads", "neurons", "channels" };

/* Returns the number of units to remove in *ret. */
static int count_removed(const struct rt_layer_units *l, double amount, int64_t *ret, struct gt_err *err)
{
	int64_t heads = l->units * l->size, number = (int64_t)amount;

	if (amount < 1) {
		*ret = GT_MIN((int64_t)nearbyint(amount * (double)l->units), l->units - 1);
		return 0;
	}
	if (amount >= (double)heads)
		return gt_fail(err, EINVAL, "%s has %lld %s: %.0f of them cannot be removed", l->weight, (long long)heads,
			       kind_names[l->kind], amount);
	if (number % l->size)
		return gt_fail(err, EINVAL, "%s: %lld heads share keys and values, so %lld heads cannot be removed: choose a "
			       "multiple of %lld", l->weight, (long long)l->size, (long long)number, (long long)l->size);
	*ret = number / l->size;
	return 0;
}

int rt_check_units(const struct rt_units *u, enum rt_unit_kind kind, double amount, struct gt_err *err)
{
	int64_t n, most = 0, layers = 0;

	if (!(amount > 0) || (amount > 1 && amount != floor(amount)))
		return gt_fail(err, EINVAL, "%g %s: it must be a whole number, or a fraction above 0 and below 1", amount,
			       kind_names[kind]);
	for (int i = 0; i < u->n; i++) {
		int r = u->layer[i].kind == kind ? count_removed(&u->layer[i], amount, &n, err) : 0;

		if (r)
			return r;
		layers += u->layer[i].kind == kind;
		most = u->layer[i].kind == kind ? GT_MAX(most, n) : most;
	}
	if (!layers)
		return gt_fail(err, EINVAL, "the model has no %s that can be removed", kind_names[kind]);
	return most ? 0 : gt_fail(err, EINVAL, "a fraction of %g of the %s is less than one in each layer", amount,
				  kind_names[kind]);
}

static int require_whole(const struct rt_node *n, struct gt_err *err)
{
	if (!n->piece_unit && !n->cut.parts && !n->absent)
		return 0;
	return gt_fail(err, ENOSYS, "%s: units cannot be removed from a tensor that ranks split or shard", n->name);
}

/* Returns the sum of squares of each unit's weights in norm (units). */
static int measure_units(struct rt_program *p, const struct rt_unit_group *u, double *norm, struct gt_err *err)
{
	const struct rt_slice *s = &u->slice[0]; /* the weight of the layer */
	const struct rt_node *w = p->plan.ir.nodes[s->node->id];
	int64_t row = rt_shape_elements(&w->shape) / w->shape.d[0];
	gt_autofree float *v = gt_xcalloc((size_t)rt_shape_elements(&w->shape), sizeof(*v));
	int r = require_whole(w, err);

	if (r)
		return r;
	r = rt_run_read(p, w, v, err);
	if (r)
		return r;
	for (int64_t i = 0; i < u->units; i++)
		for (int b = 0; b < s->blocks; b++) {
			const float *from = v + (s->start[b] + i * s->len[b]) * row;

			for (int64_t k = 0; k < s->len[b] * row; k++)
				norm[i] += (double)from[k] * (double)from[k];
		}
	return 0;
}

/* Marks the n units with the smallest norms. Of equal ones, the first. */
static void mark_smallest(const double *norm, int64_t n, struct rt_layer_units *l)
{
	for (; n > 0; n--) {
		int64_t best = -1;

		for (int64_t i = 0; i < l->units; i++)
			if (!l->removed[i] && (best < 0 || norm[i] < norm[best]))
				best = i;
		l->removed[best] = true;
	}
}

int rt_choose_units(struct rt_program *p, const struct rt_graph *g, struct rt_units *u, enum rt_unit_kind kind, double amount,
		    struct gt_err *err)
{
	rt_auto_unit_groups groups = { 0 };
	int r = rt_check_units(u, kind, amount, err);

	if (r)
		return r;
	rt_find_unit_groups(g, &groups);
	for (int i = 0; i < u->n; i++) {
		struct rt_layer_units *l = &u->layer[i];
		const struct rt_unit_group *group = rt_find_unit_group(&groups, l->weight);
		gt_autofree double *norm = NULL;
		int64_t n;

		if (l->kind != kind)
			continue;
		if (!group || group->units != l->units)
			return gt_fail(err, EINVAL, "%s: the units belong to another graph", l->weight);
		norm = gt_xcalloc((size_t)l->units, sizeof(*norm));
		r = measure_units(p, group, norm, err);
		if (r)
			return r;
		r = count_removed(l, amount, &n, err);
		if (r)
			return r;
		mark_smallest(norm, n, l);
	}
	return 0;
}

/* ---- values ---- */

struct value {
	char *name;
	enum rt_role role;
	enum rt_dtype dtype;
	size_t bytes;
	void *data;
};
struct rt_values {
	struct value *value;
	int n;
	int64_t step;
	double loss_scale;
	int64_t scale_tracker;
	char *note;
};

void rt_values_free(struct rt_values *v)
{
	if (!v)
		return;
	for (int i = 0; i < v->n; i++) {
		free(v->value[i].name);
		free(v->value[i].data);
	}
	free(v->value);
	free(v->note);
	free(v);
}

/* The indices of each axis of a tensor that are removed; NULL: none. */
struct gone {
	bool *axis[RT_MAX_DIMS];
};

static void gone_clear(struct gone *x)
{
	for (int i = 0; i < RT_MAX_DIMS; i++)
		free(x->axis[i]);
}

static void mark_slice(const struct rt_slice *s, const struct rt_layer_units *l, struct gone *ret)
{
	if (!ret->axis[s->axis])
		ret->axis[s->axis] = gt_xcalloc((size_t)s->node->shape.d[s->axis], sizeof(bool));
	for (int64_t i = 0; i < l->units; i++)
		for (int b = 0; l->removed[i] && b < s->blocks; b++)
			memset(ret->axis[s->axis] + s->start[b] + i * s->len[b], true, (size_t)s->len[b]);
}

/* Finds the removed indices of the graph's tensor with this id. */
static void find_gone(const struct rt_unit_groups *groups, const struct rt_units *u, int id, struct gone *ret)
{
	for (int i = 0; i < u->n; i++) {
		const struct rt_unit_group *group = rt_find_unit_group(groups, u->layer[i].weight);

		for (int k = 0; group && group->units == u->layer[i].units && k < group->n_slices; k++)
			if (group->slice[k].node->id == id)
				mark_slice(&group->slice[k], &u->layer[i], ret);
	}
}

/* Copies the elements of from, of `size` bytes each, at indices of axis `axis` and later axes. Returns the end of the copy. */
static char *copy_kept(const struct rt_shape *shape, int axis, const struct gone *gone, size_t size, const char *from, char *to)
{
	size_t step = size;

	for (int i = axis + 1; i < shape->n; i++)
		step *= (size_t)shape->d[i];
	for (int64_t i = 0; i < shape->d[axis]; i++) {
		if (gone->axis[axis] && gone->axis[axis][i])
			continue;
		if (axis + 1 < shape->n) {
			to = copy_kept(shape, axis + 1, gone, size, from + (size_t)i * step, to);
			continue;
		}
		memcpy(to, from + (size_t)i * step, size);
		to += size;
	}
	return to;
}

/* Adds the kept elements of n. like: the parameter whose state n is, or n itself. */
static int take(struct rt_program *p, const struct rt_unit_groups *groups, const struct rt_units *u, const struct rt_node *n,
		const struct rt_node *like, struct rt_values *to, struct gt_err *err)
{
	__attribute__((cleanup(gone_clear))) struct gone gone = { 0 };
	gt_autofree char *whole = NULL;
	struct value *v;
	int r = require_whole(n, err);

	if (r)
		return r;
	if (!rt_same_shape(n, like))
		return gt_fail(err, ENOSYS, "%s: units cannot be removed from optimizer state in blocks", n->name);
	find_gone(groups, u, like->id, &gone);
	whole = gt_xcalloc(1, rt_node_bytes(n));
	r = p->backend->get(p, n, whole, err);
	if (r)
		return r;
	to->value = gt_xrealloc(to->value, (size_t)(to->n + 1) * sizeof(*to->value));
	v = &to->value[to->n++];
	*v = (struct value){ .name = gt_xstrdup(n->name), .role = n->role, .dtype = n->dtype };
	v->data = gt_xcalloc(1, rt_node_bytes(n));
	v->bytes = (size_t)(copy_kept(&n->shape, 0, &gone, rt_dtype_bytes(n->dtype), whole, v->data) - (char *)v->data);
	return 0;
}

int rt_take_values(struct rt_program *p, const struct rt_graph *g, const struct rt_units *u, struct rt_values **ret,
		   struct gt_err *err)
{
	rt_auto_unit_groups groups = { 0 };
	gt_auto(rt_values) *to = gt_xcalloc(1, sizeof(*to));
	int r = rt_wait(p, err);

	if (r)
		return r;
	rt_find_unit_groups(g, &groups);
	for (int i = 0; i < p->plan.n_graph_nodes; i++) {
		const struct rt_node *n = p->plan.ir.nodes[i];

		r = n->role == RT_ROLE_PARAM || n->role == RT_ROLE_BUFFER ? take(p, &groups, u, n, n, to, err) : 0;
		if (r)
			return r;
	}
	for (int i = 0; i < p->plan.ir.n_calls; i++) {
		const struct rt_call *c = p->plan.ir.calls[i];

		for (int k = 1; c->phase == RT_PHASE_UPDATE && k < RT_MAX_IO; k++) {
			r = c->out[k] && c->out[k]->role == RT_ROLE_STATE ? take(p, &groups, u, c->out[k], c->out[0], to, err) : 0;
			if (r)
				return r;
		}
	}
	to->step = p->step;
	rt_get_scaler(p, &to->loss_scale, &to->scale_tracker);
	to->note = p->note ? gt_xstrdup(p->note) : NULL;
	*ret = gt_take(to);
	return 0;
}

static struct rt_node *find_node(const struct rt_program *p, const struct value *v)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role == v->role && gt_streq(p->plan.ir.nodes[i]->name, v->name))
			return p->plan.ir.nodes[i];
	return NULL;
}

static int check_value(const struct rt_program *p, const struct value *v, struct gt_err *err)
{
	const struct rt_node *n = find_node(p, v);

	if (!n)
		return gt_fail(err, EINVAL, "the program has no tensor %s: the values belong to another model", v->name);
	if (n->dtype != v->dtype || rt_node_bytes(n) != v->bytes)
		return gt_fail(err, EINVAL, "%s has %llu bytes in the program, but %llu in the values", v->name,
			       (unsigned long long)rt_node_bytes(n), (unsigned long long)v->bytes);
	return require_whole(n, err);
}

int rt_put_values(struct rt_program *p, const struct rt_values *v, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < v->n; i++)
		r = check_value(p, &v->value[i], err);
	if (r)
		return r;
	p->stale = true; /* even if put() fails, some parameters have changed */
	for (int i = 0; !r && i < v->n; i++)
		r = p->backend->put(p, find_node(p, &v->value[i]), v->value[i].data, err);
	if (r)
		return r;
	r = rt_run_restart(p, err);
	if (r)
		return r;
	p->step = v->step;
	if (p->scale.on)
		rt_set_scaler(p, v->loss_scale, v->scale_tracker);
	rt_set_note(p, v->note);
	return 0;
}
