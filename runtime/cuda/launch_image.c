/* SPDX-License-Identifier: Apache-2.0 */
/* Launchers of image ops. Convolutions use cuDNN, the other ops use kernel/batchnorm.cuh and kernel/image.cuh. */
#include <errno.h>
#include "runtime/cuda/launch.h"
#include "runtime/graph/conv.h"

/* ---- convolutions ---- */
/* w is NULL if only the gradient of the bias is computed. */
static struct rt_dnn_conv conv_of(const struct rt_engine *e, const struct rt_call *c, const struct rt_node **ret_x,
				  const struct rt_node **ret_w, const struct rt_node **ret_y)
{
	static const enum rt_dnn_pass passes[] = { [RT_CONV_FWD] = RT_DNN_FORWARD, [RT_CONV_BWD_X] = RT_DNN_DATA,
						[RT_CONV_BWD_W] = RT_DNN_FILTER };
	struct rt_dnn_conv k = { .pass = passes[rt_conv_roles(c, ret_x, ret_w, ret_y)], .stride = c->attr.stride,
				 .pad = c->attr.pad, .groups = c->attr.groups };
	const struct rt_node *x = *ret_x, *w = *ret_w, *y = *ret_y;

	k.n = x->shape.d[0], k.h = x->shape.d[1], k.w = x->shape.d[2], k.c = x->shape.d[3];
	k.oh = y->shape.d[1], k.ow = y->shape.d[2], k.o = y->shape.d[3];
	if (w)
		k.kh = w->shape.d[2], k.kw = w->shape.d[3];
	k.type = x->dtype;
	k.tf32 = x->dtype == RT_F32 && e->tf32;
	return k;
}

/* Returns whether the weights have another layout or type than cuDNN's. They are then converted into memory before the
 * workspace. */
static bool turns(const struct rt_dnn_conv *k, const struct rt_node *w)
{
	return k->kh * k->kw > 1 || w->dtype != k->type;
}

static size_t turned_bytes(const struct rt_dnn_conv *k, const struct rt_node *w)
{
	return turns(k, w) ? rt_engine_aligned((uint64_t)rt_shape_elements(&w->shape) * rt_dtype_bytes(k->type)) : 0;
}

static int open_dnn(struct rt_engine *e, struct gt_err *err)
{
	return e->dnn ? 0 : rt_dnn_open(e->dev, !rt_engine_chooses(e), &e->dnn, err);
}

static size_t conv_scratch(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x, *w, *y;
	struct rt_dnn_conv k = conv_of(e, c, &x, &w, &y);
	struct rt_dnn_info info = { 0 };
	struct gt_err err = { 0 };
	size_t sums = 0;
	int r;

	if (k.pass == RT_DNN_FILTER && c->out[1])
		sums = (size_t)rt_cols(c->in[0]) * RT_COLUMN_PARTS * 4;
	if (!w || e->r)
		return sums;
	r = open_dnn(e, &err);
	if (!r)
		r = rt_dnn_plan(e->dnn, &k, &info, &err);
	rt_launch_result(e, r, &err);
	return GT_MAX(sums, turned_bytes(&k, w) + info.workspace);
}

static void filter(struct rt_engine *e, int kernel, cu_ptr to, cu_ptr from, const struct rt_node *w)
{
	int o = (int)w->shape.d[0], c = (int)w->shape.d[1], s = (int)(w->shape.d[2] * w->shape.d[3]);

	RT_LAUNCH(e, kernel, grid(e, (int64_t)o * c * s), 1, RT_THREADS, 1, 0, &to, &from, &o, &c, &s);
}

static void convolve(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x, *w, *y;
	struct rt_dnn_conv k = conv_of(e, c, &x, &w, &y);
	struct rt_dnn_args a = { .x = rt_at(x), .w = rt_at(w), .y = rt_at(y) };
	struct gt_err err = { 0 };

	if (!w || e->r)
		return;
	a.workspace = scratch(c) + turned_bytes(&k, w);
	if (turns(&k, w))
		a.w = scratch(c);
	if (turns(&k, w) && k.pass != RT_DNN_FILTER)
		filter(e, typed(RT_K_filter_in, x), a.w, rt_at(w), w);
	if (!e->r)
		rt_launch_result(e, rt_dnn_run(e->dnn, &k, &a, e->stream, rt_engine_times_products(e), &err), &err);
	if (turns(&k, w) && k.pass == RT_DNN_FILTER)
		filter(e, typed(RT_K_filter_out, x), rt_at(w), a.w, w);
}

static const char *relu_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	return c->attr.act != RT_ACT_NONE && c->attr.act != RT_ACT_RELU ? "the device can fuse only relu" : NULL;
}

/* in: x, w, b or NULL. out: y */
static void run_conv(struct rt_engine *e, const struct rt_call *c)
{
	cu_ptr y = rt_at(c->out[0]);

	convolve(e, c);
	if (c->in[2] || c->attr.act != RT_ACT_NONE)
		rt_bias_act(e, c->out[0], rt_rows(c->out[0]), rt_cols(c->out[0]), (int)c->attr.act, y, rt_at(c->in[2]), 0, y);
}

const struct rt_cuda_kernel rt_cuda_conv = { .run = run_conv, .scratch = conv_scratch, .refuses = relu_refuses };

static void run_conv_bwd_x(struct rt_engine *e, const struct rt_call *c)
{
	convolve(e, c);
}

const struct rt_cuda_kernel rt_cuda_conv_bwd_x = { .run = run_conv_bwd_x, .scratch = conv_scratch };

/* in: dy, x. out: dw, db */
static void run_conv_bwd_w(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dy = c->in[0];

	convolve(e, c);
	if (c->out[1])
		rt_column_sums(e, rt_at(c->out[1]), rt_at(dy), dy, rt_cols(dy), rt_rows(dy), rt_cols(dy), accumulates(c, 1),
			       scratch(c));
}

const struct rt_cuda_kernel rt_cuda_conv_bwd_w = { .run = run_conv_bwd_w, .scratch = conv_scratch };

/* ---- batchnorm ---- */
#define CHANNEL_PARTS	512 /* limit for the parts of the rows */

struct channels { /* kernel/batchnorm.cuh */
	int w, cols, gx, parts;
	int64_t rows;
};

static struct channels channels_of(const struct rt_engine *e, const struct rt_node *x)
{
	struct channels n = { .cols = (int)rt_cols(x), .rows = rt_rows(x), .w = width(x) };
	int groups, lanes;

	if (n.cols % n.w)
		n.w = 1;
	groups = n.cols / n.w;
	lanes = GT_MIN(groups, RT_THREADS);
	n.gx = (groups + lanes - 1) / lanes;
	/* eight blocks per multiprocessor, but several rows per thread */
	n.parts = (int)GT_MIN((int64_t)GT_MAX(1, e->dev->sms * 8 / n.gx), n.rows / (4 * (RT_THREADS / lanes)) + 1);
	n.parts = GT_MIN(n.parts, CHANNEL_PARTS);
	return n;
}

/* Returns the size of the partial sums, two forward and three backward, and of three factors per channel. */
static size_t channels_bytes(const struct rt_engine *e, const struct rt_node *x, size_t sums)
{
	struct channels n = channels_of(e, x);

	return (sums * (size_t)n.parts + 3) * (size_t)n.cols * sizeof(float);
}

static size_t batchnorm_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return channels_bytes(e, c->in[0], 2);
}

/* in: x, gain, bias, running mean, running var, residual, shift. out: y, mean, rstd */
static void run_batchnorm(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0];
	struct channels n = channels_of(e, x);
	cu_ptr px = rt_at(x), y = rt_at(c->out[0]), mean = rt_at(c->out[1]), rstd = rt_at(c->out[2]), gain = rt_at(c->in[1]);
	cu_ptr bias = rt_at(c->in[2]), old_mean = rt_at(c->in[3]), old_var = rt_at(c->in[4]), residual = rt_at(c->in[5]);
	cu_ptr left_out = rt_at(c->in[6]), part = scratch(c), factor = part + 8 * (cu_ptr)n.parts * (cu_ptr)n.cols;
	int relu = c->attr.act == RT_ACT_RELU;
	float eps = c->attr.eps;

	if (e->eval) {
		RT_LAUNCH(e, RT_K_channel_running, (n.cols + 255) / 256, 1, 256, 1, 0, &factor, &old_mean, &old_var, &left_out,
			  &gain, &bias, &eps, &n.cols);
	} else {
		rt_moves(e, x, 1);
		RT_LAUNCH(e, typed(RT_K_channel_sums, x), n.gx, n.parts, RT_THREADS, 1, 0, &part, &px, &n.rows, &n.cols, &n.w);
		RT_LAUNCH(e, typed(RT_K_channel_stats, x), (n.cols + 31) / 32, 1, 32, 8, 0, &factor, &mean, &rstd, &part,
			  &n.parts, &px, &gain, &bias, &eps, &n.rows, &n.cols);
	}
	rt_moves(e, x, 1);
	rt_moves(e, c->out[0], 1);
	rt_moves(e, c->in[5], 1);
	RT_LAUNCH(e, typed(RT_K_channel_affine, x), n.gx, n.parts, RT_THREADS, 1, 0, &y, &px, &residual, &factor, &n.rows,
		  &n.cols, &relu, &n.w);
}

const struct rt_cuda_kernel rt_cuda_batchnorm = { .run = run_batchnorm, .scratch = batchnorm_scratch, .refuses = relu_refuses };

static size_t batchnorm_bwd_scratch(struct rt_engine *e, const struct rt_call *c)
{
	return c->in[1] ? channels_bytes(e, c->in[1], 3) : 0;
}

/* in: dy, x, gain, mean, rstd, y of a fused activation, shift. out: dx, dgain, dbias, dresidual, running mean, running var */
static void run_batchnorm_bwd(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[1];
	struct channels n = x ? channels_of(e, x) : (struct channels){ .cols = (int)rt_cols(c->in[3]), .rows = c->attr.rows };
	cu_ptr dy = rt_at(c->in[0]), px = rt_at(x), gain = rt_at(c->in[2]), mean = rt_at(c->in[3]), rstd = rt_at(c->in[4]);
	cu_ptr y = rt_at(c->in[5]), left_out = rt_at(c->in[6]), dx = rt_at(c->out[0]), dgain = rt_at(c->out[1]);
	cu_ptr dbias = rt_at(c->out[2]), dres = rt_at(c->out[3]), new_mean = rt_at(c->out[4]), new_var = rt_at(c->out[5]);
	cu_ptr part = scratch(c), factor = part + 12 * (cu_ptr)n.parts * (cu_ptr)n.cols, loss = e->step_loss;
	int add = accumulates(c, 1) | accumulates(c, 2) << 1;
	float share = c->attr.rate, eps = c->attr.eps;

	if (x) {
		rt_moves(e, x, 2);
		rt_moves(e, c->in[5], 1);
		RT_LAUNCH(e, typed(RT_K_channel_bwd_sums, x), n.gx, n.parts, RT_THREADS, 1, 0, &part, &dy, &y, &px, &mean, &n.rows,
			  &n.cols, &n.w);
		RT_LAUNCH(e, RT_K_channel_bwd_stats, (n.cols + 31) / 32, 1, 32, 8, 0, &factor, &dgain, &dbias, &part, &n.parts,
			  &gain, &rstd, &n.rows, &n.cols, &add);
	}
	RT_LAUNCH(e, RT_K_channel_move, (n.cols + 255) / 256, 1, 256, 1, 0, &new_mean, &new_var, &mean, &rstd, &left_out, &share,
		  &eps, &n.rows, &n.cols, &loss);
	add = accumulates(c, 0) | accumulates(c, 3) << 1;
	if (dx || dres) {
		rt_moves(e, x, dx ? 2 : 1); /* dy, and x if its gradient is computed */
		rt_moves(e, c->in[5], 1);
		rt_moves(e, c->out[0], 1 + (add & 1));
		rt_moves(e, c->out[3], 1 + (add >> 1));
		RT_LAUNCH(e, typed(RT_K_channel_bwd, x), n.gx, n.parts, RT_THREADS, 1, 0, &dx, &dres, &dy, &y, &px, &mean,
			  &factor, &n.rows, &n.cols, &add, &n.w);
	}
}

const struct rt_cuda_kernel rt_cuda_batchnorm_bwd = { .run = run_batchnorm_bwd, .scratch = batchnorm_bwd_scratch };

/* in: w (O,…), b or NULL, gain, beta, mean, var. out: w', b'. Folds a batchnorm into the preceding product. */
static void run_fold(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *to = c->out[0];
	int64_t n = rt_shape_elements(&to->shape);
	int outputs = (int)to->shape.d[0];
	cu_ptr w = rt_at(to), b = rt_at(c->out[1]), from = rt_at(c->in[0]), bias = rt_at(c->in[1]), gain = rt_at(c->in[2]);
	cu_ptr beta = rt_at(c->in[3]), mean = rt_at(c->in[4]), var = rt_at(c->in[5]);
	float eps = c->attr.eps;

	RT_LAUNCH(e, typed(RT_K_fold_norm, to), grid(e, n), 1, RT_THREADS, 1, 0, &w, &b, &from, &bias, &gain, &beta, &mean, &var,
		  &eps, &n, &outputs);
}

const struct rt_cuda_kernel rt_cuda_fold = { .run = run_fold };

/* ---- pooling ---- */
struct window { /* struct rt_window of kernel/image.cuh */
	int h, w, c, oh, ow, window, stride, pad;
};

static struct window window_of(const struct rt_node *x, const struct rt_node *y, const struct rt_attr *a)
{
	return (struct window){ (int)x->shape.d[1], (int)x->shape.d[2], (int)x->shape.d[3], (int)y->shape.d[1],
				(int)y->shape.d[2], a->window, a->stride, a->pad };
}

static unsigned pool_grid(const struct rt_engine *e, const struct rt_node *n)
{
	return grid(e, rt_shape_elements(&n->shape) / (rt_cols(n) % width(n) ? 1 : width(n)));
}

/* in: x. out: y, place */
static void run_max_pool(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0], *y = c->out[0];
	struct window s = window_of(x, y, &c->attr);
	cu_ptr px = rt_at(x), py = rt_at(y), where = rt_at(c->out[1]);
	int64_t images = x->shape.d[0];

	RT_LAUNCH(e, typed(RT_K_max_pool, x), pool_grid(e, y), 1, RT_THREADS, 1, 0, &py, &where, &px, &images, &s);
}

const struct rt_cuda_kernel rt_cuda_max_pool = { .run = run_max_pool };

static void run_avg_pool(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *x = c->in[0], *y = c->out[0];
	struct window s = window_of(x, y, &c->attr);
	cu_ptr px = rt_at(x), py = rt_at(y);
	int64_t images = x->shape.d[0];

	RT_LAUNCH(e, typed(RT_K_avg_pool, x), pool_grid(e, y), 1, RT_THREADS, 1, 0, &py, &px, &images, &s);
}

const struct rt_cuda_kernel rt_cuda_avg_pool = { .run = run_avg_pool };

/* in: dy, place or (averages) NULL. out: dx */
static void pool_bwd(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *dx = c->out[0], *dy = c->in[0];
	struct window s = window_of(dx, dy, &c->attr);
	cu_ptr px = rt_at(dx), py = rt_at(dy), where = rt_at(c->in[1]);
	int64_t images = dx->shape.d[0];
	int add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_pool_bwd, dx), pool_grid(e, dx), 1, RT_THREADS, 1, 0, &px, &py, &where, &images, &s, &add);
}

const struct rt_cuda_kernel rt_cuda_max_pool_bwd = { .run = pool_bwd }, rt_cuda_avg_pool_bwd = { .run = pool_bwd };

/* in: bytes. out: y */
static void run_pixels(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *y = c->out[0];
	int64_t n = rt_shape_elements(&y->shape);
	cu_ptr to = rt_at(y), from = rt_at(c->in[0]);
	float factor = c->attr.scale, offset = c->attr.offset;

	RT_LAUNCH(e, typed(RT_K_pixels, y), grid(e, n / width(y)), 1, RT_THREADS, 1, 0, &to, &from, &factor, &offset, &n);
}

const struct rt_cuda_kernel rt_cuda_pixels = { .run = run_pixels };

/* ---- columns, shapes ---- */
static void pad(struct rt_engine *e, const struct rt_call *c, int before)
{
	const struct rt_node *x = c->in[0], *y = c->out[0];
	cu_ptr px = rt_at(x), py = rt_at(y);
	int64_t rows = rt_rows(x);
	int from = (int)rt_cols(x), to = (int)rt_cols(y), add = accumulates(c, 0);

	RT_LAUNCH(e, typed(RT_K_pad, x), grid(e, rows * to), 1, RT_THREADS, 1, 0, &py, &px, &rows, &from, &to, &before, &add);
}

static void run_pad(struct rt_engine *e, const struct rt_call *c)
{
	pad(e, c, c->attr.window);
}

const struct rt_cuda_kernel rt_cuda_pad = { .run = run_pad };

static void run_pad_bwd(struct rt_engine *e, const struct rt_call *c)
{
	pad(e, c, -c->attr.window);
}

const struct rt_cuda_kernel rt_cuda_pad_bwd = { .run = run_pad_bwd };

static void run_reshape(struct rt_engine *e, const struct rt_call *c)
{
	struct gt_err err = { 0 };

	if (!e->r && rt_at(c->in[0]) != rt_at(c->out[0]))
		rt_launch_result(e,
				 rt_engine_check(e, e->dev->d.copy_async(rt_at(c->out[0]), rt_at(c->in[0]),
									 rt_node_bytes(c->in[0]), e->stream),
						 "cuMemcpyDtoDAsync", &err),
				 &err);
}

const struct rt_cuda_kernel rt_cuda_reshape = { .run = run_reshape };

/* out: y (N/parts,C) = block `part` of x (N,C) */
static void run_own_rows(struct rt_engine *e, const struct rt_call *c)
{
	uint64_t bytes = rt_node_bytes(c->out[0]);
	struct gt_err err = { 0 };

	if (!e->r)
		rt_launch_result(e,
				 rt_engine_check(e, e->dev->d.copy_async(rt_at(c->out[0]),
									 rt_at(c->in[0]) + (cu_ptr)c->attr.part * bytes, bytes,
									 e->stream),
						 "cuMemcpyDtoDAsync", &err),
				 &err);
}

const struct rt_cuda_kernel rt_cuda_own_rows = { .run = run_own_rows };
