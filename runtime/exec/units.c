/* SPDX-License-Identifier: Apache-2.0 */
/* Structured pruning of a program: chooses units, and copies the values of the other units to a smaller program. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/exec/program.h"
#include "runtime/graph/units.h"
#include "runtime/math/map8.h"

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
	char *scales; /* of the elements of 8-bit codes, in f32: the name of their scales; NULL: other values */
	bool is_signed;
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
		free(v->value[i].scales);
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

static bool is_whole(const struct gone *x)
{
	for (int i = 0; i < RT_MAX_DIMS; i++)
		if (x->axis[i])
			return false;
	return true;
}

/* Reads all elements of n. */
static int read_whole(struct rt_program *p, const struct rt_node *n, void **ret, struct gt_err *err)
{
	int r = require_whole(n, err);

	if (r)
		return r;
	*ret = gt_xcalloc(1, rt_node_bytes(n));
	return p->backend->get(p, n, *ret, err);
}

/* Takes ownership of data. */
static void append(struct rt_values *to, const struct rt_node *n, void *data, size_t bytes)
{
	to->value = gt_xrealloc(to->value, (size_t)(to->n + 1) * sizeof(*to->value));
	to->value[to->n++] =
		(struct value){ .name = gt_xstrdup(n->name), .role = n->role, .dtype = n->dtype, .bytes = bytes, .data = data };
}

/* Adds the kept elements of n. like: the parameter whose state n is, or n itself. */
static int take(struct rt_program *p, const struct rt_unit_groups *groups, const struct rt_units *u, const struct rt_node *n,
		const struct rt_node *like, struct rt_values *to, struct gt_err *err)
{
	__attribute__((cleanup(gone_clear))) struct gone gone = { 0 };
	gt_autofree void *whole = NULL;
	char *kept;
	int r = read_whole(p, n, &whole, err);

	if (r)
		return r;
	find_gone(groups, u, like->id, &gone);
	kept = gt_xcalloc(1, rt_node_bytes(n));
	append(to, n, kept, (size_t)(copy_kept(&n->shape, 0, &gone, rt_dtype_bytes(n->dtype), whole, kept) - kept));
	return 0;
}

/* Adds the codes and the scales of moment k (1 or 2), or the kept elements in f32, because they form new blocks. */
static int take_moment8(struct rt_program *p, const struct rt_unit_groups *groups, const struct rt_units *u,
			const struct rt_call *c, int k, struct rt_values *to, struct gt_err *err)
{
	__attribute__((cleanup(gone_clear))) struct gone gone = { 0 };
	const struct rt_node *codes = c->out[k], *scales = c->out[k + 2];
	int64_t n = rt_shape_elements(&codes->shape);
	gt_autofree void *old_codes = NULL, *old_scales = NULL;
	gt_autofree float *x = NULL;
	char *kept;
	int r = read_whole(p, codes, &old_codes, err);

	r = r ? r : read_whole(p, scales, &old_scales, err);
	if (r)
		return r;
	find_gone(groups, u, c->out[0]->id, &gone);
	if (is_whole(&gone)) {
		append(to, codes, gt_take(old_codes), rt_node_bytes(codes));
		append(to, scales, gt_take(old_scales), rt_node_bytes(scales));
		return 0;
	}
	x = gt_xcalloc((size_t)n, sizeof(*x));
	kept = gt_xcalloc((size_t)n, sizeof(*x));
	rt_map8_decode(rt_map8(k == 1), x, old_codes, old_scales, n);
	append(to, codes, kept, (size_t)(copy_kept(&codes->shape, 0, &gone, sizeof(*x), (char *)x, kept) - kept));
	to->value[to->n - 1].dtype = RT_F32;
	to->value[to->n - 1].scales = gt_xstrdup(scales->name);
	to->value[to->n - 1].is_signed = k == 1;
	return 0;
}

/* Adds the kept elements of the optimizer state that an update changes. */
static int take_state(struct rt_program *p, const struct rt_unit_groups *groups, const struct rt_units *u,
		      const struct rt_call *c, struct rt_values *to, struct gt_err *err)
{
	int r = 0;

	if (rt_is(c, RT_OP_ADAMW8)) {
		r = take_moment8(p, groups, u, c, 1, to, err);
		return r ? r : take_moment8(p, groups, u, c, 2, to, err);
	}
	for (int k = 1; !r && k < RT_MAX_IO; k++)
		r = c->out[k] && c->out[k]->role == RT_ROLE_STATE ? take(p, groups, u, c->out[k], c->out[0], to, err) : 0;
	return r;
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

		r = c->phase == RT_PHASE_UPDATE ? take_state(p, &groups, u, c, to, err) : 0;
		if (r)
			return r;
	}
	to->step = p->step;
	rt_get_scaler(p, &to->loss_scale, &to->scale_tracker);
	to->note = p->note ? gt_xstrdup(p->note) : NULL;
	*ret = gt_take(to);
	return 0;
}

static struct rt_node *find_node(const struct rt_program *p, enum rt_role role, const char *name)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role == role && gt_streq(p->plan.ir.nodes[i]->name, name))
			return p->plan.ir.nodes[i];
	return NULL;
}

static int check_value(const struct rt_program *p, const struct value *v, struct gt_err *err)
{
	const struct rt_node *n = find_node(p, v->role, v->name);
	bool coded = n && n->dtype == RT_U8 && v->scales;

	if (!n || (coded && !find_node(p, v->role, v->scales)))
		return gt_fail(err, EINVAL, "the program has no tensor %s: the values belong to another model", v->name);
	if ((n->dtype != v->dtype && !coded) || rt_node_bytes(n) != v->bytes / (coded ? sizeof(float) : 1))
		return gt_fail(err, EINVAL, "%s has %llu bytes in the program, but %llu in the values", v->name,
			       (unsigned long long)rt_node_bytes(n), (unsigned long long)v->bytes);
	return require_whole(n, err);
}

/* A parameter that became small has moments in f32. */
static int put(struct rt_program *p, const struct value *v, struct gt_err *err)
{
	struct rt_node *n = find_node(p, v->role, v->name);
	int64_t count = (int64_t)(v->bytes / sizeof(float));
	gt_autofree uint8_t *codes = NULL;
	gt_autofree float *scales = NULL;
	int r;

	if (n->dtype == v->dtype)
		return p->backend->put(p, n, v->data, err);
	codes = gt_xcalloc((size_t)count, 1);
	scales = gt_xcalloc((size_t)(count / RT_MAP8_BLOCK + 1), sizeof(*scales));
	rt_map8_encode(rt_map8(v->is_signed), codes, scales, v->data, count);
	r = p->backend->put(p, n, codes, err);
	return r ? r : p->backend->put(p, find_node(p, v->role, v->scales), scales, err);
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
		r = put(p, &v->value[i], err);
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
