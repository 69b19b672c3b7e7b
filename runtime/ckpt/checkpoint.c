/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's parameters, buffers and optimizer state as one safetensors file. Parameters have their own names, so that
 * other programs can read them; other tensors are "optimizer.NAME". save.c writes the file, this file reads it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/file.h"
#include "lib/parse.h"
#include "runtime/ckpt/st_file.h"
#include "runtime/ckpt/tensors.h"

#define COUNT_MOST	(UINT64_C(1) << 40) /* times the batches per update (at most 2^20) it fits in 64 bits */

void rt_set_note(struct rt_program *p, const char *note)
{
	free(p->note);
	p->note = note ? gt_xstrdup(note) : NULL;
}

const char *rt_note(const struct rt_program *p)
{
	return p->note;
}

static int differs(const char *path, const struct rt_node *n, const struct rt_st_tensor *t, struct gt_err *err)
{
	struct rt_shape shape = { .n = GT_MIN(t->n_dims, RT_MAX_DIMS) };
	char file[96], program[96];

	memcpy(shape.d, t->dim, (size_t)shape.n * sizeof(shape.d[0]));
	return gt_fail(err, EINVAL, "%s: tensor %s is %s %s%s, but %s %s in the program", path, t->name, t->dtype,
		       rt_shape_format(&shape, file, sizeof(file)), t->n_dims > shape.n ? " and more" : "", rt_ckpt_dtype(n),
		       rt_shape_format(rt_ckpt_shape(n), program, sizeof(program)));
}

static int check_tensor(const char *path, const struct rt_node *n, const struct rt_st_tensor *t, const char *name,
			struct gt_err *err)
{
	const struct rt_shape *shape = rt_ckpt_shape(n);
	bool same = t && t->n_dims == shape->n && gt_streq(t->dtype, rt_ckpt_dtype(n));

	if (!t)
		return gt_fail(err, EINVAL, "%s: it has no tensor %s: it belongs to another model or optimizer", path, name);
	for (int i = 0; same && i < t->n_dims; i++)
		same = t->dim[i] == shape->d[i];
	return same ? 0 : differs(path, n, t, err);
}

static int read_tensor(struct rt_program *p, struct rt_node *n, const struct rt_st_file *f, uint64_t at, struct gt_err *err)
{
	gt_autofree char *copy = NULL, *own = NULL;
	int r;

	if (n->absent)
		return 0;
	if (rt_ckpt_memory(p, n))
		return rt_st_read(f, at, rt_ckpt_memory(p, n), rt_ckpt_bytes(n), err);
	copy = gt_xcalloc(1, rt_ckpt_bytes(n));
	r = rt_st_read(f, at, copy, rt_ckpt_bytes(n), err);
	if (r)
		return r;
	if (!n->cut.parts)
		return p->backend->put(p, n, copy, err);
	own = gt_xcalloc(1, rt_ckpt_own_bytes(n));
	rt_cut_take(&n->cut, n->cut.part, rt_dtype_bytes(n->dtype), copy, own);
	return p->backend->put(p, n, own, err);
}

static bool has_state(const struct rt_safetensors *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (gt_starts_with(s->tensor[i].name, RT_CKPT_OPTIMIZER))
			return true;
	return false;
}

static bool needs_state(const struct rt_program *p)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role == RT_ROLE_STATE && rt_ckpt_is_saved(p, p->plan.ir.nodes[i]))
			return true;
	return false;
}

static int clear_state(struct rt_program *p, struct rt_node *n, struct gt_err *err)
{
	gt_autofree char *zeros = NULL;

	if (n->absent)
		return 0;
	if (rt_ckpt_memory(p, n)) {
		memset(n->data, 0, n->bytes);
		return 0;
	}
	zeros = gt_xcalloc(1, rt_ckpt_own_bytes(n));
	return p->backend->put(p, n, zeros, err);
}

static int load_tensor(struct rt_program *p, struct rt_node *n, const struct rt_st_file *f, const struct rt_safetensors *s,
		       bool copy, struct gt_err *err)
{
	gt_autofree char *name = rt_ckpt_name(n);
	const struct rt_st_tensor *t = rt_safetensors_find(s, name);
	int r;

	if (!t && n->role == RT_ROLE_STATE && n->masked) /* a checkpoint of a dense model */
		return copy ? clear_state(p, n, err) : 0;
	r = check_tensor(f->path, n, t, name, err);
	if (r || !copy)
		return r;
	return read_tensor(p, n, f, t->begin, err);
}

/* Checks all tensors, or copies them if `copy`. A file that does not match changes nothing, because all are checked first. */
static int load_all(struct rt_program *p, const struct rt_st_file *f, const struct rt_safetensors *s, bool copy, struct gt_err *err)
{
	bool state = has_state(s);

	for (int i = 0; i < p->plan.ir.n_nodes; i++) {
		struct rt_node *n = p->plan.ir.nodes[i];
		int r = 0;

		if (!rt_ckpt_is_saved(p, n))
			continue;
		if (n->role != RT_ROLE_STATE || state)
			r = load_tensor(p, n, f, s, copy, err);
		else if (copy)
			r = clear_state(p, n, err);
		if (r)
			return r;
	}
	return 0;
}

/* Returns whether the tensor belongs to the model. Integer counters of other frameworks and optimizer state are ignored. */
static bool is_model_tensor(const struct rt_st_tensor *t)
{
	return !gt_starts_with(t->name, RT_CKPT_OPTIMIZER) && (t->dtype[0] == 'F' || t->dtype[0] == 'B') &&
	       !gt_streq(t->dtype, "BOOL");
}

static bool has_tensor(const struct rt_program *p, const char *name)
{
	for (int i = 0; i < p->plan.ir.n_nodes; i++)
		if (p->plan.ir.nodes[i]->role != RT_ROLE_STATE && rt_ckpt_is_saved(p, p->plan.ir.nodes[i]) &&
		    gt_streq(p->plan.ir.nodes[i]->name, name))
			return true;
	return false;
}

/* Fails if the file has tensors that the model lacks. Otherwise a file of a larger model would be accepted. */
static int check_rest(const struct rt_program *p, const char *path, const struct rt_safetensors *s, struct gt_err *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (is_model_tensor(&s->tensor[i]) && !has_tensor(p, s->tensor[i].name))
			return gt_fail(err, EINVAL, "%s: the program has no tensor %s: the file belongs to another model", path,
				       s->tensor[i].name);
	return 0;
}

/* The training position in the file. */
struct position {
	uint64_t step, ticket, unchanged;
	double loss_scale; /* 0: not in the file */
};

static int count(const char *path, const json_t *metadata, const char *key, uint64_t *ret, struct gt_err *err)
{
	const char *text = gt_json_get_str(metadata, key, "0");

	if (gt_parse_u64(text, ret) < 0 || *ret > COUNT_MOST)
		return gt_fail(err, EBADMSG, "%s: its %s is \"%.40s\", which is not a count from 0 to 2^40", path, key, text);
	return 0;
}

static int read_position(const char *path, const json_t *metadata, struct position *ret, struct gt_err *err)
{
	int r = count(path, metadata, "step", &ret->step, err);

	if (r)
		return r;
	r = count(path, metadata, "ticket", &ret->ticket, err);
	if (r)
		return r;
	r = count(path, metadata, "loss_scale_held", &ret->unchanged, err);
	if (r)
		return r;
	ret->loss_scale = strtod(gt_json_get_str(metadata, "loss_scale", "0"), NULL);
	if (!(ret->loss_scale > 0 && ret->loss_scale < 1e30))
		ret->loss_scale = 0;
	return 0;
}

static int load(struct rt_program *p, const struct rt_st_file *f, const struct rt_safetensors *s, uint64_t *ret_ticket,
		struct gt_err *err)
{
	struct position at = { 0 };
	int r = read_position(f->path, s->metadata, &at, err);

	if (r)
		return r;
	r = load_all(p, f, s, false, err);
	if (r)
		return r;
	r = check_rest(p, f->path, s, err);
	if (r)
		return r;
	p->stale = true; /* even if the file ends early, some parameters have changed */
	r = load_all(p, f, s, true, err);
	if (r)
		return r;
	r = rt_run_restart(p, err);
	if (r)
		return r;
	/* An optimizer without saved state restarts at step 0. An optimizer without any state continues with the saved
	 * step. */
	p->step = has_state(s) || !needs_state(p) ? (int64_t)at.step : 0;
	if (at.loss_scale > 0)
		rt_set_scaler(p, at.loss_scale, (int64_t)at.unchanged);
	rt_set_note(p, gt_json_get_str(s->metadata, "note", NULL));
	*ret_ticket = at.ticket;
	return 0;
}

int rt_load(struct rt_program *p, const char *path, uint64_t *ret_ticket, struct gt_err *err)
{
	rt_auto_safetensors s = { 0 };
	rt_auto_st_file f = RT_ST_CLOSED;
	int r = rt_st_open(path, &f, &s, err);

	if (r)
		return r;
	return load(p, &f, &s, ret_ticket, err);
}
