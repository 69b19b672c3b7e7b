/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Llama: x = x + attention(rmsnorm(x)), x = x + mlp(rmsnorm(x)), without biases. Queries and keys are rotated by their
 * position, heads may share keys and values, and the mlp is swiglu. Parameters have the names of the Hugging Face layout, with
 * two exceptions. q, k and v of a layer are one tensor, and so are gate and up: one product instead of two or three.
 */
#include <stdio.h>
#include "runtime/model/layers.h"

struct block {
	struct rt_scope s;
	const struct rt_llama_config *k;
	int64_t depth;
};

static struct rt_node *dense(const struct block *b, const char *name, struct rt_node *x, int64_t in, int64_t out)
{
	struct rt_node *w = rt_layer_param(&b->s, name, "weight", RT_SHAPE(out, in), RT_INIT_NORMAL(RT_LAYER_STD));

	return rt_layer_named(&b->s, name, rt_linear(b->s.g, x, w, NULL));
}

static struct rt_node *norm(const struct block *b, const char *name, struct rt_node *x)
{
	struct rt_node *gain = rt_layer_param(&b->s, name, "weight", RT_SHAPE(b->k->width), RT_INIT_ONES);

	return rt_layer_named(&b->s, name, rt_rmsnorm(b->s.g, x, gain, b->k->eps));
}

static struct rt_node *attention(const struct block *b, struct rt_node *x)
{
	const struct rt_llama_config *k = b->k;
	int rotated = (int)(k->heads + k->kv_heads);

	x = dense(b, "self_attn.qkv_proj", x, k->width, (k->heads + 2 * k->kv_heads) * b->depth);
	if (b->s.positions)
		x = rt_rope_at(b->s.g, x, b->s.positions, rotated, (int)b->depth, k->rope_base);
	else
		x = rt_rope(b->s.g, x, rotated, (int)b->depth, k->rope_base);
	x = rt_layer_causal(&b->s, x, (int)k->heads, (int)k->kv_heads, b->depth);
	return dense(b, "self_attn.o_proj", rt_layer_named(&b->s, "self_attn", x), k->heads * b->depth, k->width);
}

static struct rt_node *mlp(const struct block *b, struct rt_node *x)
{
	x = dense(b, "mlp.gate_up_proj", x, b->k->width, 2 * b->k->ffn);
	return dense(b, "mlp.down_proj", rt_swiglu(b->s.g, x), b->k->ffn, b->k->width);
}

struct rt_node *rt_model_llama(struct rt_graph *g, const struct rt_llama_config *k)
{
	struct block b = { .s = { .g = g, .cache = k->cache }, .k = k,
			   .depth = k->depth ? k->depth : k->heads ? k->width / k->heads : 0 };
	struct rt_node *tokens = rt_input(g, "tokens", RT_I32, RT_SHAPE(k->batch, k->seq));
	struct rt_node *second = rt_input(g, k->cache ? "positions" : "targets", RT_I32, RT_SHAPE(k->batch, k->seq));
	struct rt_node *table = rt_param(g, "model.embed_tokens.weight", RT_SHAPE(k->vocab, k->width),
					 RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *x = rt_embedding(g, tokens, table, NULL), *head = table;

	b.s.positions = k->cache ? second : NULL;
	for (int64_t layer = 0; layer < k->layers; layer++) {
		snprintf(b.s.prefix, sizeof(b.s.prefix), "model.layers.%lld.", (long long)layer);
		x = rt_layer_named(&b.s, "middle", rt_add(g, x, attention(&b, norm(&b, "input_layernorm", x))));
		x = rt_layer_named(&b.s, "out", rt_add(g, x, mlp(&b, norm(&b, "post_attention_layernorm", x))));
	}
	snprintf(b.s.prefix, sizeof(b.s.prefix), "model.");
	x = norm(&b, "norm", x);
	if (!k->tied)
		head = rt_param(g, "lm_head.weight", RT_SHAPE(k->vocab, k->width), RT_INIT_NORMAL(RT_LAYER_STD));
	return rt_layer_head(&b.s, x, head);
}
