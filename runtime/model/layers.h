/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_LAYERS_H
#define RT_LAYERS_H
/* Layers shared by the transformers. Names are "PREFIXLAYER.weight" and so on. On NULL every function returns NULL. */
#include "runtime/runtime.h"

struct rt_scope {
	struct rt_graph *g;
	char prefix[48];
	int64_t width;
	int64_t ffn; /* hidden width of MLPs; 0: 4 width */
	int heads;
	float eps;  /* epsilon of norms */
	float rate; /* dropout rate; 0: none */
	struct rt_node *positions; /* (B,T) of tokens in a cache of keys and values; NULL: no cache */
	int64_t cache; /* tokens that it holds */
};

struct rt_node *rt_layer_param(const struct rt_scope *s, const char *layer, const char *name, struct rt_shape shape,
			       struct rt_init init);
struct rt_node *rt_layer_named(const struct rt_scope *s, const char *name, struct rt_node *n);
/* x (…,in) -> (…,out) with a bias. The initial standard deviation of weights is 0.02. */
struct rt_node *rt_layer_dense(const struct rt_scope *s, const char *name, struct rt_node *x, int64_t in, int64_t out);
struct rt_node *rt_layer_norm(const struct rt_scope *s, const char *name, struct rt_node *x);
struct rt_node *rt_layer_dropout(const struct rt_scope *s, struct rt_node *x);
/* x (B,T,C). attention: attention over x and its projection. mlp: two layers. */
struct rt_node *rt_layer_attention(const struct rt_scope *s, struct rt_node *x, bool causal);
/* Attention of q, k, v in qkv, with a cache "PREFIXcache" if s->positions is set. */
struct rt_node *rt_layer_causal(const struct rt_scope *s, struct rt_node *qkv, int heads, int kv_heads, int64_t depth);
/* The logits and the loss, or with a cache the logits of one token per row, from the normed x (B,T,C). */
struct rt_node *rt_layer_head(const struct rt_scope *s, struct rt_node *x, struct rt_node *head);
struct rt_node *rt_layer_mlp(const struct rt_scope *s, struct rt_node *x, bool erf);
/* x + attention(norm(x)), followed by x + mlp(norm(x)). */
struct rt_node *rt_layer_block(const struct rt_scope *s, struct rt_node *x, bool causal, bool erf);

#define RT_LAYER_STD	0.02f
#endif
