/* SPDX-License-Identifier: Apache-2.0 */
/* Part of simd_body.h: activations. No include guard, as in vec.h. */
#include "runtime/math/act.h"

/* 0.5 x (1 + tanh(u)) equals x / (1 + e^-2u), which has no cancellation for either sign. */
#define GELU_2K		1.5957691216057308f /* 2 sqrt(2/pi) */
#define GELU_C		0.044715f

INLINE vf gelu_gate(vf x)
{
	return 1.0f / (1.0f + vexp(-GELU_2K * x * (1.0f + GELU_C * x * x)));
}

INLINE vf sigmoid(vf x)
{
	return 1.0f / (1.0f + vexp(-x));
}

/* An odd polynomial for small arguments, e^2x for the others. The error is a few roundings everywhere. */
INLINE vf vtanh(vf x)
{
	vf z = x * x, near, far = 1.0f - 2.0f / (1.0f + vexp(2.0f * x));

	near = ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z -
		3.33332819422e-1f) * z * x + x;
	return sel(z < 0.390625f, near, far);
}

/* A quotient of polynomials in x^2. Beyond |x| = 4, erf rounds to 1. */
INLINE vf verf(vf x)
{
	vf c = sel(x != x, x, vmin(vmax(x, splat(-4.0f)), splat(4.0f))), z = c * c, p, q;

	p = -2.72614225801306e-10f * z + 2.77068142495902e-08f;
	p = p * z - 2.10102402082508e-06f;
	p = p * z - 5.69250639462346e-05f;
	p = p * z - 7.34990630326855e-04f;
	p = p * z - 2.95459980854025e-03f;
	p = p * z - 1.60960333262415e-02f;
	q = -1.45660718464996e-05f * z - 2.13374055278905e-04f;
	q = q * z - 1.68282697438203e-03f;
	q = q * z - 7.37332916720468e-03f;
	q = q * z - 1.42647390514189e-02f;
	return c * p / q;
}

/* The cumulative normal distribution function. */
INLINE vf normal_cdf(vf x)
{
	return 0.5f + 0.5f * verf(x * 0.70710678f);
}

INLINE vf act_fwd(vf x, enum rt_act act)
{
	if (act == RT_ACT_GELU)
		return x * gelu_gate(x);
	if (act == RT_ACT_GELU_ERF)
		return x * normal_cdf(x);
	if (act == RT_ACT_SILU)
		return x * sigmoid(x);
	if (act == RT_ACT_TANH)
		return vtanh(x);
	if (act == RT_ACT_SIGMOID)
		return sigmoid(x);
	if (act == RT_ACT_RELU)
		return sel(x <= 0.0f, (vf){ 0 }, x); /* keeps NaN */
	return x;
}
