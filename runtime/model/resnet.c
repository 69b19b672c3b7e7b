/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residual networks for images (N,H,W,C). Convolutions have no bias, because a batchnorm follows each. They are
 * initialised like PyTorch's kaiming_normal (fan_out), the last layer like PyTorch's Linear.
 */
#include <math.h>
#include <stdio.h>
#include "runtime/runtime.h"

#define EPS		1e-5f
#define MOMENTUM	0.1f

static struct rt_node *leaf(struct rt_graph *g, const char *prefix, const char *name, bool trained, struct rt_shape shape,
			    struct rt_init init)
{
	char full[80];

	snprintf(full, sizeof(full), "%s.%s", prefix, name);
	return trained ? rt_param(g, full, shape, init) : rt_buffer(g, full, shape, init);
}

static int64_t channels(const struct rt_node *x)
{
	return x ? rt_node_shape(x)->d[3] : 1;
}

static struct rt_node *conv(struct rt_graph *g, const char *name, struct rt_node *x, int64_t out, int kernel, int stride)
{
	struct rt_init init = RT_INIT_NORMAL(sqrtf(2.0f / (float)(out * kernel * kernel)));
	struct rt_node *w = leaf(g, name, "weight", true, RT_SHAPE(out, channels(x), kernel, kernel), init);

	return rt_name(rt_conv2d(g, x, w, NULL, (struct rt_conv2d){ .stride = stride, .pad = kernel / 2 }), name);
}

static struct rt_node *norm(struct rt_graph *g, const char *name, struct rt_node *x)
{
	struct rt_shape c = RT_SHAPE(channels(x));
	struct rt_node *gain = leaf(g, name, "weight", true, c, RT_INIT_ONES);
	struct rt_node *bias = leaf(g, name, "bias", true, c, RT_INIT_ZEROS);
	struct rt_node *mean = leaf(g, name, "running_mean", false, c, RT_INIT_ZEROS);
	struct rt_node *var = leaf(g, name, "running_var", false, c, RT_INIT_ONES);

	return rt_name(rt_batchnorm(g, x, gain, bias, mean, var, EPS, MOMENTUM), name);
}

/* Declares convN and bnN of a block. */
static struct rt_node *conv_norm(struct rt_graph *g, const char *block, int n, struct rt_node *x, int64_t out, int kernel,
				 int stride)
{
	char conv_name[64], norm_name[64];

	snprintf(conv_name, sizeof(conv_name), "%s%sconv%d", block, *block ? "." : "", n);
	snprintf(norm_name, sizeof(norm_name), "%s%sbn%d", block, *block ? "." : "", n);
	return norm(g, norm_name, conv(g, conv_name, x, out, kernel, stride));
}

/* Averages over the image and computes the logits. */
static struct rt_node *head(struct rt_graph *g, struct rt_node *x, int64_t classes)
{
	int64_t c = channels(x);
	struct rt_init init = RT_INIT_UNIFORM(1.0f / sqrtf((float)c));
	struct rt_node *w = rt_param(g, "fc.weight", RT_SHAPE(classes, c), init);
	struct rt_node *b = rt_param(g, "fc.bias", RT_SHAPE(classes), init);
	const struct rt_shape *s = x ? rt_node_shape(x) : NULL;

	if (s)
		x = rt_reduce(g, rt_reshape(g, x, RT_SHAPE(s->d[0], s->d[1] * s->d[2], c)), RT_MEAN, 1);
	return rt_name(rt_linear(g, x, w, b), "logits");
}

/* Two 3x3 convolutions. If the image shrinks, the shortcut takes every other pixel and adds zero channels. */
static struct rt_node *small_block(struct rt_graph *g, const char *name, struct rt_node *x, int64_t out, int stride)
{
	struct rt_node *y = rt_relu(g, conv_norm(g, name, 1, x, out, 3, stride));
	int64_t more = out - channels(x);

	y = conv_norm(g, name, 2, y, out, 3, 1);
	if (stride != 1)
		x = rt_pad(g, rt_max_pool(g, x, 1, stride, 0), (int)(more / 2), (int)(more - more / 2));
	return rt_name(rt_relu(g, rt_add(g, x, y)), name);
}

struct rt_node *rt_model_resnet_small(struct rt_graph *g, int64_t batch, int64_t size, int depth, int64_t classes)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(batch, size, size, 3));
	struct rt_node *y = rt_input(g, "y", RT_I32, RT_SHAPE(batch));

	x = rt_relu(g, conv_norm(g, "", 1, x, 16, 3, 1));
	for (int stage = 0; stage < 3; stage++)
		for (int i = 0; i < (depth - 2) / 6; i++) {
			char name[32];

			snprintf(name, sizeof(name), "layer%d.%d", stage + 1, i);
			x = small_block(g, name, x, INT64_C(16) << stage, stage && !i ? 2 : 1);
		}
	return rt_name(rt_cross_entropy(g, head(g, x, classes), y), "loss");
}

/*
 * Three convolutions: 1x1 to fewer channels, 3x3, 1x1 to more channels. In the first block of a stage, the shortcut has
 * a 1x1 convolution to the new shape.
 */
static struct rt_node *bottleneck(struct rt_graph *g, const char *name, struct rt_node *x, int64_t width, int stride)
{
	struct rt_node *y = rt_relu(g, conv_norm(g, name, 1, x, width, 1, 1));

	y = rt_relu(g, conv_norm(g, name, 2, y, width, 3, stride));
	y = conv_norm(g, name, 3, y, 4 * width, 1, 1);
	if (channels(x) != 4 * width) {
		char conv_name[64], norm_name[64];

		snprintf(conv_name, sizeof(conv_name), "%s.downsample.0", name);
		snprintf(norm_name, sizeof(norm_name), "%s.downsample.1", name);
		x = norm(g, norm_name, conv(g, conv_name, x, 4 * width, 1, stride));
	}
	return rt_name(rt_relu(g, rt_add(g, x, y)), name);
}

struct rt_node *rt_model_resnet50(struct rt_graph *g, int64_t batch, int64_t size, int64_t classes)
{
	static const int blocks[] = { 3, 4, 6, 3 };
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(batch, size, size, 3));
	struct rt_node *y = rt_input(g, "y", RT_I32, RT_SHAPE(batch));

	x = rt_max_pool(g, rt_relu(g, conv_norm(g, "", 1, x, 64, 7, 2)), 3, 2, 1);
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < blocks[stage]; i++) {
			char name[32];

			snprintf(name, sizeof(name), "layer%d.%d", stage + 1, i);
			x = bottleneck(g, name, x, INT64_C(64) << stage, stage && !i ? 2 : 1);
		}
	return rt_name(rt_cross_entropy(g, head(g, x, classes), y), "loss");
}
