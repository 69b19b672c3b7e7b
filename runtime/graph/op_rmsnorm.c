/* SPDX-License-Identifier: Apache-2.0 */
/* rmsnorm: y = x rstd gain (C), rstd = 1/sqrt(mean(x^2) + eps) over the last dimension of x (M,C). out: y, rstd (M) */
#include <math.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int rmsnorm_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0], *gain = c->in[1];
	int r = rt_require_floats(c, 0, 2, err);

	if (r)
		return r;
	if (gain->shape.n != 1 || gain->shape.d[0] != rt_cols(x))
		return rt_mismatch(c, x, gain, "the gain must have the input's last dimension", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &x->shape, "rmsnorm");
	c->out[1] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(rt_rows(x)), "rmsnorm.rstd");
	return 0;
}

static void rmsnorm_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k = rt_ad_call(ad, RT_OP_RMSNORM_BWD, NULL);

	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->in[0];
	k->in[2] = c->in[1];
	k->in[3] = c->out[1];
	rt_ad_into(ad, k, 0, c->in[0]);
	rt_ad_into(ad, k, 1, c->in[1]);
}

static void rmsnorm_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_rows(c->in[0]), cols = rt_cols(c->in[0]);

	for (int64_t r = 0; r < rows; r++) {
		const double *x = in[0] + r * cols;
		double sum = 0;

		for (int64_t j = 0; j < cols; j++)
			sum += x[j] * x[j] / (double)cols;
		out[1][r] = 1 / sqrt(sum + (double)c->attr.eps);
		for (int64_t j = 0; j < cols; j++)
			out[0][r * cols + j] = x[j] * out[1][r] * in[1][j];
	}
}

const struct rt_op rt_op_rmsnorm = {
	.id = RT_OP_RMSNORM,
	.name = "rmsnorm",
	.f32_in = 2,
	.f32_out = 2,
	.shape = rmsnorm_shape,
	.gradient = rmsnorm_gradient,
	.reference = rmsnorm_reference,
};
/* in: dy, x, gain, rstd. out: dx, dgain */
const struct rt_op rt_op_rmsnorm_bwd = {
	.id = RT_OP_RMSNORM_BWD,
	.name = "rmsnorm_bwd",
	.f32_in = 12,
	.f32_out = 2,
	.accumulates = 3,
	.inplace = RT_INPLACE(0, 0),
};
