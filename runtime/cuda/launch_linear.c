/* SPDX-License-Identifier: Apache-2.0 */
/* Products of linear layers with cuBLASLt epilogues: biases, activations and their gradients. */
#include <errno.h>
#include "runtime/cuda/launch.h"

#define TIMED_RUNS	3

bool rt_launch_gemm(struct rt_engine *e, const struct rt_gemm *g, const struct rt_gemm_args *a)
{
	struct rt_gemm with = *g;
	struct gt_err err = { 0 };
	int r;

	if (e->r)
		return true;
	with.tf32 = e->tf32;
	r = rt_blas_gemm(e->blas, &with, a, e->stream, rt_engine_times_products(e), &err);
	if (r == -ENOTSUP && g->epilogue != RT_EPI_NONE)
		return false;
	rt_launch_result(e, r, &err);
	return true;
}

/* Computes the product without its epilogue into c. */
static void product_only(struct rt_engine *e, const struct rt_gemm *g, const struct rt_gemm_args *a, cu_ptr c)
{
	struct rt_gemm plain = *g;
	struct rt_gemm_args with = *a;

	plain.epilogue = RT_EPI_NONE;
	plain.bias = plain.aux = false;
	with.c = c;
	with.bias = with.aux = 0;
	rt_launch_gemm(e, &plain, &with);
}

/* Does the same in two launches: the product and a kernel for the epilogue. */
typedef void separate_fn(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a);

/* ret_ms: time of a few runs after a warm-up run. separate NULL: the product and its epilogue in one launch. */
static int time_variant(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a,
			separate_fn *separate, const cu_event event[2], float *ret_ms, struct gt_err *err)
{
	const struct rt_driver *d = &e->dev->d;
	int r = 0;

	for (int i = 0; !r && i <= TIMED_RUNS; i++) {
		if (i == 1)
			r = rt_engine_check(e, d->event_record(event[0], e->stream), "cuEventRecord", err);
		if (separate)
			separate(e, c, g, a);
		else
			rt_launch_gemm(e, g, a);
	}
	if (!r)
		r = rt_engine_check(e, d->event_record(event[1], e->stream), "cuEventRecord", err);
	if (!r)
		r = rt_engine_check(e, d->event_sync(event[1]), "cuEventSynchronize", err);
	return r ? r : rt_engine_check(e, d->event_elapsed(ret_ms, event[0], event[1]), "cuEventElapsedTime", err);
}

/*
 * Compares the product with its epilogue (fastest algorithm) with two separate launches. Some epilogues of the library
 * are slow.
 */
static void compare_variants(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a,
			     separate_fn *separate)
{
	const struct rt_driver *d = &e->dev->d;
	cu_event event[2] = { NULL, NULL };
	struct gt_err err = { 0 };
	float one = 0, two = 0;
	int r = 0;

	for (int i = 0; !r && i < 2; i++)
		r = rt_engine_check(e, d->event_create(&event[i], CU_EVENT_DEFAULT), "cuEventCreate", &err);
	if (!r)
		r = time_variant(e, c, g, a, separate, event, &two, &err);
	if (!r)
		r = time_variant(e, c, g, a, NULL, event, &one, &err);
	for (int i = 0; i < 2; i++)
		if (event[i])
			d->event_destroy(event[i]);
	if (!r && two < one) {
		struct rt_gemm key = *g;

		key.tf32 = e->tf32;
		rt_blas_give_up(e->blas, &key, a);
		separate(e, c, g, a);
	}
	rt_launch_result(e, r, &err);
}

/*
 * Runs the product and its epilogue in one launch if the library supports that and it was faster. Otherwise uses two
 * launches.
 */
static void product_with_epilogue(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g,
				  const struct rt_gemm_args *a, separate_fn *separate)
{
	if (g->epilogue == RT_EPI_NONE || !rt_launch_gemm(e, g, a))
		separate(e, c, g, a);
	else if (!e->r && rt_engine_times_products(e) && rt_blas_newly_timed(e->blas))
		compare_variants(e, c, g, a, separate);
}

void rt_column_sums(struct rt_engine *e, cu_ptr out, cu_ptr x, const struct rt_node *type, int64_t ld, int64_t rows,
			int64_t cols64, bool add64, cu_ptr part)
{
	int w = cols64 % width(type) || ld % width(type) ? 1 : width(type), cols = (int)cols64, add = add64;
	int parts = (int)GT_MAX(1, GT_MIN(RT_COLUMN_PARTS, rows / 32)), stride = cols;
	unsigned gx = (unsigned)((cols + 32 * w - 1) / (32 * w));

	e->moves += (double)(rows * cols64) * (double)rt_dtype_bytes(type->dtype) + 4.0 * parts * cols;
	RT_LAUNCH(e, typed(RT_K_column_sums, type), gx, parts, 32, 8, 0, &part, &x, &ld, &rows, &cols, &w);
	RT_LAUNCH(e, RT_K_fold, (cols + 31) / 32, 1, 32, 8, 0, &out, &part, &parts, &stride, &cols, &add);
}

void rt_bias_act(struct rt_engine *e, const struct rt_node *type, int64_t rows, int64_t cols, int kind, cu_ptr x,
		     cu_ptr bias, cu_ptr pre, cu_ptr y)
{
	int64_t n = rows * cols;

	RT_LAUNCH(e, typed(RT_K_bias_act, type), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &cols, &kind, &x, &bias, &pre, &y);
}

static void linear_separate(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a)
{
	cu_ptr y = rt_at(c->out[0]), pre = rt_at(c->out[1]), bias = rt_at(c->in[2]);
	cu_ptr to = pre ? pre : y;

	product_only(e, g, a, to);
	if (bias || c->attr.act != RT_ACT_NONE)
		rt_bias_act(e, c->out[0], g->m, g->n, (int)c->attr.act, to, bias, pre, y);
}

/* y (M,N) = act(x (M,K) w (N,K)^T + b (N)); pre (M,N) */
static void run_linear(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0], *y = c->out[0];
	int64_t m = rt_rows(x), k = rt_cols(x), n = rt_cols(y);
	struct rt_gemm g = { .tb = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .ab = x->dtype, .c = y->dtype };
	struct rt_gemm_args a = { .a = rt_at(x), .b = rt_at(c->in[1]), .c = rt_at(y), .bias = rt_at(c->in[2]),
				  .aux = rt_at(c->out[1]), .a_scale = rt_fp8_inverse(e, x),
				  .b_scale = rt_fp8_inverse(e, c->in[1]) };

	g.bias = a.bias != 0;
	g.aux = a.aux != 0;
	g.fast = a.a_scale != 0;
	/* The library's gelu (tanh form) is an approximation whose error is visible in f32. It requires rows that are
	 * multiples of 16 bytes. */
	if (c->attr.act == RT_ACT_NONE && a.bias)
		g.epilogue = RT_EPI_BIAS;
	else if (c->attr.act == RT_ACT_RELU)
		g.epilogue = RT_EPI_RELU;
	else if (c->attr.act == RT_ACT_GELU && narrow(y) && n % 8 == 0)
		g.epilogue = RT_EPI_GELU;
	product_with_epilogue(e, c, &g, &a, linear_separate);
}

const struct rt_cuda_kernel rt_cuda_linear = { .run = run_linear };

static void bwd_x_separate(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a)
{
	int64_t n = g->m * g->n;
	int kind = (int)c->attr.act, add = 0;
	cu_ptr dx = a->c, seen = rt_at(c->in[2]);

	product_only(e, g, a, dx);
	if (kind != RT_ACT_NONE)
		RT_LAUNCH(e, typed(RT_K_act_bwd, c->out[0]), grid(e, n / 4), 1, RT_THREADS, 1, 0, &n, &kind, &dx, &seen, &dx,
			  &add);
}

/* dx (M,K) = or += dy (M,N) w (N,K), optionally times gelu'(in[2]). With 8 bits w is transposed. */
static void run_linear_bwd_x(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dy = c->in[0], *w = c->in[1];
	int64_t m = rt_rows(dy), n = rt_cols(dy), k = rt_cols(w);
	struct rt_gemm g = { .m = m, .n = k, .k = n, .lda = n, .ldb = k, .ldc = k, .ab = dy->dtype, .c = c->out[0]->dtype,
			     .beta = accumulates(c, 0) };

	if (rt_fp8_inverse(e, dy)) {
		g.tb = true;
		g.ldb = n;
		g.b = w->dtype;
	}
	/* the library requires rows of the auxiliary matrix that are multiples of 16 bytes */
	if (c->attr.act == RT_ACT_GELU && k % 8 == 0)
		g.epilogue = RT_EPI_DGELU;
	g.aux = g.epilogue == RT_EPI_DGELU;
	product_with_epilogue(e, c, &g, &(struct rt_gemm_args){ .a = rt_at(dy), .b = rt_at(w), .c = rt_at(c->out[0]),
						       .aux = g.aux ? rt_at(c->in[2]) : 0, .a_scale = rt_fp8_inverse(e, dy),
						       .b_scale = rt_fp8_inverse(e, w) },
			      bwd_x_separate);
}

const struct rt_cuda_kernel rt_cuda_linear_bwd_x = { .run = run_linear_bwd_x };

static void bwd_w_separate(struct rt_engine *e, const struct rt_call *c, const struct rt_gemm *g, const struct rt_gemm_args *a)
{
	if (a->c)
		product_only(e, g, a, a->c);
	if (a->bias)
		rt_column_sums(e, a->bias, a->a, c->in[0], g->m, g->k, g->m, accumulates(c, 1), scratch(c));
}

static size_t linear_bwd_w_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return c->out[1] ? (size_t)rt_cols(c->in[0]) * RT_COLUMN_PARTS * 4 : 0;
}

/* dw (N,K) = or += dy (M,N)^T x (M,K); db (N) = or += column sums of dy. With 8 bits dy and x are transposed, and in[2]
 * is dy before the cast. */
static void run_linear_bwd_w(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dy = c->in[0], *x = c->in[1];
	int64_t m = rt_rows(dy), n = rt_cols(dy), k = rt_cols(x);
	struct rt_gemm g = { .ta = true, .m = n, .n = k, .k = m, .lda = n, .ldb = k, .ldc = k, .ab = dy->dtype,
			     .c = c->out[0] ? c->out[0]->dtype : RT_F32, .beta = accumulates(c, 0) };
	struct rt_gemm_args a = { .a = rt_at(dy), .b = rt_at(x), .c = rt_at(c->out[0]), .bias = rt_at(c->out[1]),
				  .a_scale = rt_fp8_inverse(e, dy), .b_scale = rt_fp8_inverse(e, x) };

	if (a.a_scale) {
		g.ta = false;
		g.tb = true;
		g.lda = g.ldb = m;
		g.b = x->dtype;
		if (a.bias)
			rt_column_sums(e, a.bias, rt_at(c->in[2]), c->in[2], n, m, n, accumulates(c, 1), scratch(c));
		a.bias = 0;
	}
	if (a.c && a.bias && !accumulates(c, 1))
		g.epilogue = RT_EPI_BGRAD;
	product_with_epilogue(e, c, &g, &a, bwd_w_separate);
}

const struct rt_cuda_kernel rt_cuda_linear_bwd_w = { .run = run_linear_bwd_w, .scratch = linear_bwd_w_scratch };
