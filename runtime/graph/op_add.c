/* SPDX-License-Identifier: Apache-2.0 */
/* add: y = a + b. b has the shape of a or its last dimensions; in the second case it is broadcast. */
#include <string.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static bool is_tail(const struct rt_shape *b, const struct rt_shape *a)
{
	return b->n <= a->n && !memcmp(b->d, a->d + a->n - b->n, (size_t)b->n * sizeof(b->d[0]));
}

static int add_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	int r = rt_require_floats(c, 0, 2, err);

	if (r)
		return r;
	if (!is_tail(&c->in[1]->shape, &c->in[0]->shape))
		return rt_mismatch(c, c->in[0], c->in[1],
				   "the shapes must be equal, or the second must be the last dimensions of the first", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &c->in[0]->shape, "add");
	return 0;
}

static void add_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[0]);

	rt_ad_alias(ad, c->in[0], dy);
	if (rt_same_shape(c->in[0], c->in[1])) {
		rt_ad_alias(ad, c->in[1], dy);
	} else if (rt_ad_requires_grad(ad, c->in[1])) {
		struct rt_call *k = rt_ad_call(ad, RT_OP_REDUCE, &(struct rt_attr){ .reduction = RT_SUM, .axis = -1 });

		k->in[0] = dy;
		rt_ad_into(ad, k, 0, c->in[1]);
	}
}

static void add_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t part = rt_shape_elements(&c->in[1]->shape);

	for (int64_t i = 0, n = rt_shape_elements(&c->in[0]->shape); i < n; i++)
		out[0][i] = in[0][i] + in[1][i % part];
}

const struct rt_op rt_op_add = {
	.id = RT_OP_ADD,
	.name = "add",
	.keeps_type = true,
	.inplace = RT_INPLACE(0, 0) | RT_INPLACE(0, 1),
	.shape = add_shape,
	.gradient = add_gradient,
	.reference = add_reference,
};
