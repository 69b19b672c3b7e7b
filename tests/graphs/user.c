/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that a program brings itself: of one input, of two shapes, and of three inputs that may be one tensor. */
#include <errno.h>
#include <math.h>
#include "tests/graphs/made.h"

static void bump_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] / (1 + in[0][i] * in[0][i]);
}

static void bump_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			  const struct rt_shape *shapes, int threads)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); dx[0] && i < n; i++) {
		float q = in[0][i] * in[0][i];

		dx[0][i] = dy[i] * (1 - q) / ((1 + q) * (1 + q));
	}
}

static void bump_reference(const double *const *in, double *y, const struct rt_shape *shapes)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] / (1 + in[0][i] * in[0][i]);
}

/* y (M) = a (M,N) b (N) */
static int times_shape(const struct rt_shape *shapes, struct rt_shape *ret, struct gt_err *err)
{
	if (shapes[0].n != 2 || shapes[1].n != 1 || shapes[0].d[1] != shapes[1].d[0])
		return gt_fail(err, EINVAL, "times wants (M,N) and (N)");
	*ret = RT_SHAPE(shapes[0].d[0]);
	return 0;
}

static void times_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads)
{
	for (int64_t i = 0; i < shapes[0].d[0]; i++) {
		float sum = 0;

		for (int64_t j = 0; j < shapes[0].d[1]; j++)
			sum += in[0][i * shapes[0].d[1] + j] * in[1][j];
		y[i] = sum;
	}
}

static void times_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			   const struct rt_shape *shapes, int threads)
{
	int64_t m = shapes[0].d[0], n = shapes[0].d[1];

	for (int64_t i = 0; dx[0] && i < m * n; i++)
		dx[0][i] = dy[i / n] * in[1][i % n];
	for (int64_t j = 0; dx[1] && j < n; j++) {
		dx[1][j] = 0;
		for (int64_t i = 0; i < m; i++)
			dx[1][j] += dy[i] * in[0][i * n + j];
	}
}

static void times_reference(const double *const *in, double *y, const struct rt_shape *shapes)
{
	for (int64_t i = 0; i < shapes[0].d[0]; i++) {
		y[i] = 0;
		for (int64_t j = 0; j < shapes[0].d[1]; j++)
			y[i] += in[0][i * shapes[0].d[1] + j] * in[1][j];
	}
}

static int same_shape(const struct rt_shape *shapes, struct rt_shape *ret, struct gt_err *err)
{
	for (int i = 1; i < 3; i++)
		if (shapes[i].n != shapes[0].n || rt_shape_elements(&shapes[i]) != rt_shape_elements(&shapes[0]))
			return gt_fail(err, EINVAL, "fma wants three of one shape");
	*ret = shapes[0];
	return 0;
}

static void fma_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] * in[1][i] + in[2][i];
}

static void fma_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			 const struct rt_shape *shapes, int threads)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++) {
		if (dx[0])
			dx[0][i] = dy[i] * in[1][i];
		if (dx[1])
			dx[1][i] = dy[i] * in[0][i];
		if (dx[2])
			dx[2][i] = dy[i];
	}
}

static void fma_reference(const double *const *in, double *y, const struct rt_shape *shapes)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] * in[1][i] + in[2][i];
}

const struct rt_user_op made_user_ops[MADE_USER_OPS] = {
	[MADE_BUMP] = { "bump", 1, NULL, bump_forward, bump_backward, bump_reference },
	[MADE_TIMES] = { "times", 2, times_shape, times_forward, times_backward, times_reference },
	[MADE_FMA] = { "fma", 3, same_shape, fma_forward, fma_backward, fma_reference },
};

void made_user_slope(const struct rt_user_op *op, const double *const *in, const double *dy, double *const *dx,
		     const struct rt_shape *shapes)
{
	int64_t n = rt_shape_elements(&shapes[0]), cols = shapes[0].d[shapes[0].n - 1];

	for (int64_t i = 0; i < n; i++) {
		double q = in[0][i] * in[0][i];

		if (op == &made_user_ops[MADE_BUMP]) {
			dx[0][i] += dy[i] * (1 - q) / ((1 + q) * (1 + q));
		} else if (op == &made_user_ops[MADE_TIMES]) {
			dx[0][i] += dy[i / cols] * in[1][i % cols];
			dx[1][i % cols] += dy[i / cols] * in[0][i];
		} else {
			dx[0][i] += dy[i] * in[1][i];
			dx[1][i] += dy[i] * in[0][i];
			dx[2][i] += dy[i];
		}
	}
}
