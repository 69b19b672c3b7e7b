/* SPDX-License-Identifier: Apache-2.0 */
/* Structured pruning in a training run: continues with a smaller model. */
#include <math.h>
#include <stdio.h>
#include "bench/train/run.h"
#include "lib/json.h"

/* Chooses the units and takes the values of the others. */
static int choose(struct bn_training *r, struct rt_values **ret, struct gt_err *err)
{
	int status = rt_graph_units(r->graph[0], &r->removed, err);

	for (int k = 0; !status && k < RT_UNIT_KINDS; k++)
		if (r->pruning.remove[k] > 0)
			status = rt_choose_units(r->program, r->graph[0], r->removed, k, r->pruning.remove[k], err);
	return status ? status : rt_take_values(r->program, r->graph[0], r->removed, ret, err);
}

static int measure(struct bn_training *r, struct bn_size *ret, struct gt_err *err)
{
	ret->parameters = rt_program_parameters(r->program);
	ret->flops = rt_program_flops(r->program) * (double)r->o.accum;
	return bn_train_held_out(r, &ret->heldout, err);
}

int bn_train_shrink(struct bn_training *r, uint64_t done, uint64_t total, struct gt_err *err)
{
	gt_auto(rt_values) *values = NULL;
	int status;

	if (!r->pruning.structured || done != total / 4)
		return 0;
	status = measure(r, &r->shrink.before, err);
	if (status)
		return status;
	r->shrink.before.step_s = r->n_timed ? bn_train_median(r->step_s, r->n_timed) : NAN;
	status = choose(r, &values, err);
	if (status)
		return status;
	for (int i = 0; !status && i < r->n_graphs; i++)
		status = rt_graph_remove_units(r->graph[i], r->removed, err);
	if (status)
		return status;
	status = bn_train_compile(r, err);
	if (status)
		return status;
	status = rt_put_values(r->program, values, err);
	if (status)
		return status;
	bn_train_pin_batches(r);
	status = measure(r, &r->shrink.after, err);
	bn_train_restart_timing(r);
	return status;
}

static json_t *describe_size(const struct bn_size *s)
{
	return json_pack("{s:I, s:o, s:o, s:o}", "parameters", (json_int_t)s->parameters, "flops_per_step", gt_json_real(s->flops),
			 "median_step_s", gt_json_real(s->step_s), "heldout_loss", gt_json_real(s->heldout));
}

static json_t *describe_layers(const struct rt_units *u)
{
	json_t *layers = json_array();

	for (int i = 0; i < u->n; i++) {
		const struct rt_layer_units *l = &u->layer[i];
		int64_t removed = rt_units_removed(l);

		if (removed)
			json_array_append_new(layers, json_pack("{s:s, s:s, s:I, s:I}", "layer", l->weight, "units",
								bn_unit_name(l->kind), "before", (json_int_t)(l->units * l->size),
								"after", (json_int_t)((l->units - removed) * l->size)));
	}
	return layers;
}

json_t *bn_train_pruning(const struct bn_training *r)
{
	json_t *doc = json_pack("{s:s}", "requested", r->o.prune);
	struct bn_size after = r->shrink.after;

	if (r->pruning.use) {
		json_object_set_new(doc, "fraction", gt_json_real(rt_pruned_fraction(r->program)));
		return doc;
	}
	after.step_s = bn_train_median(r->step_s, r->n_timed);
	json_object_set_new(doc, "layers", describe_layers(r->removed));
	json_object_set_new(doc, "before", describe_size(&r->shrink.before));
	json_object_set_new(doc, "after", describe_size(&after));
	return doc;
}

/* Prints "heads 8 → 6, neurons 1024 → 512": sums over the layers. */
static void print_units(const json_t *layers)
{
	const char *separator = "pruned     ";

	for (int k = 0; k < RT_UNIT_KINDS; k++) {
		long long before = 0, after = 0;
		json_t *layer;
		size_t i;

		json_array_foreach(layers, i, layer)
			if (gt_streq(gt_json_get_str(layer, "units", ""), bn_unit_name(k))) {
				before += gt_json_get_int(layer, "before", 0);
				after += gt_json_get_int(layer, "after", 0);
			}
		if (!before)
			continue;
		printf("%s%lld → %lld %s", separator, before, after, bn_unit_name(k));
		separator = ", ";
	}
	printf(" in all layers\n");
}

void bn_print_pruning(const json_t *pruning)
{
	const json_t *before = json_object_get(pruning, "before"), *after = json_object_get(pruning, "after");
	double step_s = gt_json_get_real(before, "median_step_s", NAN), heldout = gt_json_get_real(before, "heldout_loss", NAN);

	if (!before) {
		printf("pruned     %.1f %% of the weights of linear layers and convolutions\n",
		       100 * gt_json_get_real(pruning, "fraction", 0));
		return;
	}
	print_units(json_object_get(pruning, "layers"));
	printf("rebuilt    %lld → %lld parameters, %.2f → %.2f Mflop per step", (long long)gt_json_get_int(before, "parameters", 0),
	       (long long)gt_json_get_int(after, "parameters", 0), gt_json_get_real(before, "flops_per_step", 0) / 1e6,
	       gt_json_get_real(after, "flops_per_step", 0) / 1e6);
	if (!isnan(step_s))
		printf(", %.2f → %.2f ms per step", 1e3 * step_s, 1e3 * gt_json_get_real(after, "median_step_s", 0));
	if (!isnan(heldout))
		printf(", held-out loss %.4f → %.4f", heldout, gt_json_get_real(after, "heldout_loss", 0));
	printf("\n");
}
