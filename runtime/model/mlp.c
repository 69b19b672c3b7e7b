/* SPDX-License-Identifier: Apache-2.0 */
/* A multi-layer perceptron with ReLU between layers, initialised like PyTorch's Linear: uniform within 1/sqrt(inputs). */
#include <math.h>
#include <stdio.h>
#include "runtime/runtime.h"

struct rt_node *rt_model_mlp(struct rt_graph *g, int64_t batch, const int64_t *sizes, int n)
{
	struct rt_node *x = rt_input(g, "x", RT_F32, RT_SHAPE(batch, sizes[0]));
	struct rt_node *y = rt_input(g, "y", RT_I32, RT_SHAPE(batch));

	for (int i = 0; i + 1 < n; i++) {
		struct rt_init init = RT_INIT_UNIFORM(1.0f / sqrtf((float)sizes[i]));
		struct rt_node *w, *b;
		char name[32];

		snprintf(name, sizeof(name), "fc%d.weight", i);
		w = rt_param(g, name, RT_SHAPE(sizes[i + 1], sizes[i]), init);
		snprintf(name, sizeof(name), "fc%d.bias", i);
		b = rt_param(g, name, RT_SHAPE(sizes[i + 1]), init);
		snprintf(name, sizeof(name), "fc%d", i);
		x = rt_name(rt_linear(g, x, w, b), name);
		if (i + 2 < n)
			x = rt_relu(g, x);
	}
	return rt_name(rt_cross_entropy(g, x, y), "loss");
}
