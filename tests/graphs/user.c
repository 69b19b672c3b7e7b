/* SPDX-License-Identifier: Apache-2.0 */
/* User-defined ops: of one input, of two shapes, and of three inputs that may be one tensor. */
#include <errno.h>
#include <math.h>
#include "tests/graphs/generated.h"

/* y = x / (1 + s x x) with s = *arg */
static float spreads[GEN_USER_ARGS] = { 1, 0.375f };

void *gen_user_arg(int op, int which)
{
	return op == GEN_BUMP ? &spreads[which % GEN_USER_ARGS] : NULL;
}

static void bump_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	const float *s = arg;

	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] / (1 + *s * in[0][i] * in[0][i]);
}

static void bump_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			  const struct rt_shape *shapes, int threads, void *arg)
{
	const float *s = arg;

	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); dx[0] && i < n; i++) {
		float q = *s * in[0][i] * in[0][i];

		dx[0][i] = dy[i] * (1 - q) / ((1 + q) * (1 + q));
	}
}

static void bump_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	const float *s = arg;

	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] / (1 + (double)*s * in[0][i] * in[0][i]);
}

/* y (M) = a (M,N) b (N) */
static int times_shape(const struct rt_shape *shapes, struct rt_shape *ret, void *arg, struct gt_err *err)
{
	if (shapes[0].n != 2 || shapes[1].n != 1 || shapes[0].d[1] != shapes[1].d[0])
		return gt_fail(err, EINVAL, "times wants (M,N) and (N)");
	*ret = RT_SHAPE(shapes[0].d[0]);
	return 0;
}

static void times_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	for (int64_t i = 0; i < shapes[0].d[0]; i++) {
		double sum = 0;

		for (int64_t j = 0; j < shapes[0].d[1]; j++)
			sum += (double)in[0][i * shapes[0].d[1] + j] * (double)in[1][j];
		y[i] = (float)sum;
	}
}

static void times_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			   const struct rt_shape *shapes, int threads, void *arg)
{
	int64_t m = shapes[0].d[0], n = shapes[0].d[1];

	for (int64_t i = 0; dx[0] && i < m * n; i++)
		dx[0][i] = dy[i / n] * in[1][i % n];
	for (int64_t j = 0; dx[1] && j < n; j++) {
		double sum = 0;

		for (int64_t i = 0; i < m; i++)
			sum += (double)dy[i] * (double)in[0][i * n + j];
		dx[1][j] = (float)sum;
	}
}

static void times_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	for (int64_t i = 0; i < shapes[0].d[0]; i++) {
		y[i] = 0;
		for (int64_t j = 0; j < shapes[0].d[1]; j++)
			y[i] += in[0][i * shapes[0].d[1] + j] * in[1][j];
	}
}

static int same_shape(const struct rt_shape *shapes, struct rt_shape *ret, void *arg, struct gt_err *err)
{
	for (int i = 1; i < 3; i++)
		if (shapes[i].n != shapes[0].n || rt_shape_elements(&shapes[i]) != rt_shape_elements(&shapes[0]))
			return gt_fail(err, EINVAL, "fma wants three of one shape");
	*ret = shapes[0];
	return 0;
}

static void fma_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] * in[1][i] + in[2][i];
}

static void fma_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			 const struct rt_shape *shapes, int threads, void *arg)
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

static void fma_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++)
		y[i] = in[0][i] * in[1][i] + in[2][i];
}

/* ---- on the device ---- */
#define PARTS 8 /* parts of a sum over rows */
enum { K_BUMP, K_BUMP_BACK, K_TIMES, K_TIMES_BACK_A, K_TIMES_BACK_B, K_FOLD, K_FMA, K_FMA_BACK };

static unsigned blocks_for(const struct rt_user_run *run, int64_t n)
{
	return (unsigned)GT_MAX(1, GT_MIN((n + 127) / 128, (int64_t)run->multiprocessors * 8));
}

/* One thread per element, or less. */
static int each(const struct rt_user_run *run, int kernel, int64_t n, void **args, struct gt_err *err)
{
	return rt_user_launch(run, kernel, (unsigned[]){ blocks_for(run, n), 1, 1 }, (unsigned[]){ 128, 1, 1 }, 0, args, err);
}

static int bump_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], y = run->y;

	return each(run, K_BUMP, n, (void *[]){ &n, run->arg, &x, &y }, err);
}

static int bump_back_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], dy = run->dy, dx = run->dx[0];

	return dx ? each(run, K_BUMP_BACK, n, (void *[]){ &n, run->arg, &x, &dy, &dx }, err) : 0;
}

static int times_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = run->shapes[0].d[1];
	uint64_t a = run->in[0], b = run->in[1], y = run->y;

	return rt_user_launch(run, K_TIMES, (unsigned[]){ (unsigned)run->shapes[0].d[0], 1, 1 }, (unsigned[]){ 64, 1, 1 },
			      64 * sizeof(float), (void *[]){ &n, &a, &b, &y }, err);
}

static size_t times_scratch(const struct rt_shape *shapes, bool backward, void *arg)
{
	return backward ? PARTS * (size_t)shapes[0].d[1] * sizeof(float) : 0;
}

static int times_back_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t m = run->shapes[0].d[0], n = run->shapes[0].d[1], parts = PARTS;
	uint64_t a = run->in[0], b = run->in[1], dy = run->dy, da = run->dx[0], db = run->dx[1], part = run->scratch;
	unsigned columns = (unsigned)((n + 31) / 32);
	int r = 0;

	if (da)
		r = each(run, K_TIMES_BACK_A, m * n, (void *[]){ &m, &n, &b, &dy, &da }, err);
	if (!r && db)
		r = rt_user_launch(run, K_TIMES_BACK_B, (unsigned[]){ columns, PARTS, 1 }, (unsigned[]){ 32, 1, 1 }, 0,
				   (void *[]){ &m, &n, &a, &dy, &part }, err);
	if (!r && db)
		r = rt_user_launch(run, K_FOLD, (unsigned[]){ columns, 1, 1 }, (unsigned[]){ 32, 1, 1 }, 0,
				   (void *[]){ &parts, &n, &part, &db }, err);
	return r;
}

static int fma_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t a = run->in[0], b = run->in[1], c = run->in[2], y = run->y;

	return each(run, K_FMA, n, (void *[]){ &n, &a, &b, &c, &y }, err);
}

static int fma_back_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t dy = run->dy, other[3] = { run->in[1], run->in[0], 0 };
	int r = 0;

	for (int i = 0; !r && i < 3; i++) {
		uint64_t dx = run->dx[i];

		if (dx)
			r = each(run, K_FMA_BACK, n, (void *[]){ &n, &dy, &other[i], &dx }, err);
	}
	return r;
}

#ifdef USER_FATBIN
__asm__(".section .rodata, \"a\"\n.balign 64\ngen_user_image:\n.incbin \"" USER_FATBIN "\"\n.byte 0\n.previous\n");
extern const unsigned char gen_user_image[];
#else
#define gen_user_image NULL /* never opened, because no such device exists */
#endif
static const char *const kernels[] = { "user_bump", "user_bump_back", "user_times", "user_times_back_a", "user_times_back_b",
				       "user_fold", "user_fma", "user_fma_back", NULL };
static const struct rt_user_cuda on_cuda[GEN_USER_OPS] = {
	[GEN_BUMP] = { gen_user_image, kernels, NULL, bump_cuda, bump_back_cuda },
	[GEN_TIMES] = { gen_user_image, kernels, times_scratch, times_cuda, times_back_cuda },
	[GEN_FMA] = { gen_user_image, kernels, NULL, fma_cuda, fma_back_cuda },
};

const struct rt_user_op gen_user_ops[GEN_USER_OPS] = {
	[GEN_BUMP] = { "bump", 1, NULL, bump_forward, bump_backward, bump_reference, &on_cuda[GEN_BUMP] },
	[GEN_TIMES] = { "times", 2, times_shape, times_forward, times_backward, times_reference, &on_cuda[GEN_TIMES] },
	[GEN_FMA] = { "fma", 3, same_shape, fma_forward, fma_backward, fma_reference, &on_cuda[GEN_FMA] },
};

void gen_user_gradient(const struct rt_user_op *op, const double *const *in, const double *dy, double *const *dx,
		       const struct rt_shape *shapes, void *arg)
{
	int64_t n = rt_shape_elements(&shapes[0]), cols = shapes[0].d[shapes[0].n - 1];

	for (int64_t i = 0; i < n; i++) {
		if (op == &gen_user_ops[GEN_BUMP]) {
			double q = (double)*(const float *)arg * in[0][i] * in[0][i];

			dx[0][i] += dy[i] * (1 - q) / ((1 + q) * (1 + q));
		} else if (op == &gen_user_ops[GEN_TIMES]) {
			dx[0][i] += dy[i / cols] * in[1][i % cols];
			dx[1][i % cols] += dy[i / cols] * in[0][i];
		} else {
			dx[0][i] += dy[i] * in[1][i];
			dx[1][i] += dy[i] * in[0][i];
			dx[2][i] += dy[i];
		}
	}
}
