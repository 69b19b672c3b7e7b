/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cpu/conv.h"

struct rt_conv rt_conv_of(const struct rt_call *c, const struct rt_node *x, const struct rt_node *w, const struct rt_node *y)
{
	return (struct rt_conv){
		.n = x->shape.d[0], .h = x->shape.d[1], .w = x->shape.d[2], .c = x->shape.d[3],
		.o = y->shape.d[3], .oh = y->shape.d[1], .ow = y->shape.d[2],
		.kh = w->shape.d[2], .kw = w->shape.d[3],
		.stride = c->attr.stride, .pad = c->attr.pad, .groups = c->attr.groups,
	};
}

/* Which tensor of a call is which; w is NULL when only the bias' gradient is wanted. */
static enum rt_conv_kind roles(const struct rt_call *c, const struct rt_node **x, const struct rt_node **w,
			       const struct rt_node **y)
{
	switch (c->op->id) {
	case RT_OP_CONV_BWD_X:
		*x = c->out[0], *w = c->in[1], *y = c->in[0];
		return RT_CONV_BWD_X;
	case RT_OP_CONV_BWD_W:
		*x = c->in[1], *w = c->out[0], *y = c->in[0];
		return RT_CONV_BWD_W;
	default:
		*x = c->in[0], *w = c->in[1], *y = c->out[0];
		return RT_CONV_FWD;
	}
}

size_t rt_conv_scratch_bytes(const struct rt_call *c, int threads)
{
	const struct rt_node *x, *w, *y;
	enum rt_conv_kind kind = roles(c, &x, &w, &y);
	struct rt_conv s;
	int64_t library;

	if (!w)
		return 0;
	s = rt_conv_of(c, x, w, y);
	library = rt_conv_library_scratch(&s, kind, threads);
	return library >= 0 ? (size_t)library : rt_conv_own_scratch(&s, kind, threads);
}

static void convolve(const struct rt_cpu *cpu, const struct rt_call *c)
{
	const struct rt_node *x, *w, *y, *scratch = c->out[RT_MAX_IO - 1];
	enum rt_conv_kind kind = roles(c, &x, &w, &y);
	struct rt_conv s;

	if (!w)
		return;
	s = rt_conv_of(c, x, w, y);
	if (rt_conv_library_scratch(&s, kind, cpu->threads) >= 0)
		rt_conv_library(&s, kind, cpu->threads, rt_f32(x), rt_f32(w), rt_f32(y), rt_f32(scratch));
	else
		rt_conv_own(&s, kind, cpu->threads, rt_f32(x), rt_f32(w), rt_f32(y), rt_f32(scratch));
}

void rt_cpu_conv(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
	if (c->in[2] || c->attr.act != RT_ACT_NONE)
		rt_cpu_bias_act(cpu, rt_f32(c->out[0]), rt_f32(c->out[0]), rt_f32(c->in[2]), rt_rows(c->out[0]),
				rt_cols(c->out[0]), c->attr.act);
}

void rt_cpu_conv_bwd_x(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
}

void rt_cpu_conv_bwd_w(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
	if (c->out[1])
		rt_cpu_column_sums(cpu, rt_f32(c->out[1]), rt_f32(c->in[0]), rt_rows(c->in[0]), rt_cols(c->in[0]),
				   rt_cols(c->in[0]), c->attr.accumulate & 2);
}
