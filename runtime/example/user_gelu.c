/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with its own op: gelu (tanh form) in one pass over memory, and its gradient in another. For comparison, the same
 * function is built from seven small ops. Both are trained in the same way and must agree. The fused op should be several times
 * faster, because it reads and writes a tensor once instead of seven times.
 *
 * Usage: user_gelu [ELEMENTS [IMAGE]]
 * IMAGE: compiled user_gelu.cu (nvcc -fatbin -arch=all-major user_gelu.cu); both are then trained on the GPU.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "runtime/runtime.h"

#define K	0.7978845608028654f /* sqrt(2/pi) */
#define C	0.044715f
#define STEPS	21

/* Argument of the op: y = x / (1 + exp(-slope x (1 + cubic x x))). */
struct curve {
	float slope, cubic;
};
static struct curve tanh_form = { 2 * K, C }; /* { 1.702f, 0 } is the gelu of CLIP */

static void gelu_forward(const float *const *in, float *y, const struct rt_shape *shapes, int threads, void *arg)
{
	const struct curve c = *(const struct curve *)arg;
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++) {
		float x = in[0][i];

		y[i] = x / (1 + expf(-c.slope * x * (1 + c.cubic * x * x)));
	}
}

static void gelu_backward(const float *const *in, const float *y, const float *dy, float *const *dx,
			  const struct rt_shape *shapes, int threads, void *arg)
{
	const struct curve c = *(const struct curve *)arg;
	int64_t n = rt_shape_elements(&shapes[0]);

#pragma omp parallel for simd schedule(static) num_threads(threads)
	for (int64_t i = 0; i < n; i++) {
		float x = in[0][i], s = 1 / (1 + expf(-c.slope * x * (1 + c.cubic * x * x)));

		dx[0][i] = dy[i] * (s + x * s * (1 - s) * c.slope * (1 + 3 * c.cubic * x * x));
	}
}

static void gelu_reference(const double *const *in, double *y, const struct rt_shape *shapes, void *arg)
{
	const struct curve *c = arg;

	for (int64_t i = 0, n = rt_shape_elements(&shapes[0]); i < n; i++) {
		double x = in[0][i];

		y[i] = x / (1 + exp(-(double)c->slope * x * (1 + (double)c->cubic * x * x)));
	}
}

/* ---- on the GPU ---- */
static const char *const kernels[] = { "my_gelu", "my_gelu_backward", NULL };

static int launch(const struct rt_user_run *run, int kernel, int64_t n, void **args, struct gt_err *err)
{
	unsigned blocks = (unsigned)((n + 255) / 256), most = (unsigned)run->multiprocessors * 8;

	return rt_user_launch(run, kernel, (unsigned[]){ blocks < most ? blocks : most, 1, 1 }, (unsigned[]){ 256, 1, 1 }, 0, args,
			      err);
}

static int gelu_forward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], y = run->y;

	return launch(run, 0, n, (void *[]){ &n, run->arg, &x, &y }, err);
}

static int gelu_backward_cuda(const struct rt_user_run *run, struct gt_err *err)
{
	int64_t n = rt_shape_elements(&run->shapes[0]);
	uint64_t x = run->in[0], dy = run->dy, dx = run->dx[0];

	return launch(run, 1, n, (void *[]){ &n, run->arg, &x, &dy, &dx }, err);
}

static struct rt_user_cuda gelu_cuda = { /* main() loads the image */
	.kernels = kernels,
	.forward = gelu_forward_cuda,
	.backward = gelu_backward_cuda,
};

/* The op: the library needs no other description. */
static const struct rt_user_op gelu = {
	.name = "my_gelu",
	.inputs = 1,
	.forward = gelu_forward,
	.backward = gelu_backward,
	.reference = gelu_reference,
	.cuda = &gelu_cuda,
};

/* 0.5 x (1 + tanh(K x (1 + C x x))) */
static struct rt_node *small_ops(struct rt_graph *g, struct rt_node *x)
{
	struct rt_node *inner = rt_mul(g, rt_affine(g, x, K, 0), rt_affine(g, rt_mul(g, x, x), C, 1));

	return rt_mul(g, rt_affine(g, x, 0.5f, 0), rt_affine(g, rt_tanh(g, inner), 1, 1));
}

/* Reads the whole file. Returns NULL on failure. */
static char *read_image(const char *path)
{
	FILE *f = fopen(path, "rb");
	long n = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
	char *image = n > 0 && !fseek(f, 0, SEEK_SET) ? calloc((size_t)n + 1, 1) : NULL; /* PTX is text and needs a final NUL */

	if (image && fread(image, 1, (size_t)n, f) != (size_t)n) {
		free(image);
		image = NULL;
	}
	if (f)
		fclose(f);
	return image;
}

struct result {
	double loss, median_s, bytes; /* bytes: lower bound of the bytes that the calls of a step read and write */
	float *dx;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int measure(bool fused, enum rt_device device, int64_t n, struct result *ret, struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree float *weights = calloc((size_t)n, sizeof(float));
	struct rt_node *x = rt_param(g, "x", RT_SHAPE(n), RT_INIT_NORMAL(1.5f));
	struct rt_node *y = fused ? rt_user(g, &gelu, &x, &tanh_form) : small_ops(g, x);
	struct rt_node *loss = rt_dot(g, y, rt_input(g, "weights", RT_F32, RT_SHAPE(n)));
	struct rt_options opt = { .device = device, .debug.keep_gradients = true, .seed = 1 };
	json_t *report;
	double step_s[STEPS];
	int r = weights ? rt_compile(g, loss, &opt, &p, err) : rt_fail(err, ENOMEM, "out of memory");

	for (int64_t i = 0; !r && i < n; i++)
		weights[i] = rt_random_normal(2, 0, (uint64_t)i);
	for (int s = 0; !r && s < STEPS; s++) {
		struct rt_metrics m;
		double t0 = now_s();

		r = rt_step(p, (const void *[]){ weights }, &m, err);
		r = r ? r : rt_wait(p, err);
		step_s[s] = now_s() - t0;
		ret->loss = m.loss;
	}
	if (r)
		return r;
	qsort(step_s, STEPS, sizeof(*step_s), by_value);
	ret->median_s = step_s[STEPS / 2];
	report = rt_program_report(p);
	ret->bytes = json_number_value(json_object_get(report, "bytes_per_step"));
	json_decref(report);
	ret->dx = calloc((size_t)n, sizeof(float));
	if (!ret->dx)
		return rt_fail(err, ENOMEM, "out of memory");
	return rt_read_gradient(p, x, ret->dx, err);
}

int main(int argc, char **argv)
{
	int64_t n = argc > 1 ? strtoll(argv[1], NULL, 10) : 1 << 20;
	struct result fused = { 0 }, small = { 0 };
	enum rt_device device = argc > 2 ? RT_CUDA : RT_CPU;
	gt_autofree char *image = NULL;
	struct gt_err err = { 0 };
	double worst = 0;

	if (n < 1 || n > INT64_C(1) << 30 || argc > 3) {
		fprintf(stderr, "usage: user_gelu [ELEMENTS, 1 to 2^30 [IMAGE, of user_gelu.cu]]\n");
		return 64;
	}
	if (device == RT_CUDA) {
		image = read_image(argv[2]);
		if (!image) {
			fprintf(stderr, "user_gelu: %s cannot be read\n", argv[2]);
			return 1;
		}
	}
	gelu_cuda.image = image;
	if (measure(true, device, n, &fused, &err) || measure(false, device, n, &small, &err)) {
		fprintf(stderr, "user_gelu: %s\n", err.msg);
		return 1;
	}
	for (int64_t i = 0; i < n; i++)
		worst = fmax(worst, fabs((double)fused.dx[i] - (double)small.dx[i]));
	printf("%lld elements: my_gelu %.3f ms per step, small ops %.3f ms, %.1f times as long; gradients apart by %.2g\n",
	       (long long)n, fused.median_s * 1e3, small.median_s * 1e3, small.median_s / fused.median_s, worst);
	printf("of each element my_gelu moves %.1f bytes, small ops %.1f\n", fused.bytes / (double)n, small.bytes / (double)n);
	free(fused.dx);
	free(small.dx);
	if (worst > 3e-5 || fabs(fused.loss - small.loss) > 1e-5 * (double)n) {
		fprintf(stderr, "user_gelu: the two disagree: losses %.9g and %.9g\n", fused.loss, small.loss);
		return 1;
	}
	return 0;
}
