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

/* The two input tensors of a call, widened to f32 if the CPU does not multiply their reduced-precision type. */
struct widened {
	const struct rt_node *node[2];
	size_t floats[2];
};

static struct widened widened_of(const struct rt_call *c)
{
	struct widened v = { .node = { c->in[0], c->in[1] } };

	for (int i = 0; i < 2; i++)
		v.floats[i] = (size_t)(rt_shape_elements(&v.node[i]->shape) + 15) / 16 * 16;
	return v;
}

/* Returns the scratch of the kernel for such operands. *ret_library: it is the library's. */
static size_t kernel_scratch(const struct rt_conv *s, enum rt_conv_kind kind, bool bf16, int threads, bool *ret_library)
{
	int64_t library = rt_conv_library_scratch(s, kind, bf16, threads);

	*ret_library = library >= 0;
	return *ret_library ? (size_t)library : bf16 ? 0 : rt_conv_own_scratch(s, kind, threads);
}

static bool multiplies_bf16(const struct rt_call *c)
{
	return c->in[0]->dtype == RT_BF16 && rt_cpu_gemm_isa(RT_BF16);
}

double rt_cpu_winograd_flops(const struct rt_call *c, enum rt_dtype rival)
{
	const struct rt_node *x, *w, *y;
	enum rt_conv_kind kind = rt_conv_roles(c, &x, &w, &y);
	struct rt_conv s;

	if (!w || c->in[0]->dtype != RT_F32)
		return 0;
	s = rt_conv_of(c, x, w, y);
	if (!rt_conv_winograd_fits(&s) || !rt_conv_winograd_faster(&s, kind, rt_cpu_gemm_rate(rival)))
		return 0;
	return rt_conv_winograd_flops(&s, kind);
}

static size_t conv_scratch(const struct rt_call *c, int threads)
{
	const struct rt_node *x, *w, *y;
	enum rt_conv_kind kind = rt_conv_roles(c, &x, &w, &y);
	struct rt_conv s;
	struct widened v;
	size_t bytes;
	bool library;

	if (!w)
		return 0;
	s = rt_conv_of(c, x, w, y);
	if (c->attr.winograd_flops > 0)
		return rt_conv_winograd_scratch(&s, kind, threads);
	if (multiplies_bf16(c)) {
		bytes = kernel_scratch(&s, kind, true, threads, &library);
		if (library)
			return bytes;
	}
	bytes = kernel_scratch(&s, kind, false, threads, &library);
	if (c->in[0]->dtype == RT_F32)
		return bytes;
	v = widened_of(c);
	return bytes + (v.floats[0] + v.floats[1]) * sizeof(float);
}

static void convolve_f32(const struct rt_cpu *cpu, const struct rt_conv *s, enum rt_conv_kind kind, float *x, float *w, float *y,
			 float *scratch)
{
	if (rt_conv_library_scratch(s, kind, false, cpu->threads) >= 0)
		rt_conv_library(s, kind, false, cpu->threads, x, w, y, scratch);
	else
		rt_conv_own(s, kind, cpu->threads, x, w, y, scratch);
}

static float *in_f32(const struct rt_cpu *cpu, const struct rt_node *n, const struct widened *v, float *scratch)
{
	for (int i = 0; i < 2; i++, scratch += v->floats[0])
		if (n == v->node[i]) {
			rt_widen(cpu, n->dtype, scratch, n->data, rt_shape_elements(&n->shape));
			return scratch;
		}
	return rt_f32(n);
}

static void convolve(const struct rt_cpu *cpu, const struct rt_call *c)
{
	const struct rt_node *x, *w, *y;
	enum rt_conv_kind kind = rt_conv_roles(c, &x, &w, &y);
	float *scratch = rt_f32(c->out[RT_MAX_IO - 1]);
	struct rt_conv s;
	struct widened v;

	if (!w)
		return;
	s = rt_conv_of(c, x, w, y);
	if (c->attr.winograd_flops > 0) {
		rt_conv_winograd(cpu, &s, kind, rt_f32(x), rt_f32(w), rt_f32(y), scratch, c->attr.accumulate & 1);
		return;
	}
	if (c->in[0]->dtype == RT_F32) {
		convolve_f32(cpu, &s, kind, rt_f32(x), rt_f32(w), rt_f32(y), scratch);
		return;
	}
	if (multiplies_bf16(c) && rt_conv_library_scratch(&s, kind, true, cpu->threads) >= 0) {
		rt_conv_library(&s, kind, true, cpu->threads, x->data, w->data, y->data, scratch);
		return;
	}
	v = widened_of(c);
	convolve_f32(cpu, &s, kind, in_f32(cpu, x, &v, scratch), in_f32(cpu, w, &v, scratch), in_f32(cpu, y, &v, scratch),
		     scratch + v.floats[0] + v.floats[1]);
}

/* y (N,OH,OW,O) = act(x (N,H,W,C) * w (O,C/groups,KH,KW) + b (O)) */
static void run_conv(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
	if (c->in[2] || c->attr.act != RT_ACT_NONE)
		rt_cpu_bias_act(cpu, rt_f32(c->out[0]), rt_f32(c->out[0]), rt_f32(c->in[2]), rt_rows(c->out[0]),
				rt_cols(c->out[0]), c->attr.act);
}

const struct rt_cpu_kernel rt_cpu_conv = { .run = run_conv, .scratch = conv_scratch };

/* dx (N,H,W,C) = the gradient from dy (N,OH,OW,O) and w (O,C/groups,KH,KW); or += if Winograd */
static void run_conv_bwd_x(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
}

const struct rt_cpu_kernel rt_cpu_conv_bwd_x = { .run = run_conv_bwd_x, .scratch = conv_scratch };

/* dw (O,C/groups,KH,KW) = the gradient from dy (N,OH,OW,O) and x; db (O) = or += sums of dy over pixels */
static void run_conv_bwd_w(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	convolve(cpu, c);
	if (c->out[1])
		rt_cpu_column_sums(cpu, rt_f32(c->out[1]), rt_f32(c->in[2]), rt_rows(c->in[0]), rt_cols(c->in[0]),
				   rt_cols(c->in[0]), c->attr.accumulate & 2);
}

const struct rt_cpu_kernel rt_cpu_conv_bwd_w = { .run = run_conv_bwd_w, .scratch = conv_scratch };
