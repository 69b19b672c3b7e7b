/* SPDX-License-Identifier: Apache-2.0 */
/* The units that the model of a checkpoint has lost by structured pruning. */
#include <errno.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/ckpt/st_file.h"
#include "runtime/ckpt/tensors.h"
#include "runtime/ckpt/units.h"
#include "runtime/graph/units.h"

/* counts: [units, original units] of the layer `weight` in the file. Marks the last units of the layer. */
static int match_layer(const char *path, const char *weight, const json_t *counts, struct rt_units *units, struct gt_err *err)
{
	json_int_t has = json_integer_value(json_array_get(counts, 0)), original = json_integer_value(json_array_get(counts, 1));

	if (json_array_size(counts) != 2 || has < 1 || has > original)
		return gt_fail(err, EBADMSG, "%s: its pruned layers have an invalid entry for %s", path, weight);
	for (int i = 0; i < units->n; i++) {
		struct rt_layer_units *l = &units->layer[i];

		if (!gt_streq(l->weight, weight))
			continue;
		if (l->original != original || l->units < has)
			return gt_fail(err, EINVAL, "%s: %s has %lld of %lld units, but the model has %lld of %lld", path, weight,
				       (long long)has, (long long)original, (long long)l->units, (long long)l->original);
		for (int64_t k = has; k < l->units; k++)
			l->removed[k] = true;
		return 0;
	}
	return gt_fail(err, EINVAL, "%s: the model has no layer %s that can be pruned: the file belongs to another model", path,
		       weight);
}

int rt_match_pruned_text(struct rt_graph *g, const char *text, size_t len, const char *path, struct gt_err *err)
{
	gt_auto(rt_units) *units = NULL;
	gt_auto_json *layers = NULL;
	const char *weight;
	json_t *counts;
	int r;

	if (gt_json_parse(text, len, path, &layers, NULL) < 0 || !json_is_object(layers))
		return gt_fail(err, EBADMSG, "%s: the list of its pruned layers is not a JSON object", path);
	r = rt_graph_units(g, &units, err);
	if (r)
		return r;
	json_object_foreach(layers, weight, counts) {
		r = match_layer(path, weight, counts, units, err);
		if (r)
			return r;
	}
	return rt_graph_remove_units(g, units, err);
}

int rt_graph_match_checkpoint(struct rt_graph *g, const char *path, struct gt_err *err)
{
	rt_auto_safetensors s = { 0 };
	rt_auto_st_file f = RT_ST_CLOSED;
	int r = rt_graph_error(g, err);
	const char *text;

	if (r)
		return r;
	r = rt_st_open(path, &f, &s, err);
	if (r)
		return r;
	text = gt_json_get_str(s.metadata, RT_CKPT_PRUNED, NULL);
	return text ? rt_match_pruned_text(g, text, strlen(text), path, err) : 0;
}
