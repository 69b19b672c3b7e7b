/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/cpu/cpu.h"

/* y = forward(inputs), shapes as defined by the op */
static void run_user(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_user_op *op = c->attr.user;
	struct rt_shape shapes[RT_USER_INPUTS + 1];
	const float *in[RT_USER_INPUTS];

	for (int i = 0; i < op->inputs; i++) {
		shapes[i] = c->in[i]->shape;
		in[i] = rt_f32(c->in[i]);
	}
	shapes[op->inputs] = c->out[0]->shape;
	op->forward(in, rt_f32(c->out[0]), shapes, cpu->threads, c->attr.arg);
}

const struct rt_cpu_kernel rt_cpu_user = { .run = run_user };

/* dx[i] = the op's backward(dy, y, inputs) */
static void run_user_bwd(const struct rt_cpu *cpu, const struct rt_call *c, const struct rt_run *run)
{
	const struct rt_user_op *op = c->attr.user;
	struct rt_shape shapes[RT_USER_INPUTS + 1];
	const float *in[RT_USER_INPUTS];
	float *dx[RT_USER_INPUTS];

	for (int i = 0; i < op->inputs; i++) {
		shapes[i] = c->in[2 + i]->shape;
		in[i] = rt_f32(c->in[2 + i]);
		dx[i] = rt_f32(c->out[i]);
	}
	shapes[op->inputs] = c->in[1]->shape;
	op->backward(in, rt_f32(c->in[1]), rt_f32(c->in[0]), dx, shapes, cpu->threads, c->attr.arg);
}

const struct rt_cpu_kernel rt_cpu_user_bwd = { .run = run_user_bwd };
