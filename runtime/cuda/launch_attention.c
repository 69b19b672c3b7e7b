/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by this program's kernels (kernel/attention.cuh, attention_tensor.cuh) or, for bf16 and f16, by cuDNN's.
 * For each shape the faster one on this device is used. Both compute the same y and lse, so forward and backward pass
 * are chosen separately.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/cuda/dnn_api.h"
#include "runtime/cuda/launch.h"
#include "runtime/graph/attention.h"

#define GRID_Y_MAX     65535

/* ---- own kernels ---- */
struct attention_shape { /* kernel/attention.cuh */
	int len, heads, depth;
	float scale;
	int all_keys, kv_heads;
};

static int depth_index(int depth) /* index of the kernels for depths of 16, 64 and 128 */
{
	return depth <= 16 ? 0 : depth <= 64 ? 1 : 2;
}

static int padded_depth(int depth)
{
	return depth <= 16 ? 16 : depth <= 64 ? 64 : 128;
}

static struct attention_shape attention_shape(const struct rt_call *c, const struct rt_node *qkv)
{
	int depth = (int)rt_heads_of(&c->attr, rt_cols(qkv)).depth;

	return (struct attention_shape){ .len = (int)qkv->shape.d[1], .heads = c->attr.heads, .depth = depth,
					 .scale = 1 / sqrtf((float)depth), .all_keys = c->attr.all_keys,
					 .kv_heads = c->attr.kv_heads };
}

/* Tensor cores multiply bf16 and f16 with the same instruction, since sm_80. Rows must be multiples of 16 bytes. For
 * very few columns, padding to 64 does not pay. These kernels read keys and values of each head. */
static bool by_tensor(const struct rt_engine *e, const struct rt_node *qkv, const struct attention_shape *s)
{
	return narrow(qkv) && e->dev->arch >= 80 && s->depth % 8 == 0 && s->depth > 16 && s->kv_heads == s->heads;
}

static int tensor_kernel(int kernel, const struct rt_node *qkv, int depth)
{
	return kernel + 2 * (qkv->dtype == RT_F16) + (depth > 64);
}

/* kernel/attention_tensor.cuh: tiles of 16-bit elements; backward also two floats per streamed row */
static size_t tensor_shared(int depth, bool backward)
{
	size_t dp = (size_t)(depth <= 64 ? 64 : 128), streamed = backward && dp > 64 ? 32 : 64;

	return backward ? 2 * 64 * dp * 2 + 2 * (2 * streamed * dp * 2 + 8 * streamed) : (128 + 4 * streamed) * dp * 2;
}

static size_t attention_shared(int depth, bool backward)
{
	int dp = padded_depth(depth), tb = backward || dp > 64 ? 32 : 64;

	return (size_t)((backward ? 4 : 2) * tb * (dp + 1) + (backward ? 2 : 1) * tb * (tb + 1)) * 4;
}

static int attention_tiles(int len, int depth, bool backward)
{
	int tb = backward || padded_depth(depth) > 64 ? 32 : 64;

	return (len + tb - 1) / tb;
}

static void own_forward(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *qkv = c->in[0];
	struct attention_shape s = attention_shape(c, qkv);
	int64_t batch = qkv->shape.d[0], row_bytes = s.len * (int64_t)rt_dtype_bytes(qkv->dtype);

	for (int64_t b = 0, most = GRID_Y_MAX / s.heads; b < batch; b += most) {
		cu_ptr y = rt_at(c->out[0]) + (cu_ptr)(b * row_bytes * s.heads * s.depth);
		cu_ptr x = rt_at(qkv) + (cu_ptr)(b * row_bytes * rt_cols(qkv));
		cu_ptr lse = c->out[1] ? rt_at(c->out[1]) + (cu_ptr)(b * s.heads * s.len * 4) : 0;

		if (by_tensor(e, qkv, &s))
			RT_LAUNCH(e, tensor_kernel(RT_K_attention_tensor, qkv, s.depth), (s.len + 127) / 128,
				  GT_MIN(most, batch - b) * s.heads, 256, 1, tensor_shared(s.depth, false), &y, &lse, &x, &s);
		else
			RT_LAUNCH(e, typed(RT_K_attention + 3 * depth_index(s.depth), qkv),
				  attention_tiles(s.len, s.depth, false), GT_MIN(most, batch - b) * s.heads, 256, 1,
				  attention_shared(s.depth, false), &y, &lse, &x, &s);
	}
}

static void own_backward(struct rt_engine *e, const struct rt_call *c)
{
	const struct rt_node *qkv = c->in[1];
	struct attention_shape s = attention_shape(c, qkv);
	int64_t batch = qkv->shape.d[0], all_rows = rt_rows(qkv);
	int64_t row_bytes = s.len * (int64_t)rt_dtype_bytes(qkv->dtype);
	cu_ptr all_delta = scratch(c), all_dy = rt_at(c->in[0]), all_y = rt_at(c->in[2]);
	int w = s.depth % width(qkv) ? 1 : width(qkv), lanes = 32;

	while (lanes > 1 && lanes / 2 * w >= s.depth)
		lanes /= 2;
	rt_moves(e, c->in[0], 1);
	rt_moves(e, c->in[2], 1);
	RT_LAUNCH(e, typed(RT_K_attention_delta, qkv), (all_rows * s.heads * lanes + 127) / 128, 1, 128, 1, 0, &all_delta, &all_dy,
		  &all_y, &all_rows, &s, &lanes);
	for (int64_t b = 0, most = GRID_Y_MAX / s.heads; b < batch; b += most) {
		cu_ptr dy = all_dy + (cu_ptr)(b * row_bytes * s.heads * s.depth);
		cu_ptr x = rt_at(qkv) + (cu_ptr)(b * row_bytes * rt_cols(qkv));
		cu_ptr dx = rt_at(c->out[0]) + (cu_ptr)(b * row_bytes * rt_cols(qkv));
		cu_ptr lse = rt_at(c->in[3]) + (cu_ptr)(b * s.heads * s.len * 4);
		cu_ptr delta = all_delta + (cu_ptr)(b * s.heads * s.len * 4);
		int64_t rows = GT_MIN(most, batch - b);
		bool tensor = by_tensor(e, qkv, &s);
		int tiles = tensor ? (s.len + 63) / 64 : attention_tiles(s.len, s.depth, true), threads = tensor ? 128 : 256;
		int dkv = tensor ? tensor_kernel(RT_K_attention_dkv_tensor, qkv, s.depth) :
				   typed(RT_K_attention_dkv + 3 * depth_index(s.depth), qkv);
		int dq = tensor ? tensor_kernel(RT_K_attention_dq_tensor, qkv, s.depth) :
				  typed(RT_K_attention_dq + 3 * depth_index(s.depth), qkv);
		size_t shared = tensor ? tensor_shared(s.depth, true) : attention_shared(s.depth, true);

		RT_LAUNCH(e, dkv, tiles, rows * s.kv_heads, threads, 1, shared, &dx, &dy, &x, &lse, &delta, &s);
		RT_LAUNCH(e, dq, tiles, rows * s.heads, threads, 1, shared, &dx, &dy, &x, &lse, &delta, &s);
	}
}

/* ---- cuDNN ---- */
static struct rt_dnn_attention dnn_key(const struct rt_engine *e, const struct rt_call *c)
{
	bool backward = rt_attention_is_backward(c);
	const struct rt_node *qkv = c->in[backward];
	struct attention_shape s = attention_shape(c, qkv);

	return (struct rt_dnn_attention){ .backward = backward, .batch = qkv->shape.d[0], .len = s.len, .heads = s.heads,
					  .depth = s.depth, .all_keys = c->attr.all_keys, .type = qkv->dtype,
					  .any_order = backward && !e->exact,
					  .alone = e->attention.by == RT_ATTENTION_CUDNN };
}

/* Returns whether cuDNN may run this call. A choice by timing can differ between runs. */
static bool may_be_dnn(const struct rt_engine *e, const struct rt_call *c)
{
	struct rt_dnn_attention k = dnn_key(e, c);

	if (c->attr.kv_heads != c->attr.heads || e->attention.by == RT_ATTENTION_OWN ||
	    (e->attention.by == RT_ATTENTION_FASTEST && e->exact))
		return false;
	return k.type != RT_F32 && e->dev->arch >= 80 && k.depth % 8 == 0 && (k.backward || c->out[1]);
}

/* Returns whether cuDNN has a plan; otherwise the own kernels run, and the reason is stored. With RT_ATTENTION_CUDNN
 * the engine fails instead. */
static bool planned(struct rt_engine *e, const struct rt_call *c, struct rt_dnn_info *ret)
{
	const struct rt_dnn_attention k = dnn_key(e, c);
	struct gt_err err = { 0 };
	int r = -ENOENT;

	if (e->r || !may_be_dnn(e, c))
		return false;
	if (!e->attention.absent && !e->dnn)
		r = rt_dnn_open(e->dev, !rt_engine_chooses(e), &e->dnn, &err);
	e->attention.absent = !e->dnn;
	if (e->dnn)
		r = rt_dnn_attention_plan(e->dnn, &k, ret, &err);
	if (!r) {
		int *most = &e->attention.too_large[k.backward];

		*most = GT_MAX(*most, ret->too_large);
		return true;
	}
	if (err.msg[0] && !e->attention.why.msg[0])
		e->attention.why = err;
	if (k.alone)
		rt_launch_result(e, r, &err);
	return false;
}

struct own {
	struct rt_engine *e;
	const struct rt_call *c;
};

static int run_own(void *arg, struct gt_err *err)
{
	const struct own *o = arg;

	(rt_attention_is_backward(o->c) ? own_backward : own_forward)(o->e, o->c);
	if (o->e->r)
		*err = o->e->err;
	return o->e->r;
}

/* Returns 0, or 1 if the own kernels must run. */
static int run_dnn(struct rt_engine *e, const struct rt_call *c, struct gt_err *err)
{
	const struct rt_dnn_attention k = dnn_key(e, c);
	const struct dnn_rival rival = { run_own, &(struct own){ e, c } };
	struct rt_dnn_attention_args a = { .scratch = scratch(c) };

	if (k.backward) {
		a.dy = rt_at(c->in[0]), a.qkv = rt_at(c->in[1]), a.y = rt_at(c->in[2]), a.lse = rt_at(c->in[3]);
		a.dqkv = rt_at(c->out[0]);
	} else {
		a.qkv = rt_at(c->in[0]), a.y = rt_at(c->out[0]), a.lse = rt_at(c->out[1]);
	}
	return rt_dnn_attention_run(e->dnn, &k, &a, k.alone ? NULL : &rival, e->stream, rt_engine_times_products(e),
				    err);
}

static void run(struct rt_engine *e, const struct rt_call *c)
{
	struct rt_dnn_info info;
	struct gt_err err = { 0 };
	int r = 1;

	if (planned(e, c, &info))
		r = run_dnn(e, c, &err);
	if (r < 0)
		rt_launch_result(e, r, &err);
	if (r > 0)
		(rt_attention_is_backward(c) ? own_backward : own_forward)(e, c);
	if (e->tuning)
		(r ? e->attention.own : e->attention.dnn)[rt_attention_is_backward(c)]++;
}

static const char *attention_refuses(const struct rt_engine *e, const struct rt_call *c)
{
	bool backward = rt_attention_is_backward(c);
	const struct rt_node *qkv = c->in[backward];
	struct attention_shape s = attention_shape(c, qkv);
	int depth = s.depth;
	size_t shared = by_tensor(e, qkv, &s) ? tensor_shared(depth, backward) : attention_shared(depth, backward);

	if (depth > 128)
		return "heads are wider than 128";
	return shared > (size_t)e->dev->max_shared ? "a tile of its heads does not fit into the GPU's shared memory" : NULL;
}

static size_t attention_scratch(struct rt_engine *e, const struct rt_call *c)
{
	size_t own = rt_attention_is_backward(c) ? (size_t)(rt_rows(c->in[1]) * c->attr.heads) * 4 : 0;
	struct rt_dnn_info info = { 0 };

	return planned(e, c, &info) ? GT_MAX(own, info.workspace) : own;
}

/* in: qkv. out: y, lse */
const struct rt_cuda_kernel rt_cuda_attention = { .run = run, .scratch = attention_scratch, .refuses = attention_refuses };
/* in: dy, qkv, y, lse. out: dqkv */
const struct rt_cuda_kernel rt_cuda_attention_bwd = { .run = run, .scratch = attention_scratch, .refuses = attention_refuses };

void rt_launch_attention_report(const struct rt_engine *e, json_t *doc)
{
	static const char *const passes[] = { "forward", "backward" };
	json_t *all;

	if (!e->attention.own[0] && !e->attention.dnn[0])
		return;
	all = json_object();
	for (int i = 0; i < 2; i++) {
		json_t *pass = json_pack("{s:i, s:i}", "own", e->attention.own[i], "cudnn", e->attention.dnn[i]);

		if (e->attention.too_large[i])
			json_object_set_new(pass, "too_large", json_integer(e->attention.too_large[i]));
		json_object_set_new(all, passes[i], pass);
	}
	if (e->attention.why.msg[0])
		json_object_set_new(all, "why_own", gt_json_str(e->attention.why.msg));
	json_object_set_new(doc, "attention", all);
}
