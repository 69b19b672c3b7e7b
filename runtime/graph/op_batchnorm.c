/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batchnorm: y = act((x - mean) rstd gain + bias [+ residual]) per channel of x (M,C), mean and variance over the M
 * rows.
 * in: x, gain, bias, running mean, running var, residual or NULL, shift (C) or NULL. out: y, mean, rstd, open or NULL.
 * Fusion adds the residual and the activation. `shift` is the bias of the product before this op. Subtracting the
 * batch's mean cancels it, so only the running mean needs it (pass/batchnorm.c). `open` (CPU only): a bit per element,
 * set where relu passed it, in rows of rt_bits_bytes(C). The running statistics are updated in the backward pass: a
 * step whose loss is not finite does not change them.
 */
#include <errno.h>
#include <math.h>
#include "runtime/graph/act.h"
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int batchnorm_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0];
	int64_t channels = rt_cols(x);

	for (int i = 0; i < 5; i++) {
		int r = rt_require_float(c, c->in[i], err);

		if (r)
			return r;
		if (i && (c->in[i]->shape.n != 1 || c->in[i]->shape.d[0] != channels))
			return rt_mismatch(c, x, c->in[i], "it must have one element per channel", err);
	}
	for (int i = 3; i < 5; i++)
		if (c->in[i]->role != RT_ROLE_BUFFER)
			return gt_fail(err, EINVAL, "batchnorm of %s: %s must be a buffer", x->name, c->in[i]->name);
	if (rt_rows(x) < 2)
		return gt_fail(err, EINVAL, "batchnorm of %s: one value per channel has no variance", x->name);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &x->shape, "batchnorm");
	c->out[1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(channels), "batchnorm.mean");
	c->out[2] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(channels), "batchnorm.rstd");
	return 0;
}

static void batchnorm_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_attr attr = c->attr;
	struct rt_call *k;

	attr.accumulate = 0;
	attr.rows = rt_rows(c->in[0]);
	k = rt_ad_call(ad, RT_OP_BATCHNORM_BWD, &attr);
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[3] = c->out[1];
	k->in[4] = c->out[2];
	k->in[6] = c->in[6];
	k->out[4] = c->in[3];
	k->out[5] = c->in[4];
	if (!k->in[0])
		return; /* no parameter before this op is trained: only the statistics are updated, and x need not be kept */
	k->in[1] = c->in[0];
	k->in[2] = c->in[1];
	k->in[5] = c->attr.act == RT_ACT_NONE ? NULL : c->out[3] ? c->out[3] : c->out[0];
	rt_ad_into(ad, k, 0, c->in[0]);
	rt_ad_into(ad, k, 1, c->in[1]);
	rt_ad_into(ad, k, 2, c->in[2]);
	rt_ad_into(ad, k, 3, c->in[5]);
}

static void batchnorm_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);

	for (int64_t j = 0; j < cols; j++) {
		double mean = 0, var = 0;

		for (int64_t i = 0; i < rows; i++)
			mean += in[0][i * cols + j] / (double)rows;
		for (int64_t i = 0; i < rows; i++)
			var += pow(in[0][i * cols + j] - mean, 2) / (double)rows;
		out[1][j] = mean;
		out[2][j] = 1 / sqrt(var + (double)c->attr.eps);
		for (int64_t i = 0; i < rows; i++)
			out[0][i * cols + j] = (in[0][i * cols + j] - mean) * out[2][j] * in[1][j] + in[2][j];
	}
}

const struct rt_op rt_op_batchnorm = {
	.id = RT_OP_BATCHNORM,
	.name = "batchnorm",
	.f32_in = 94,
	.f32_out = 6,
	.moves_buffers = true,
	.shape = batchnorm_shape,
	.gradient = batchnorm_gradient,
	.reference = batchnorm_reference,
};
/* in: dy, x, gain, mean, rstd, for a fused activation `open` if present and otherwise y, shift. out: dx, dgain, dbias,
 * dresidual, running mean, running var. dy NULL: only the running statistics. */
const struct rt_op rt_op_batchnorm_bwd = {
	.id = RT_OP_BATCHNORM_BWD,
	.name = "batchnorm_bwd",
	.f32_in = 92,
	.f32_out = 54,
	.accumulates = 15,
	.inplace = RT_INPLACE(0, 0),
};
