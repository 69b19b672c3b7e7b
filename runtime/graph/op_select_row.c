/* SPDX-License-Identifier: Apache-2.0 */
/* select_row: y (B,1,C) = x (B,T,C)[b, index[b]]. For programs that do not train. in: x, index (B) of i32. out: y */
#include "runtime/graph/ops.h"

static int select_row_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *x = c->in[0], *index = c->in[1];
	int r = rt_require_float(c, x, err);

	if (r)
		return r;
	if (x->shape.n != 3 || index->dtype != RT_I32 || index->shape.n != 1 || index->shape.d[0] != x->shape.d[0])
		return rt_mismatch(c, x, index, "x must be (B,T,C) and the index i32 (B)", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &RT_SHAPE(x->shape.d[0], 1, rt_cols(x)), "select_row");
	return 0;
}

static void select_row_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t len = c->in[0]->shape.d[1], cols = rt_cols(c->in[0]);

	for (int64_t i = 0; i < c->in[0]->shape.d[0] * cols; i++)
		out[0][i] = in[0][(i / cols * len + (int64_t)in[1][i / cols]) * cols + i % cols];
}

static int64_t row_count(const struct rt_call *c)
{
	return c->in[0]->shape.d[1];
}

const struct rt_op rt_op_select_row = {
	.id = RT_OP_SELECT_ROW,
	.name = "select_row",
	.index_in = 1,
	.index_limit = row_count,
	.shape = select_row_shape,
	.reference = select_row_reference,
};
