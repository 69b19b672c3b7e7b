/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On the CPU, f32 convolutions of 3x3 and stride 1 are made in tiles of 4x4 (Winograd's F(4x4,3x3), cpu/conv_winograd.c)
 * where the counted work says that this is faster: a quarter of the products, and the sums' rounding is two to three times that
 * of the plain ones. Those that mixed precision left in f32 (pass/amp.c) are the same ones.
 */
#include "runtime/pass/pass.h"

static int winograd(struct rt_plan *p, struct gt_buf *did, struct gt_err *err)
{
	int calls = 0, taken = 0;
	double before = 0, after = 0;

	if (p->opt->device != RT_CPU || p->opt->no_winograd)
		return 0;
	for (int i = 0; i < p->ir.n_calls; i++) {
		struct rt_call *c = p->ir.calls[i];

		if (!rt_is_conv(c))
			continue;
		calls++;
		before += rt_conv_flops(c);
		c->attr.winograd = rt_conv_can_winograd(c, RT_F32);
		after += rt_conv_flops(c);
		taken += c->attr.winograd;
	}
	if (taken)
		gt_buf_printf(did, "%d of %d convolutions in tiles of 4x4: %.3g Gflop instead of %.3g", taken, calls, after * 1e-9,
			      before * 1e-9);
	return 0;
}

const struct rt_pass rt_pass_winograd = { .name = "winograd", .run = winograd };
