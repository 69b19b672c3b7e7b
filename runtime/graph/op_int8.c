/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products with INT8 weights, emitted by pass/quantize.c. Formats: math/int8.h.
 * quantize_weight: in: w (O,…). out: the weight of rt_i8_weight_at().
 * linear_int8: y (M,N) = act(norm(x (M,K)) w (N,K)^T + b (N)) v (O,N)^T + c (O) + residual (M,N or O). in: x, w, b, gain and bias
 * of the layernorm, v, c, residual. All after w may be NULL: without gain, x is not normalised; without v, y is (M,N). out: y.
 * conv_int8: the same for a convolution of one group. attr.shape is the shape of the weight.
 * attr.scale and attr.offset of both are the scale and the zero point of x; scale 0: found in each run.
 * observe: counts the values of a tensor. in: x. out: struct rt_histogram.
 */
#include "runtime/graph/op_int8.h"
#include "runtime/graph/ops.h"

static double linear_flops(const struct rt_call *c)
{
	double rows = (double)rt_rows(c->in[0]), outputs = (double)c->attr.shape.d[0], inputs = (double)rt_cols(c->in[0]);

	return 2 * rows * outputs * (inputs + (c->in[RT_INT8_SECOND] ? (double)rt_cols(c->out[0]) : 0));
}

static double conv_flops(const struct rt_call *c)
{
	const int64_t *w = c->attr.shape.d;

	return 2.0 * (double)rt_shape_elements(&c->out[0]->shape) * (double)(w[1] * w[2] * w[3]);
}

const struct rt_op rt_op_quantize_weight = {
	.id = RT_OP_QUANTIZE_WEIGHT,
	.name = "quantize_weight",
};
const struct rt_op rt_op_linear_int8 = {
	.id = RT_OP_LINEAR_INT8,
	.name = "linear_int8",
	.flops = linear_flops,
};
const struct rt_op rt_op_conv_int8 = {
	.id = RT_OP_CONV_INT8,
	.name = "conv_int8",
	.flops = conv_flops,
};
const struct rt_op rt_op_observe = {
	.id = RT_OP_OBSERVE,
	.name = "observe",
	.observes = true,
};
