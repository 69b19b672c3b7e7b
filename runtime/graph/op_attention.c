/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention: y (B,T,C) = softmax(q k^T / sqrt(D)) v per head of width D = C/heads, over the keys up to the query, or
 * over all keys. With fewer key/value heads, consecutive heads share one (Ainslie et al., GQA, 2023). in: qkv
 * (B,T,C + 2 kv_heads D), see struct rt_heads. out: y, and the log-sum-exp of each row of scores (B,heads,T). The
 * backward pass recomputes the probabilities from it, block by block.
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/attention.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int attention_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *qkv = c->in[0];
	int heads = c->attr.heads, kv = c->attr.kv_heads;
	char s[96];
	int r = rt_require_float(c, qkv, err);

	if (r)
		return r;
	if (heads > 0 && (kv < 1 || heads % kv))
		return gt_fail(err, EINVAL, "attention of %s: %d heads are not a multiple of %d key/value heads", qkv->name, heads,
			       kv);
	if (kv == heads && (qkv->shape.n != 3 || heads < 1 || rt_cols(qkv) % (3 * (int64_t)heads)))
		return gt_fail(err, EINVAL, "attention of %s %s with %d heads: it must be (B,T,3C) with C a multiple of heads",
			       qkv->name, rt_shape_format(&qkv->shape, s, sizeof(s)), heads);
	if (qkv->shape.n != 3 || rt_cols(qkv) % (heads + 2 * (int64_t)kv))
		return gt_fail(err, EINVAL, "attention of %s %s with %d heads and %d key/value heads: it must be (B,T,W) with W a "
			       "multiple of %lld", qkv->name, rt_shape_format(&qkv->shape, s, sizeof(s)), heads, kv,
			       (long long)heads + 2 * (long long)kv);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32,
			       &RT_SHAPE(qkv->shape.d[0], qkv->shape.d[1], rt_heads_of(&c->attr, rt_cols(qkv)).width), "attention");
	c->out[1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(qkv->shape.d[0], heads, qkv->shape.d[1]),
			       "attention.lse");
	return 0;
}

static void attention_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[0]))
		return;
	k = rt_ad_call(ad, RT_OP_ATTENTION_BWD, &(struct rt_attr){ .heads = c->attr.heads, .kv_heads = c->attr.kv_heads,
								   .all_keys = c->attr.all_keys });
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->in[0];
	k->in[2] = c->out[0];
	k->in[3] = c->out[1];
	rt_ad_into(ad, k, 0, c->in[0]);
}

/* Computes y (D) of one query over keys 0..t. Returns the log-sum-exp of its scores. */
static double attend_row(const double *q, const double *k, const double *v, int64_t t, int64_t depth, int64_t stride, double *y)
{
	double max = -INFINITY, sum = 0;

	for (int64_t j = 0; j <= t; j++) {
		double s = 0;

		for (int64_t d = 0; d < depth; d++)
			s += q[d] * k[j * stride + d];
		max = fmax(max, s / sqrt((double)depth));
	}
	for (int64_t d = 0; d < depth; d++)
		y[d] = 0;
	for (int64_t j = 0; j <= t; j++) {
		double s = 0, p;

		for (int64_t d = 0; d < depth; d++)
			s += q[d] * k[j * stride + d];
		p = exp(s / sqrt((double)depth) - max);
		sum += p;
		for (int64_t d = 0; d < depth; d++)
			y[d] += p * v[j * stride + d];
	}
	for (int64_t d = 0; d < depth; d++)
		y[d] /= sum;
	return max + log(sum);
}

static void attention_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t batch = c->in[0]->shape.d[0], len = c->in[0]->shape.d[1];
	struct rt_heads s = rt_heads_of(&c->attr, rt_cols(c->in[0]));

	for (int64_t b = 0; b < batch; b++)
		for (int64_t h = 0; h < s.heads; h++)
			for (int64_t t = 0; t < len; t++) {
				const double *first = in[0] + b * len * s.cols + h / s.group * s.depth;

				out[1][(b * s.heads + h) * len + t] =
					attend_row(in[0] + (b * len + t) * s.cols + h * s.depth, first + s.key, first + s.value,
						   c->attr.all_keys ? len - 1 : t, s.depth, s.cols,
						   out[0] + (b * len + t) * s.width + h * s.depth);
			}
}

/* Returns the mean number of keys per query. */
static double mean_keys(const struct rt_call *c)
{
	double len = (double)c->in[0]->shape.d[1];

	return c->attr.all_keys ? len : (len + 1) / 2;
}

/* Two matrix products forward and five backward, over the keys that the mask permits. */
static double attention_flops(const struct rt_call *c)
{
	return 2 * 2 * (double)rt_rows(c->in[0]) * (double)rt_cols(c->out[0]) * mean_keys(c);
}

static double attention_bwd_flops(const struct rt_call *c)
{
	return 5 * 2 * (double)rt_shape_elements(&c->in[0]->shape) * mean_keys(c);
}

const struct rt_op rt_op_attention = {
	.id = RT_OP_ATTENTION,
	.name = "attention",
	.f32_out = 2,
	.storage_only = true,
	.reduced = 1,
	.shape = attention_shape,
	.gradient = attention_gradient,
	.reference = attention_reference,
	.flops = attention_flops,
};
/* in: dy (B,T,C), qkv, y, lse. out: dqkv */
const struct rt_op rt_op_attention_bwd = {
	.id = RT_OP_ATTENTION_BWD,
	.name = "attention_bwd",
	.f32_in = 8,
	.storage_only = true,
	.reduced = 2,
	.flops = attention_bwd_flops,
};
