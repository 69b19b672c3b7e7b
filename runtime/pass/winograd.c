/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the CPU, f32 3x3 convolutions of stride 1 use Winograd's F(4x4,3x3) (cpu/conv_winograd.c) where it is faster by
 * the counted work. It needs a quarter of the products, and its rounding error is two to three times that of plain
 * sums. With mixed precision the same rule selects the convolutions that stay f32 (pass/precision.c). If the gradient
 * of an image is then added to another gradient, as in a residual block, the convolution adds while it writes.
 */
#include "runtime/pass/rewrite.h"

/* Fuses the gradient of an image and the addition that follows. */
static bool fuse_sum(struct rt_plan *p, int at, int producer)
{
	struct rt_call *add = p->ir.calls[at], *conv = p->ir.calls[producer];

	if (at != producer + 1 || !(conv->attr.winograd_flops > 0) || add->out[0] != add->in[0] ||
	    !rt_same_shape(add->in[1], add->in[0]))
		return false;
	conv->out[0] = add->out[0];
	conv->attr.accumulate |= 1;
	rt_plan_remove(p, at);
	return true;
}

static int winograd(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	static const struct rt_pattern pattern = { .op = RT_OP_ADD, .slot = 1, .producer = RT_OP_CONV_BWD_X, .fuse = fuse_sum };
	int calls = 0, n_winograd = 0, sums = 0;
	double before = 0, after = 0;

	if (!p->target->winograd_flops || p->opt->debug.no_winograd)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (!rt_is_conv(c))
			continue;
		calls++;
		before += rt_conv_flops(c);
		c->attr.winograd_flops = p->target->winograd_flops(c, RT_F32);
		after += rt_conv_flops(c);
		n_winograd += c->attr.winograd_flops > 0;
	}
	if (!p->opt->debug.no_fuse)
		rt_fuse(p, &pattern, 1, &sums);
	if (n_winograd)
		gt_buf_printf(did, "%d of %d convolutions with Winograd F(4x4,3x3): %.3g Gflop instead of %.3g; %d "
			      "gradient sums fused", n_winograd, calls, after * 1e-9, before * 1e-9, sums);
	return 0;
}

const struct rt_pass rt_pass_winograd = { .name = "winograd", .run = winograd };
