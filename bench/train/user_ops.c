/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "bench/train/user_ops.h"
#include "lib/util.h"

#define K 0.7978845608028654 /* sqrt(2/pi) */
#define C 0.044715

const char *const bn_op_way_names[BN_OP_WAYS + 1] = { "basic-ops", "user-op", "library", NULL };

static int64_t columns(const struct rt_shape *s)
{
	return s->d[s->n - 1];
}

/* ---- basic ops ---- */

/* 0.5 x (1 + tanh(K x (1 + C x x))) */
static struct rt_node *basic_gelu(struct rt_graph *g, struct rt_node *x)
{
	struct rt_node *inner = rt_mul(g, rt_affine(g, x, (float)K, 0), rt_affine(g, rt_mul(g, x, x), (float)C, 1));

	return rt_mul(g, rt_affine(g, x, 0.5f, 0), rt_affine(g, rt_tanh(g, inner), 1, 1));
}

/* e^x for x <= 0. sigmoid(x - 17) is e^(x - 17) with a relative error below 4e-8. */
static struct rt_node *basic_exp(struct rt_graph *g, struct rt_node *x)
{
	return rt_affine(g, rt_sigmoid(g, rt_affine(g, x, 1, -17)), 24154952.7536f, 0);
}

/*
 * With e = exp((x - max) / 2) softmax is e^2 / sum(e^2), which is the square of rmsnorm(e), divided by the number of columns. A
 * product with a row of ones repeats the maximum of each row.
 */
static struct rt_node *basic_softmax(struct rt_graph *g, struct rt_node *x)
{
	int64_t rows = rt_node_shape(x)->d[0], cols = rt_node_shape(x)->d[1];
	struct rt_node *ones = rt_buffer(g, "ones", RT_SHAPE(1, cols), RT_INIT_ONES);
	struct rt_node *gain = rt_buffer(g, "gain", RT_SHAPE(cols), RT_INIT_ONES);
	struct rt_node *most = rt_matmul(g, rt_reshape(g, rt_reduce(g, x, RT_MAX, 1), RT_SHAPE(rows, 1)), false, ones, false);
	struct rt_node *e = basic_exp(g, rt_affine(g, rt_add(g, x, rt_affine(g, most, -1, 0)), 0.5f, 0));
	struct rt_node *norm = rt_rmsnorm(g, e, gain, 0);

	return rt_affine(g, rt_mul(g, norm, norm), 1 / (float)cols, 0);
}

/* ---- user ops on the CPU ---- */

static float gate(float x)
{
	return 1 / (1 + expf(-2 * (float)K * x * (1 + (float)C * x * x)));
}

static void gelu_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++)
		y[i] = in[0][i] * gate(in[0][i]);
}

static void gelu_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			  const struct rt_shape *shapes, int threads, void *arg)
{
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++) {
		float x = in[0][i], s = gate(x);

		dx[0][i] = dy[i] * (s + x * s * (1 - s) * 2 * (float)K * (1 + 3 * (float)C * x * x));
	}
}

static void softmax_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	int64_t cols = columns(&shapes[0]), rows = rt_shape_elements(&shapes[0]) / cols;

#pragma omp parallel for schedule(static) num_threads(threads)
	for (int64_t r = 0; r < rows; r++) {
		const float *x = in[0] + r * cols;
		float *out = y + r * cols, most = -INFINITY, sum = 0;

		for (int64_t i = 0; i < cols; i++)
			most = fmaxf(most, x[i]);
		for (int64_t i = 0; i < cols; i++) {
			out[i] = expf(x[i] - most);
			sum += out[i];
		}
		for (int64_t i = 0; i < cols; i++)
			out[i] /= sum;
	}
}

static void softmax_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			     const struct rt_shape *shapes, int threads, void *arg)
{
	int64_t cols = columns(&shapes[0]), rows = rt_shape_elements(&shapes[0]) / cols;

#pragma omp parallel for schedule(static) num_threads(threads)
	for (int64_t r = 0; r < rows; r++) {
		int64_t at = r * cols;
		float sum = 0;

		for (int64_t i = 0; i < cols; i++)
			sum += y[at + i] * dy[at + i];
		for (int64_t i = 0; i < cols; i++)
			dx[0][at + i] = y[at + i] * (dy[at + i] - sum);
	}
}

/* ---- definitions ---- */

static void define_gelu(const double *x, const double *dy, int64_t cols, double *y, double *dx)
{
	for (int64_t i = 0; i < cols; i++) {
		double t = tanh(K * (x[i] + C * x[i] * x[i] * x[i]));

		y[i] = 0.5 * x[i] * (1 + t);
		if (dx)
			dx[i] = dy[i] * (0.5 * (1 + t) + 0.5 * x[i] * (1 - t * t) * K * (1 + 3 * C * x[i] * x[i]));
	}
}

static void define_softmax(const double *x, const double *dy, int64_t cols, double *y, double *dx)
{
	double most = -INFINITY, sum = 0, mean = 0;

	for (int64_t i = 0; i < cols; i++)
		most = fmax(most, x[i]);
	for (int64_t i = 0; i < cols; i++)
		sum += exp(x[i] - most);
	for (int64_t i = 0; i < cols; i++)
		y[i] = exp(x[i] - most) / sum;
	for (int64_t i = 0; dx && i < cols; i++)
		mean += y[i] * dy[i];
	for (int64_t i = 0; dx && i < cols; i++)
		dx[i] = y[i] * (dy[i] - mean);
}

static void gelu_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	define_gelu(in[0], NULL, rt_shape_elements(&shapes[0]), y, NULL);
}

static void softmax_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	int64_t cols = columns(&shapes[0]), n = rt_shape_elements(&shapes[0]);

	for (int64_t at = 0; at < n; at += cols)
		define_softmax(in[0] + at, NULL, cols, y + at, NULL);
}

/* ---- user ops on CUDA ---- */

#ifdef BN_USER_OPS_FATBIN
#define THREADS	256
enum { K_GELU, K_GELU_BACK, K_SOFTMAX, K_SOFTMAX_BACK };
static const char *const kernels[] = { "bn_gelu", "bn_gelu_back", "bn_softmax", "bn_softmax_back", NULL };
__asm__(".section .rodata, \"a\"\n.balign 64\nbn_user_ops_image:\n.incbin \"" BN_USER_OPS_FATBIN "\"\n.byte 0\n.previous\n");
extern const unsigned char bn_user_ops_image[];

static int each(const struct rt_user_run *run, int kernel, int64_t n, void **args, struct gt_err *err)
{
	int64_t blocks = GT_MIN((n + THREADS - 1) / THREADS, (int64_t)run->multiprocessors * 8);

	return rt_user_launch(run, kernel, (unsigned[]){ (unsigned)blocks, 1, 1 }, (unsigned[]){ THREADS, 1, 1 }, 0, args, err);
}

static int gelu_forward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], y = run->y;

	return each(run, K_GELU, n, (void *[]){ &n, &x, &y }, err);
}

static int gelu_backward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], dy = run->dy, dx = run->dx[0];

	return each(run, K_GELU_BACK, n, (void *[]){ &n, &x, &dy, &dx }, err);
}

static int each_row(const struct rt_user_run *run, int kernel, void **args, struct gt_err *err)
{
	int64_t rows = rt_shape_elements(&run->shapes[0]) / columns(&run->shapes[0]);

	return rt_user_launch(run, kernel, (unsigned[]){ (unsigned)rows, 1, 1 }, (unsigned[]){ THREADS, 1, 1 },
			      THREADS * sizeof(float), args, err);
}

static int softmax_forward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t cols = columns(&run->shapes[0]);
	uint64_t x = run->in[0], y = run->y;

	return each_row(run, K_SOFTMAX, (void *[]){ &cols, &x, &y }, err);
}

static int softmax_backward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t cols = columns(&run->shapes[0]);
	uint64_t y = run->y, dy = run->dy, dx = run->dx[0];

	return each_row(run, K_SOFTMAX_BACK, (void *[]){ &cols, &y, &dy, &dx }, err);
}

static const struct rt_user_cuda gelu_cuda = {
	.image = bn_user_ops_image, .kernels = kernels, .forward = gelu_forward_cuda, .backward = gelu_backward_cuda,
};
static const struct rt_user_cuda softmax_cuda = {
	.image = bn_user_ops_image, .kernels = kernels, .forward = softmax_forward_cuda, .backward = softmax_backward_cuda,
};
#define ON_CUDA(op) &op##_cuda
#else
#define ON_CUDA(op) NULL
#endif

static const struct rt_user_op gelu = {
	.name = "user_gelu", .inputs = 1, .forward = gelu_forward, .backward = gelu_backward, .reference = gelu_reference,
	.cuda = ON_CUDA(gelu),
};
static const struct rt_user_op softmax = {
	.name = "user_softmax", .inputs = 1, .forward = softmax_forward, .backward = softmax_backward,
	.reference = softmax_reference, .cuda = ON_CUDA(softmax),
};

static struct rt_node *user_gelu(struct rt_graph *g, struct rt_node *x)
{
	return rt_user(g, &gelu, &x, NULL);
}

static struct rt_node *user_softmax(struct rt_graph *g, struct rt_node *x)
{
	return rt_user(g, &softmax, &x, NULL);
}

const struct bn_op_function bn_op_functions[] = {
	{ "gelu", { basic_gelu, user_gelu, rt_gelu }, define_gelu },
	{ "softmax", { basic_softmax, user_softmax, rt_softmax }, define_softmax },
	{ 0 },
};
