/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A vision transformer. One strided convolution cuts the image into patches. Each patch is a token with a learned
 * position. After pre-norm blocks without causal mask, the mean of the tokens is classified.
 */
#include <stdio.h>
#include "runtime/model/layers.h"

struct rt_node *rt_model_vit(struct rt_graph *g, const struct rt_vit_config *k)
{
	struct rt_scope s = { .g = g, .width = k->width, .heads = (int)k->heads, .eps = 1e-6f, .rate = k->dropout };
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(k->batch, k->size, k->size, 3));
	struct rt_node *y = rt_input(g, "y", RT_I32, RT_SHAPE(k->batch));
	int64_t side = k->patch > 0 ? k->size / k->patch : 0;
	struct rt_node *w = rt_param(g, "patch.weight", RT_SHAPE(k->width, 3, k->patch, k->patch), RT_INIT_NORMAL(RT_LAYER_STD));
	struct rt_node *b = rt_param(g, "patch.bias", RT_SHAPE(k->width), RT_INIT_ZEROS);
	struct rt_node *places = rt_param(g, "positions", RT_SHAPE(side * side, k->width), RT_INIT_NORMAL(RT_LAYER_STD));

	x = rt_conv2d(g, x, w, b, (struct rt_conv2d){ .stride = (int)k->patch });
	x = rt_reshape(g, rt_name(x, "patch"), RT_SHAPE(k->batch, side * side, k->width));
	x = rt_layer_dropout(&s, rt_add(g, x, places));
	for (int64_t layer = 0; layer < k->layers; layer++) {
		snprintf(s.prefix, sizeof(s.prefix), "h%lld.", (long long)layer);
		x = rt_layer_block(&s, x, false, true);
	}
	s.prefix[0] = 0;
	x = rt_reduce(g, rt_layer_norm(&s, "lnf", x), RT_MEAN, 1);
	return rt_name(rt_cross_entropy(g, rt_layer_dense(&s, "head", x, k->width, k->classes), y), "loss");
}
