/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes in the Hugging Face layout of a model that lost units by structured pruning. */
#include <errno.h>
#include "runtime/ckpt/hf.h"
#include "runtime/graph/units.h"

/* Sets *size to the number of units of layer l. Each layer must have the same. */
static int use_size(const struct rt_layer_units *l, int64_t *size, struct gt_err *err)
{
	int64_t has = l->units * l->size;

	if (*size && *size != has)
		return gt_fail(err, EINVAL, "%s has %lld %s and an earlier layer %lld: the Hugging Face layout has one number for "
			       "all layers", l->weight, (long long)has, l->kind == RT_UNIT_HEADS ? "heads" : "neurons",
			       (long long)*size);
	*size = has;
	return 0;
}

int rt_hf_match_graph(struct rt_hf_config *c, const struct rt_graph *g, struct gt_err *err)
{
	gt_auto(rt_units) *u = NULL;
	int64_t sizes[RT_UNIT_KINDS] = { 0 };
	int64_t shared = c->size.heads / c->size.kv_heads;
	int r = rt_graph_units(g, &u, err);

	for (int i = 0; !r && i < u->n; i++)
		r = use_size(&u->layer[i], &sizes[u->layer[i].kind], err);
	if (r)
		return r;
	if (c->family == RT_HF_GPT2 && sizes[RT_UNIT_HEADS] && sizes[RT_UNIT_HEADS] != c->size.heads)
		return gt_fail(err, EINVAL, "the model lost %lld of %lld heads: the Hugging Face layout of gpt2 cannot store this, "
			       "because its heads have n_embd / n_head columns", (long long)(c->size.heads - sizes[RT_UNIT_HEADS]),
			       (long long)c->size.heads);
	if (sizes[RT_UNIT_HEADS]) {
		c->size.heads = sizes[RT_UNIT_HEADS];
		c->size.kv_heads = sizes[RT_UNIT_HEADS] / shared;
	}
	if (sizes[RT_UNIT_NEURONS])
		c->size.ffn = sizes[RT_UNIT_NEURONS];
	return 0;
}
