/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention_cached: causal attention of new tokens over all tokens so far, whose keys and values are in a cache. For
 * programs that do not train.
 * in: qkv (B,T,C + 2 kv_heads D), see struct rt_heads; cache (B,2 kv_heads,P,D): keys, then values; positions (B,T):
 * the position of each token, less than P. out: y (B,T,C), and the cache. The key and value of each token are written
 * to the cache at its position. Then its query reads the keys 0 to its position.
 */
#include <errno.h>
#include "runtime/graph/attention.h"
#include "runtime/graph/ops.h"

static int attention_cached_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *qkv = c->in[0], *cache = c->in[1], *positions = c->in[2];
	int heads = c->attr.heads, kv = c->attr.kv_heads;
	const struct rt_shape *x = &qkv->shape, *s = &cache->shape;
	struct rt_heads h;
	int r = rt_require_float(c, qkv, err);

	if (r)
		return r;
	if (heads < 1 || kv < 1 || heads % kv || x->n != 3 || rt_cols(qkv) % (heads + 2 * (int64_t)kv))
		return gt_fail(err, EINVAL, "attention of %s: %d heads and %d key/value heads need (B,T,W) with W a multiple of "
			       "%lld", qkv->name, heads, kv, (long long)heads + 2 * (long long)kv);
	h = rt_heads_of(&c->attr, rt_cols(qkv));
	if (cache->role != RT_ROLE_CACHE || s->n != 4 || s->d[0] != x->d[0] || s->d[1] != 2 * kv || s->d[3] != h.depth)
		return rt_mismatch(c, qkv, cache, "the cache must be (B,2 kv_heads,P,D)", err);
	if (positions->dtype != RT_I32 || positions->shape.n != 2 || positions->shape.d[0] != x->d[0] ||
	    positions->shape.d[1] != x->d[1])
		return rt_mismatch(c, qkv, positions, "the positions must be i32 (B,T)", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(x->d[0], x->d[1], h.width), "attention");
	c->out[1] = cache;
	return 0;
}

static int64_t cache_rows(const struct rt_call *c)
{
	return c->in[1]->shape.d[2];
}

/* The products of all keys that the cache can hold; the kernel multiplies the keys that exist. */
static double attention_cached_flops(const struct rt_call *c)
{
	return 2 * 2 * (double)rt_rows(c->in[0]) * (double)rt_cols(c->out[0]) * (double)cache_rows(c);
}

const struct rt_op rt_op_attention_cached = {
	.id = RT_OP_ATTENTION_CACHED,
	.name = "attention_cached",
	.index_in = 2,
	.index_limit = cache_rows,
	.shape = attention_cached_shape,
	.flops = attention_cached_flops,
};
