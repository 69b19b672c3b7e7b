/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program brings an op of its own: gelu (tanh form) in one pass over memory, with its gradient in another. Beside it the
 * same function made of seven small ops, as one writes it first. Both are trained the same way; they must agree, and the
 * fused one should be several times faster, for it reads and writes a tensor once where the other does so seven times.
 *
 * Usage: user_gelu [ELEMENTS]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "runtime/runtime.h"

#define K	0.7978845608028654f /* sqrt(2/pi) */
#define C	0.044715f
#define STEPS	21

static void gelu_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads)
{
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++) {
		float x = in[0][i];

		y[i] = x / (1 + expf(-2 * K * x * (1 + C * x * x)));
	}
}

static void gelu_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			  const struct rt_shape *shapes, int threads)
{
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++) {
		float x = in[0][i], s = 1 / (1 + expf(-2 * K * x * (1 + C * x * x)));

		dx[0][i] = dy[i] * (s + x * s * (1 - s) * 2 * K * (1 + 3 * C * x * x));
	}
}

static void gelu_reference(const double *const *in, double *y, const struct rt_shape *shapes)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++) {
		double x = in[0][i];

		y[i] = 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
	}
}

/* The op: this struct is all that the library needs to know. */
static const struct rt_user_op gelu = {
	.name = "my_gelu",
	.inputs = 1,
	.forward = gelu_forward,
	.backward = gelu_backward,
	.reference = gelu_reference,
};

/* 0.5 x (1 + tanh(K x (1 + C x x))) */
static struct rt_node *small_ops(struct rt_graph *g, struct rt_node *x)
{
	struct rt_node *inner = rt_mul(g, rt_affine(g, x, K, 0), rt_affine(g, rt_mul(g, x, x), C, 1));

	return rt_mul(g, rt_affine(g, x, 0.5f, 0), rt_affine(g, rt_tanh(g, inner), 1, 1));
}

struct result {
	double loss, median_s;
	float *dx;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int measure(bool fused, int64_t n, struct result *ret, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree float *weights = gt_xcalloc((size_t)n, sizeof(float));
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(n), RT_INIT_NORMAL(1.5f));
	struct rt_node *y = fused ? rt_user(g, &gelu, &x) : small_ops(g, x);
	struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(n)));
	struct rt_options opt = { .keep_gradients = true, .profile = true, .seed = 1 };
	double step_s[STEPS];
	int r = rt_compile(g, loss, &opt, &p, err);

	for (int64_t i = 0; i < n; i++)
		weights[i] = rt_random_normal(2, 0, (uint64_t)i);
	for (int s = 0; !r && s < STEPS; s++) {
		struct rt_metrics m;
		double t0 = gt_now_s();

		r = rt_step(p, (const void *[]){ weights }, &m, err);
		step_s[s] = gt_now_s() - t0;
		ret->loss = m.loss;
	}
	if (r)
		return r;
	qsort(step_s, STEPS, sizeof(*step_s), by_value);
	ret->median_s = step_s[STEPS / 2];
	ret->dx = gt_xcalloc((size_t)n, sizeof(float));
	for (int64_t i = 0; i < n; i++)
		ret->dx[i] = rt_gradient(p, x)[i];
	return 0;
}

int main(int argc, char **argv)
{
	int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1 << 20;
	struct result fused = { 0 }, small = { 0 };
	struct gt_err err = { 0 };
	double worst = 0;

	if (n < 1 || n > INT64_C(1) << 30) {
		fprintf(stderr, "usage: user_gelu [ELEMENTS, 1 to 2^30]\n");
		return 64;
	}
	if (measure(true, n, &fused, &err) || measure(false, n, &small, &err)) {
		fprintf(stderr, "user_gelu: %s\n", err.msg);
		return 1;
	}
	for (int64_t i = 0; i < n; i++)
		worst = fmax(worst, fabs((double)fused.dx[i] - (double)small.dx[i]));
	printf("%lld elements: my_gelu %.3f ms per step, small ops %.3f ms, %.1f times as long; gradients apart by %.2g\n",
	       (long long)n, fused.median_s * 1e3, small.median_s * 1e3, small.median_s / fused.median_s, worst);
	free(fused.dx);
	free(small.dx);
	if (worst > 3e-5 || fabs(fused.loss - small.loss) > 1e-5 * (double)n) {
		fprintf(stderr, "user_gelu: the two disagree: losses %.9g and %.9g\n", fused.loss, small.loss);
		return 1;
	}
	return 0;
}
