/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuDNN's descriptors: tensors, a graph of operations, the heuristics' configurations for it, and execution plans of
 * the acceptable ones. An acceptable plan gives the same bits in every run, unless any order of sums is allowed. For
 * f32 without --amp tf32 it rounds nothing below f32.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/dnn_api.h"

#define SUGGESTIONS 64 /* maximum number that one heuristic gives */

dnn_desc rt_dnn_make(struct dnn_bin *b, int kind, const char *what)
{
	dnn_desc x = NULL;

	if (b->status != DNN_OK)
		return NULL;
	b->status = b->n == DNN_DESCRIPTORS ? DNN_INTERNAL_ERROR : b->d->api.desc_create(kind, &x);
	b->what = what;
	if (b->status == DNN_OK)
		b->all[b->n++] = x;
	return x;
}

void rt_dnn_set(struct dnn_bin *b, dnn_desc x, int attribute, int type, int64_t n, const void *value)
{
	if (b->status == DNN_OK)
		b->status = b->d->api.desc_set(x, attribute, type, n, value);
}

void rt_dnn_finish(struct dnn_bin *b, dnn_desc x)
{
	if (b->status == DNN_OK)
		b->status = b->d->api.desc_finalize(x);
}

static void empty(struct dnn_bin *b)
{
	while (b->n)
		b->d->api.desc_destroy(b->all[--b->n]);
}

int rt_dnn_data_type(enum rt_dtype t)
{
	return t == RT_BF16 ? DNN_DATA_BFLOAT16 : t == RT_F16 ? DNN_DATA_HALF : DNN_DATA_FLOAT;
}

dnn_desc rt_dnn_tensor(struct dnn_bin *b, int64_t id, int data_type, const int64_t dims[4], const int64_t strides[4],
		       enum dnn_tensor how)
{
	const int64_t align = 16;
	const bool yes = true;
	dnn_desc t = rt_dnn_make(b, DNN_TENSOR, "a tensor's descriptor");

	rt_dnn_set(b, t, DNN_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1, &data_type);
	rt_dnn_set(b, t, DNN_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4, dims);
	rt_dnn_set(b, t, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, 4, strides);
	rt_dnn_set(b, t, DNN_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1, &id);
	rt_dnn_set(b, t, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, 1, &align);
	if (how != DNN_IN_MEMORY)
		rt_dnn_set(b, t, how == DNN_VIRTUAL ? DNN_TENSOR_VIRTUAL : DNN_TENSOR_BY_VALUE, DNN_TYPE_BOOLEAN, 1, &yes);
	rt_dnn_finish(b, t);
	return t;
}

static dnn_desc graph(struct dnn_bin *b)
{
	dnn_desc g = rt_dnn_make(b, DNN_GRAPH, "the operation graph");

	rt_dnn_set(b, g, DNN_GRAPH_OPS, DNN_TYPE_DESCRIPTOR, b->n_ops, b->ops);
	if (b->d->handle)
		rt_dnn_set(b, g, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &b->d->handle);
	rt_dnn_finish(b, g);
	return g;
}

/* ---- configurations ---- */
static bool acceptable(const struct dnn_choice *c, const int *notes, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		switch (notes[i]) {
		case DNN_NOTE_NONDETERMINISTIC:
			if (!c->any_order)
				return false;
			break;
		case DNN_NOTE_REDUCED_PRECISION:
		case DNN_NOTE_FFT:
			return false;
		case DNN_NOTE_TENSOR_CORE:
		case DNN_NOTE_DOWN_CONVERT:
			if (c->full)
				return false;
			break;
		default: /* Winograd tiles lose precision */
			if (notes[i] >= DNN_NOTE_WINOGRAD && notes[i] <= DNN_NOTE_WINOGRAD_13)
				return false;
		}
	return true;
}

static uint64_t mix(uint64_t hash, int64_t x) /* FNV-1a on words */
{
	return (hash ^ (uint64_t)x) * UINT64_C(0x100000001b3);
}

/* Returns the number of the engine and a hash of its knobs. */
static int identify(struct rt_dnn *d, dnn_desc cfg, uint64_t words[RT_TUNED_WORDS], int notes[DNN_NOTES], int64_t *ret_notes)
{
	const struct dnn_api *a = &d->api;
	dnn_desc engine = NULL, knobs[DNN_KNOBS] = { NULL };
	int64_t n = 0, index = -1;
	int status = a->desc_create(DNN_ENGINE, &engine);

	memset(words, 0, RT_TUNED_WORDS * sizeof(words[0]));
	words[1] = UINT64_C(0xcbf29ce484222325);
	if (status == DNN_OK)
		status = a->desc_get(cfg, DNN_CFG_ENGINE, DNN_TYPE_DESCRIPTOR, 1, &n, &engine);
	if (status == DNN_OK)
		status = a->desc_get(engine, DNN_ENGINE_INDEX, DNN_TYPE_INT64, 1, &n, &index);
	if (status == DNN_OK)
		status = a->desc_get(engine, DNN_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE, DNN_NOTES, ret_notes, notes);
	words[0] = (uint64_t)index;
	for (int i = 0; status == DNN_OK && i < DNN_KNOBS; i++)
		status = a->desc_create(DNN_KNOB_CHOICE, &knobs[i]);
	n = 0;
	if (status == DNN_OK)
		status = a->desc_get(cfg, DNN_CFG_KNOBS, DNN_TYPE_DESCRIPTOR, DNN_KNOBS, &n, knobs);
	for (int64_t i = 0; status == DNN_OK && i < n && i < DNN_KNOBS; i++) {
		int64_t value = 0, one = 0;
		int type = 0;

		status = a->desc_get(knobs[i], DNN_KNOB_TYPE, DNN_TYPE_KNOB_TYPE, 1, &one, &type);
		if (status == DNN_OK)
			status = a->desc_get(knobs[i], DNN_KNOB_VALUE, DNN_TYPE_INT64, 1, &one, &value);
		words[1] = mix(mix(words[1], type), value);
	}
	for (int i = 0; i < DNN_KNOBS; i++)
		if (knobs[i])
			a->desc_destroy(knobs[i]);
	if (engine)
		a->desc_destroy(engine);
	*ret_notes = GT_MIN(*ret_notes, DNN_NOTES);
	return status;
}

/* Builds a plan of the configuration. Returns NULL if the library fails or the workspace is too large. */
static dnn_desc plan(struct rt_dnn *d, struct dnn_choice *c, dnn_desc cfg, size_t *ret_workspace)
{
	const struct dnn_api *a = &d->api;
	dnn_desc p = NULL;
	int64_t bytes = 0, n = 0;
	int status = a->desc_create(DNN_PLAN, &p);

	if (status == DNN_OK && d->handle)
		status = a->desc_set(p, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &d->handle);
	if (status == DNN_OK && d->properties)
		status = a->desc_set(p, DNN_PLAN_DEVICEPROP, DNN_TYPE_DESCRIPTOR, 1, &d->properties);
	if (status == DNN_OK)
		status = a->desc_set(p, DNN_PLAN_CFG, DNN_TYPE_DESCRIPTOR, 1, &cfg);
	if (status == DNN_OK)
		status = a->desc_finalize(p);
	if (status == DNN_OK)
		status = a->desc_get(p, DNN_PLAN_WORKSPACE, DNN_TYPE_INT64, 1, &n, &bytes);
	*ret_workspace = (size_t)bytes;
	if (status != DNN_OK)
		d->plan_status = status;
	if (status == DNN_OK && bytes >= 0 && (size_t)bytes <= c->room)
		return p;
	c->info.too_large += status == DNN_OK;
	if (p)
		a->desc_destroy(p);
	return NULL;
}

/* Adds a configuration to c->candidates if it is acceptable, new, and, with a choice from disk, the chosen one. */
static void consider(struct rt_dnn *d, struct dnn_choice *c, dnn_desc cfg)
{
	struct dnn_candidate candidate = { 0 };
	int notes[DNN_NOTES];
	int64_t n_notes = 0;

	if (c->info.accepted == c->most || identify(d, cfg, candidate.words, notes, &n_notes) != DNN_OK ||
	    !acceptable(c, notes, n_notes))
		return;
	if (c->from_disk && (c->info.accepted || memcmp(candidate.words, c->candidates[0].words, sizeof(candidate.words)) != 0))
		return;
	for (int i = 0; i < c->info.accepted; i++)
		if (!memcmp(candidate.words, c->candidates[i].words, sizeof(candidate.words)))
			return;
	candidate.plan = plan(d, c, cfg, &candidate.workspace);
	if (!candidate.plan)
		return;
	c->candidates[c->info.accepted++] = candidate;
	c->info.workspace = GT_MAX(c->info.workspace, candidate.workspace);
}

/* Queries one heuristic. A heuristic that does not support this graph returns nothing. */
static void ask(struct rt_dnn *d, struct dnn_choice *c, dnn_desc g, int mode)
{
	const struct dnn_api *a = &d->api;
	dnn_desc found[SUGGESTIONS] = { NULL }, heur = NULL;
	int64_t n = 0;
	int status = a->desc_create(DNN_ENGINEHEUR, &heur);

	if (status == DNN_OK)
		status = a->desc_set(heur, DNN_HEUR_GRAPH, DNN_TYPE_DESCRIPTOR, 1, &g);
	if (status == DNN_OK)
		status = a->desc_set(heur, DNN_HEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &mode);
	if (status == DNN_OK && d->properties)
		status = a->desc_set(heur, DNN_HEUR_DEVICEPROP, DNN_TYPE_DESCRIPTOR, 1, &d->properties);
	if (status == DNN_OK)
		status = a->desc_finalize(heur);
	for (int i = 0; status == DNN_OK && i < SUGGESTIONS; i++)
		status = a->desc_create(DNN_ENGINECFG, &found[i]);
	if (status == DNN_OK)
		status = a->desc_get(heur, DNN_HEUR_RESULTS, DNN_TYPE_DESCRIPTOR, SUGGESTIONS, &n, found);
	n = status == DNN_OK ? GT_MIN(n, SUGGESTIONS) : 0;
	c->info.suggested += (int)n;
	for (int64_t i = 0; i < n; i++)
		consider(d, c, found[i]);
	for (int i = 0; i < SUGGESTIONS; i++)
		if (found[i])
			a->desc_destroy(found[i]);
	if (heur)
		a->desc_destroy(heur);
}

static int build_all(struct rt_dnn *d, struct dnn_choice *c, dnn_desc g, struct gt_err *err)
{
	c->info = (struct rt_dnn_info){ 0 };
	d->plan_status = DNN_OK;
	ask(d, c, g, DNN_HEUR_A);
	ask(d, c, g, DNN_HEUR_FALLBACK);
	if (c->info.accepted)
		return 0;
	return gt_fail(err, ENOTSUP, "cuDNN %s has no usable plan for %s within %zu MiB of workspace%s%s", d->version, c->name,
		       c->room >> 20, d->plan_status ? ": " : "",
		       d->plan_status ? d->api.error_string(d->plan_status) : "");
}

int rt_dnn_build(struct rt_dnn *d, struct dnn_choice *c, void (*operations)(struct dnn_bin *b, const void *key), const void *key,
		 struct gt_err *err)
{
	struct dnn_bin b = { .d = d };
	size_t workspace;
	dnn_desc g;
	int r = -ENOTSUP;

	c->chosen = -1;
	c->from_disk = d->tuned && rt_tuned_get(d->tuned, c->name, c->candidates[0].words, &workspace);
	if (c->from_disk && c->rivalled && !c->candidates[0].words[1]) { /* the rival was chosen: see identify() */
		c->chosen = DNN_RIVAL;
		d->cached++;
		return 0;
	}
	operations(&b, key);
	g = graph(&b);
	if (b.status != DNN_OK) {
		r = rt_dnn_check(d, b.status, b.what, err);
		gt_fail_prefix(err, "%s", c->name);
	} else {
		if (c->from_disk)
			r = build_all(d, c, g, err);
		if (r == -ENOTSUP) {
			c->from_disk = false;
			r = build_all(d, c, g, err);
		}
	}
	empty(&b);
	return r;
}
