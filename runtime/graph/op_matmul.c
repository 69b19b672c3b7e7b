/* SPDX-License-Identifier: Apache-2.0 */
/* matmul: y (…,M,N) = op(a) op(b) for each of the leading dimensions; ta, tb: the operand is stored transposed. */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static int matmul_shape(struct rt_ir *ir, struct rt_call *c, struct gt_err *err)
{
	struct rt_node *a = c->in[0], *b = c->in[1];
	struct rt_shape s = a->shape;
	int r = rt_require_floats(c, 0, 2, err), n = s.n;

	if (r)
		return r;
	if (n < 2 || b->shape.n != n)
		return rt_mismatch(c, a, b, "both must have the same number of dimensions, at least two", err);
	for (int i = 0; i < n - 2; i++)
		if (a->shape.d[i] != b->shape.d[i])
			return rt_mismatch(c, a, b, "the leading dimensions must be the same", err);
	if (a->shape.d[n - (c->attr.ta ? 2 : 1)] != b->shape.d[n - (c->attr.tb ? 1 : 2)])
		return rt_mismatch(c, a, b, "the inner dimensions differ", err);
	s.d[n - 2] = a->shape.d[n - (c->attr.ta ? 1 : 2)];
	s.d[n - 1] = b->shape.d[n - (c->attr.tb ? 2 : 1)];
	c->out[0] = rt_ir_node(ir, RT_ROLE_VALUE, RT_F32, &s, "matmul");
	return 0;
}

static void product(struct rt_ad *ad, const struct rt_node *of, struct rt_node *a, bool ta, struct rt_node *b, bool tb)
{
	struct rt_call *k;

	if (!rt_ad_requires_grad(ad, of))
		return;
	k = rt_ad_call(ad, RT_OP_MATMUL, &(struct rt_attr){ .ta = ta, .tb = tb });
	k->in[0] = a;
	k->in[1] = b;
	rt_ad_into(ad, k, 0, of);
}

/* d op(a) = dy op(b)^T, d op(b) = op(a)^T dy. For a transposed operand the result is transposed. */
static void matmul_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_node *dy = rt_ad_get(ad, c->out[0]), *a = c->in[0], *b = c->in[1];
	bool ta = c->attr.ta, tb = c->attr.tb;

	if (ta)
		product(ad, a, b, tb, dy, true);
	else
		product(ad, a, dy, false, b, !tb);
	if (tb)
		product(ad, b, dy, true, a, ta);
	else
		product(ad, b, a, !ta, dy, false);
}

static void matmul_reference(const struct rt_call *c, const double *const *in, double *const *out)
{
	const struct rt_shape *as = &c->in[0]->shape, *ys = &c->out[0]->shape;
	int64_t m = ys->d[ys->n - 2], n = ys->d[ys->n - 1], k = as->d[as->n - (c->attr.ta ? 2 : 1)];
	int64_t batch = rt_shape_elements(ys) / (m * n);

	for (int64_t p = 0; p < batch; p++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++) {
				const double *a = in[0] + p * m * k, *b = in[1] + p * k * n;
				double s = 0;

				for (int64_t l = 0; l < k; l++)
					s += a[c->attr.ta ? l * m + i : i * k + l] * b[c->attr.tb ? j * k + l : l * n + j];
				out[0][(p * m + i) * n + j] = s;
			}
}

static double matmul_flops(const struct rt_call *c)
{
	const struct rt_shape *s = &c->in[0]->shape;

	return 2.0 * (double)rt_shape_elements(&c->out[0]->shape) * (double)s->d[s->n - (c->attr.ta ? 2 : 1)];
}

const struct rt_op rt_op_matmul = {
	.id = RT_OP_MATMUL,
	.name = "matmul",
	.reduced = 3,
	.accumulates = 1,
	.shape = matmul_shape,
	.gradient = matmul_gradient,
	.reference = matmul_reference,
	.flops = matmul_flops,
};
