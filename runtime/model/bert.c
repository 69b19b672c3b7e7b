/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BERT-style encoder with the masked-language loss: x = norm(x + attention(x)), x = norm(x + mlp(x)), without a
 * causal mask. Then a transform, and the token table as output projection. Positions with target RT_IGNORE do not
 * count.
 */
#include <stdio.h>
#include "runtime/model/layers.h"

static struct rt_node *block(const struct rt_scope *s, struct rt_node *x)
{
	x = rt_layer_norm(s, "ln1", rt_add(s->g, x, rt_layer_attention(s, x, false)));
	return rt_layer_norm(s, "ln2", rt_add(s->g, x, rt_layer_mlp(s, x, true)));
}

struct rt_node *rt_model_bert(struct rt_graph *g, const struct rt_gpt_config *k)
{
	struct rt_scope s = { .g = g, .width = k->width, .heads = (int)k->heads, .eps = 1e-12f, .rate = k->dropout };
	struct rt_node *tokens = rt_input(g, "tokens", RT_I32, RT_SHAPE(k->batch, k->seq));
	struct rt_node *targets = rt_input(g, "targets", RT_I32, RT_SHAPE(k->batch, k->seq));
	int64_t positions = k->positions ? k->positions : k->seq;
	struct rt_node *table = rt_param(g, "tokens.weight", RT_SHAPE(k->vocab, k->width), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *places = rt_param(g, "positions.weight", RT_SHAPE(positions, k->width), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *out_bias = rt_param(g, "out.bias", RT_SHAPE(k->vocab), RT_INIT_ZEROS);
	struct rt_node *x = rt_embedding(g, tokens, table, places);

	x = rt_layer_dropout(&s, rt_layer_norm(&s, "norm", x));
	for (int64_t layer = 0; layer < k->layers; layer++) {
		snprintf(s.prefix, sizeof(s.prefix), "h%lld.", (long long)layer);
		x = block(&s, x);
	}
	s.prefix[0] = 0;
	x = rt_gelu_erf(g, rt_layer_dense(&s, "transform", x, k->width, k->width));
	x = rt_layer_norm(&s, "transform.norm", x);
	return rt_name(rt_cross_entropy(g, rt_name(rt_linear(g, x, table, out_bias), "logits"), targets), "loss");
}
