/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution as cuDNN's operations. */
#include <errno.h>
#include <stdio.h>
#include "runtime/cuda/dnn_api.h"

/* (A,C,H,W) in cuDNN's order; channels are innermost in memory. */
static dnn_desc tensor(struct dnn_bin *b, char id, enum rt_dtype dtype, int64_t a, int64_t c, int64_t h, int64_t w)
{
	return rt_dnn_tensor(b, id, rt_dnn_data_type(dtype), (int64_t[]){ a, c, h, w }, (int64_t[]){ h * w * c, 1, w * c, c },
			     DNN_IN_MEMORY);
}

static dnn_desc convolution(struct dnn_bin *b, const struct rt_dnn_conv *k)
{
	const int64_t dims = 2, stride[] = { k->stride, k->stride }, pad[] = { k->pad, k->pad }, dilation[] = { 1, 1 };
	int sums = DNN_DATA_FLOAT, mode = DNN_CROSS_CORRELATION;
	dnn_desc c = rt_dnn_make(b, DNN_CONVOLUTION_DESC, "the convolution's descriptor");

	rt_dnn_set(b, c, DNN_CONV_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1, &sums);
	rt_dnn_set(b, c, DNN_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	rt_dnn_set(b, c, DNN_CONV_SPATIAL_DIMS, DNN_TYPE_INT64, 1, &dims);
	rt_dnn_set(b, c, DNN_CONV_DILATIONS, DNN_TYPE_INT64, 2, dilation);
	rt_dnn_set(b, c, DNN_CONV_STRIDES, DNN_TYPE_INT64, 2, stride);
	rt_dnn_set(b, c, DNN_CONV_PRE_PADDINGS, DNN_TYPE_INT64, 2, pad);
	rt_dnn_set(b, c, DNN_CONV_POST_PADDINGS, DNN_TYPE_INT64, 2, pad);
	rt_dnn_finish(b, c);
	return c;
}

/* The attributes of the operation have the same order for all three kinds. */
static void operation(struct dnn_bin *b, const void *key)
{
	static const struct {
		int kind, alpha;
	} passes[] = {
		[RT_DNN_FORWARD] = { DNN_OP_FORWARD, DNN_FORWARD_ALPHA },
		[RT_DNN_DATA] = { DNN_OP_DATA, DNN_DATA_ALPHA },
		[RT_DNN_FILTER] = { DNN_OP_FILTER, DNN_FILTER_ALPHA },
	};
	const struct rt_dnn_conv *k = key;
	const float one = 1, zero = 0;
	int at = passes[k->pass].alpha;
	dnn_desc x = tensor(b, 'x', k->type, k->n, k->c, k->h, k->w);
	dnn_desc w = tensor(b, 'w', k->type, k->o, k->c / k->groups, k->kh, k->kw);
	dnn_desc y = tensor(b, 'y', k->type, k->n, k->o, k->oh, k->ow);
	dnn_desc conv = convolution(b, k), op = rt_dnn_make(b, passes[k->pass].kind, "the operation");

	rt_dnn_set(b, op, at, DNN_TYPE_FLOAT, 1, &one);
	rt_dnn_set(b, op, at + 1, DNN_TYPE_FLOAT, 1, &zero);
	rt_dnn_set(b, op, at + 2, DNN_TYPE_DESCRIPTOR, 1, &conv);
	rt_dnn_set(b, op, at + 3, DNN_TYPE_DESCRIPTOR, 1, &w);
	rt_dnn_set(b, op, at + 4, DNN_TYPE_DESCRIPTOR, 1, &x);
	rt_dnn_set(b, op, at + 5, DNN_TYPE_DESCRIPTOR, 1, &y);
	rt_dnn_finish(b, op);
	b->ops[b->n_ops++] = op;
}

static bool same(const struct rt_dnn_conv *a, const struct rt_dnn_conv *b)
{
	return a->pass == b->pass && a->n == b->n && a->h == b->h && a->w == b->w && a->c == b->c && a->o == b->o &&
	       a->oh == b->oh && a->ow == b->ow && a->kh == b->kh && a->kw == b->kw && a->stride == b->stride &&
	       a->pad == b->pad && a->groups == b->groups && a->type == b->type && a->tf32 == b->tf32;
}

static void name(struct dnn_conv *c)
{
	static const char *const passes[] = { "forward", "data", "filter" };
	const struct rt_dnn_conv *k = &c->key;

	snprintf(c->c.name, sizeof(c->c.name), "%s x %lld,%lld,%lld,%lld w %lld,%lld,%lld stride %lld pad %lld groups %lld %s%s",
		 passes[k->pass], (long long)k->n, (long long)k->h, (long long)k->w, (long long)k->c, (long long)k->o,
		 (long long)k->kh, (long long)k->kw, (long long)k->stride, (long long)k->pad, (long long)k->groups,
		 rt_dtype_name(k->type), k->tf32 ? " tf32" : "");
	c->c.most = RT_DNN_CANDIDATES;
	c->c.room = RT_DNN_WORKSPACE;
	c->c.full = k->type == RT_F32 && !k->tf32;
}

static int get(struct rt_dnn *d, const struct rt_dnn_conv *key, struct dnn_conv **ret, struct gt_err *err)
{
	struct dnn_conv *c;

	for (int i = 0; i < d->n_convs; i++)
		if (same(&d->convs[i]->key, key)) {
			*ret = d->convs[i];
			return 0;
		}
	d->convs = gt_xrealloc(d->convs, (size_t)(d->n_convs + 1) * sizeof(*d->convs));
	c = d->convs[d->n_convs++] = gt_xcalloc(1, sizeof(*c));
	c->key = *key;
	*ret = c;
	name(c);
	return rt_dnn_build(d, &c->c, operation, key, err);
}

int rt_dnn_plan(struct rt_dnn *d, const struct rt_dnn_conv *key, struct rt_dnn_info *ret, struct gt_err *err)
{
	struct dnn_conv *c;
	int r = get(d, key, &c, err);

	if (r)
		return r;
	if (!c->c.info.accepted)
		return gt_fail(err, ENOTSUP, "cuDNN %s has no usable plan for %s within %u MiB of workspace", d->version, c->c.name,
			       RT_DNN_WORKSPACE >> 20);
	*ret = c->c.info;
	return 0;
}

int rt_dnn_run(struct rt_dnn *d, const struct rt_dnn_conv *key, const struct rt_dnn_args *a, cu_stream stream, bool tune,
	       struct gt_err *err)
{
	const struct dnn_pack pack = {
		.n = 3,
		.ids = { 'x', 'w', 'y' },
		.pointers = { (void *)(uintptr_t)a->x, (void *)(uintptr_t)a->w, (void *)(uintptr_t)a->y },
		.workspace = (void *)(uintptr_t)a->workspace,
	};
	struct rt_dnn_info info;
	struct dnn_conv *c;
	int r = rt_dnn_plan(d, key, &info, err);

	if (!r)
		r = get(d, key, &c, err);
	return r ? r : rt_dnn_do(d, &c->c, &pack, NULL, stream, tune, err);
}
