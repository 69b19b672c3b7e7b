/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted list of pruned layers in a checkpoint: rejected with a message and without a change of the graph, or the
 * layers have the numbers of units that it contains.
 */
#include "lib/json.h"
#include "runtime/ckpt/units.h"
#include "tests/fuzz/fuzz.h"

const unsigned fuzz_rounds = 4000;

static void check_rejected(const struct rt_units *before, const struct rt_units *after)
{
	FUZZ_ASSERT(after->n == before->n);
	for (int i = 0; i < after->n; i++)
		FUZZ_ASSERT(after->layer[i].units == before->layer[i].units);
}

static void check_accepted(const struct rt_graph *g, const struct rt_units *before, const struct rt_units *after,
			   const char *text, size_t len)
{
	gt_auto_json *list = NULL;

	FUZZ_ASSERT(!rt_graph_error(g, NULL) && gt_json_parse(text, len, "list", &list, NULL) == 0);
	for (int i = 0; i < after->n; i++) {
		const struct rt_layer_units *l = &after->layer[i];
		const json_t *counts = json_object_get(list, l->weight);

		FUZZ_ASSERT(l->units >= 1 && l->units <= before->layer[i].units);
		FUZZ_ASSERT(counts ? l->units == json_integer_value(json_array_get(counts, 0)) :
				     l->units == before->layer[i].units);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_units) *before = NULL, *after = NULL;
	struct gt_err err = { 0 };
	int r;

	rt_model_llama(g, &(struct rt_llama_config){ .batch = 1, .seq = 2, .layers = 2, .width = 16, .heads = 8, .kv_heads = 4,
						     .ffn = 12, .vocab = 5, .rope_base = 10000, .eps = 1e-5f });
	FUZZ_ASSERT(rt_graph_units(g, &before, &err) == 0 && before->n == 4);
	r = rt_match_pruned_text(g, (const char *)data, size, "checkpoint", &err);
	FUZZ_ASSERT(r == 0 || (err.code > 0 && err.msg[0]));
	FUZZ_ASSERT(rt_graph_units(g, &after, &err) == 0);
	if (r)
		check_rejected(before, after);
	else
		check_accepted(g, before, after, (const char *)data, size);
	return 0;
}
