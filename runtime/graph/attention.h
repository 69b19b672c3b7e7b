/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_ATTENTION_H
#define RT_ATTENTION_H
#include "runtime/graph/ir.h"

static inline bool rt_attention_is_backward(const struct rt_call *c)
{
	return rt_is(c, RT_OP_ATTENTION_BWD);
}

/* A row of qkv: `heads` queries, then `kv_heads` keys, then `kv_heads` values, each of `depth` columns. Queries
 * h group … h group + group - 1 read key and value h. */
struct rt_heads {
	int64_t heads, kv_heads, group, depth;
	int64_t width; /* columns of all queries, and of y */
	int64_t key, value; /* first columns of the keys and of the values */
	int64_t cols;
};

static inline struct rt_heads rt_heads_of(const struct rt_attr *attr, int64_t cols)
{
	int64_t heads = attr->heads, kv = attr->kv_heads, depth = cols / (heads + 2 * kv);

	return (struct rt_heads){ .heads = heads, .kv_heads = kv, .group = heads / kv, .depth = depth, .width = heads * depth,
				  .key = heads * depth, .value = (heads + kv) * depth, .cols = cols };
}
#endif
