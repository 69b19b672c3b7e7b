/* SPDX-License-Identifier: Apache-2.0 */
/* GPT-2: x = x + attention(norm(x)), x = x + mlp(norm(x)); the output projection is the token table. */
#include <stdio.h>
#include "runtime/model/layers.h"

struct rt_node *rt_model_gpt(struct rt_graph *g, const struct rt_gpt_config *k)
{
	struct rt_scope s = { .g = g, .width = k->width, .ffn = k->ffn, .heads = (int)k->heads, .eps = 1e-5f, .rate = k->dropout,
			      .cache = k->cache };
	struct rt_node *tokens = rt_input(g, "tokens", RT_I32, RT_SHAPE(k->batch, k->seq));
	struct rt_node *second = rt_input(g, k->cache ? "positions" : "targets", RT_I32, RT_SHAPE(k->batch, k->seq));
	int64_t positions = k->positions ? k->positions : k->cache ? k->cache : k->seq;
	struct rt_node *wte = rt_param(g, "wte", RT_SHAPE(k->vocab, k->width), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *wpe = rt_param(g, "wpe", RT_SHAPE(positions, k->width), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *x = k->cache ? rt_add(g, rt_embedding(g, tokens, wte, NULL), rt_embedding(g, second, wpe, NULL)) :
				       rt_layer_dropout(&s, rt_embedding(g, tokens, wte, wpe));

	s.positions = k->cache ? second : NULL;
	for (int64_t layer = 0; layer < k->layers; layer++) {
		snprintf(s.prefix, sizeof(s.prefix), "h%lld.", (long long)layer);
		x = rt_layer_block(&s, x, true, false);
	}
	s.prefix[0] = 0;
	x = rt_layer_norm(&s, "lnf", x);
	return rt_layer_head(&s, x, wte);
}
