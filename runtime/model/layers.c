/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include "runtime/model/layers.h"

struct rt_node *rt_layer_param(const struct rt_scope *s, const char *layer, const char *name, struct rt_shape shape,
			       struct rt_init init)
{
	char full[80];

	snprintf(full, sizeof(full), "%s%s.%s", s->prefix, layer, name);
	return rt_param(s->g, full, shape, init);
}

struct rt_node *rt_layer_named(const struct rt_scope *s, const char *name, struct rt_node *n)
{
	char full[80];

	snprintf(full, sizeof(full), "%s%s", s->prefix, name);
	return rt_name(n, full);
}

struct rt_node *rt_layer_dense(const struct rt_scope *s, const char *name, struct rt_node *x, int64_t in, int64_t out)
{
	struct rt_node *w = rt_layer_param(s, name, "weight", RT_SHAPE(out, in), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *b = rt_layer_param(s, name, "bias", RT_SHAPE(out), RT_INIT_ZEROS);

	return rt_layer_named(s, name, rt_linear(s->g, x, w, b));
}

struct rt_node *rt_layer_norm(const struct rt_scope *s, const char *name, struct rt_node *x)
{
	struct rt_node *w = rt_layer_param(s, name, "weight", RT_SHAPE(s->width), RT_INIT_ONES);
	struct rt_node *b = rt_layer_param(s, name, "bias", RT_SHAPE(s->width), RT_INIT_ZEROS);

	return rt_layer_named(s, name, rt_layernorm(s->g, x, w, b, s->eps));
}

struct rt_node *rt_layer_dropout(const struct rt_scope *s, struct rt_node *x)
{
	return s->rate > 0 ? rt_dropout(s->g, x, s->rate) : x;
}

struct rt_node *rt_layer_causal(const struct rt_scope *s, struct rt_node *qkv, int heads, int kv_heads, int64_t depth)
{
	struct rt_node *cache;
	char name[80];

	if (!s->positions)
		return rt_attention_grouped(s->g, qkv, heads, kv_heads);
	snprintf(name, sizeof(name), "%scache", s->prefix);
	cache = rt_cache(s->g, name, RT_SHAPE(rt_node_shape(s->positions)->d[0], 2 * kv_heads, s->cache, depth));
	return rt_attention_cached(s->g, qkv, cache, s->positions, heads, kv_heads);
}

struct rt_node *rt_layer_head(const struct rt_scope *s, struct rt_node *x, struct rt_node *head)
{
	const struct rt_shape *shape;

	if (!x)
		return NULL;
	shape = rt_node_shape(x);
	if (s->positions)
		return rt_name(rt_linear(s->g, rt_select_row(s->g, x, rt_input(s->g, "last", RT_I32, RT_SHAPE(shape->d[0]))), head,
					 NULL), "logits");
	return rt_name(rt_cross_entropy(s->g, rt_name(rt_linear(s->g, x, head, NULL), "logits"),
					rt_graph_node(s->g, "targets")), "loss");
}

struct rt_node *rt_layer_attention(const struct rt_scope *s, struct rt_node *x, bool causal)
{
	struct rt_node *qkv = rt_layer_dense(s, "qkv", x, s->width, 3 * s->width), *y;

	y = causal ? rt_layer_causal(s, qkv, s->heads, s->heads, s->heads ? s->width / s->heads : 0) :
		     rt_attention_full(s->g, qkv, s->heads);
	y = rt_layer_dense(s, "proj", rt_layer_named(s, "attention", y), s->width, s->width);
	return rt_layer_dropout(s, y);
}

struct rt_node *rt_layer_mlp(const struct rt_scope *s, struct rt_node *x, bool erf)
{
	int64_t ffn = s->ffn ? s->ffn : 4 * s->width;
	struct rt_node *y = rt_layer_dense(s, "fc", x, s->width, ffn);

	y = rt_layer_named(s, "gelu", erf ? rt_gelu_erf(s->g, y) : rt_gelu(s->g, y));
	return rt_layer_dropout(s, rt_layer_dense(s, "fcproj", y, ffn, s->width));
}

struct rt_node *rt_layer_block(const struct rt_scope *s, struct rt_node *x, bool causal, bool erf)
{
	struct rt_node *y = rt_layer_attention(s, rt_layer_norm(s, "ln1", x), causal);

	x = rt_layer_named(s, "middle", rt_add(s->g, x, y));
	y = rt_layer_mlp(s, rt_layer_norm(s, "ln2", x), erf);
	return rt_layer_named(s, "out", rt_add(s->g, x, y));
}
