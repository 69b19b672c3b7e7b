/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include "runtime/cpu/cpu.h"

/* w' (O,…) = w s, b' (O) = beta + (b - mean) s, s = gain / sqrt(var + eps) */
static void run_fold(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	int64_t outputs = c->in[0]->shape.d[0], inner = rt_shape_elements(&c->in[0]->shape) / outputs;
	const float *w = rt_f32(c->in[0]), *b = rt_f32(c->in[1]), *gain = rt_f32(c->in[2]), *beta = rt_f32(c->in[3]);
	const float *mean = rt_f32(c->in[4]), *var = rt_f32(c->in[5]);

	for (int64_t o = 0; o < outputs; o++) {
		double s = (double)gain[o] / sqrt((double)var[o] + (double)c->attr.eps);

		cpu->simd->affine(rt_f32(c->out[0]) + o * inner, w + o * inner, (float)s, 0, inner, false);
		rt_f32(c->out[1])[o] = (float)((double)beta[o] + ((b ? (double)b[o] : 0) - (double)mean[o]) * s);
	}
}

const struct rt_cpu_kernel rt_cpu_fold = { .run = run_fold };
