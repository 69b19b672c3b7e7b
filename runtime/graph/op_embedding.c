/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedding: y (B,T,C) = table (V,C)[ids (B,T)] + positions (P,C)[t]. in: ids, table, positions or NULL.
 *
 * With attr.whole_rows the table is a part of a vocabulary, from row attr.first_row on. The sum over all parts is the
 * result: an id of another part gives a row of zeros, and the first part alone adds the positions. Each part computes the
 * gradient of all positions.
 */
#include <errno.h>
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int embedding_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *ids = c->in[0], *table = c->in[1], *pos = c->in[2];
	int r = rt_require_floats(c, 1, 3, err);

	if (r)
		return r;
	if (ids->dtype != RT_I32)
		return gt_fail(err, EINVAL, "embedding of %s: it is %s; ids must be i32", ids->name, rt_dtype_name(ids->dtype));
	if (ids->shape.n != 2 || table->shape.n != 2)
		return rt_mismatch(c, ids, table, "ids must be (B,T) and the table (V,C)", err);
	if (pos && (pos->shape.n != 2 || pos->shape.d[1] != table->shape.d[1] || pos->shape.d[0] < ids->shape.d[1]))
		return rt_mismatch(c, ids, pos, "the position table must have at least T rows, and the columns of the table", err);
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32,
			       &RT_SHAPE(ids->shape.d[0], ids->shape.d[1], table->shape.d[1]), "embedding");
	return 0;
}

static void embedding_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, c->in[1]) && !rt_ad_requires_grad(ad, c->in[2]))
		return;
	k = rt_ad_call(ad, RT_OP_EMBEDDING_BWD,
		       &(struct rt_attr){ .first_row = c->attr.first_row, .whole_rows = c->attr.whole_rows });
	k->in[0] = rt_ad_get(ad, c->out[0]);
	k->in[1] = c->in[0];
	rt_ad_into(ad, k, 0, c->in[1]);
	rt_ad_into(ad, k, 1, c->in[2]);
}

static void embedding_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	int64_t rows = rt_shape_elements(&c->in[0]->shape), t = c->in[0]->shape.d[1], cols = rt_cols(c->in[1]);

	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++)
			out[0][i * cols + j] = in[1][(int64_t)in[0][i] * cols + j] + (c->in[2] ? in[2][i % t * cols + j] : 0);
}

static int64_t table_rows(const struct rt_call *c)
{
	return c->attr.whole_rows ? c->attr.whole_rows : c->in[1]->shape.d[0];
}

const struct rt_op rt_op_embedding = {
	.id = RT_OP_EMBEDDING,
	.name = "embedding",
	.index_limit = table_rows,
	.shape = embedding_shape,
	.gradient = embedding_gradient,
	.reference = embedding_reference,
};
/* in: dy (B,T,C), ids. out: dtable (V,C), dpositions (P,C) */
const struct rt_op rt_op_embedding_bwd = {
	.id = RT_OP_EMBEDDING_BWD,
	.name = "embedding_bwd",
	.f32_out = 3,
	.accumulates = 3,
};
