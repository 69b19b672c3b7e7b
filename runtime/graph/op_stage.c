/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the stages of a pipeline, emitted by pass/pipeline.c and run by ddp/pipeline.c. attr.queue is an index
 * of the plan's queues.
 *
 * send:        in: x. out: an empty loss in the forward pass, nothing in the backward pass
 * receive:     out: x
 * stage_sum:   in, out: the gradient of a parameter that another stage also has; becomes the sum of both
 * stages_meet: waits until all stages have finished the backward pass
 *
 * The gradient of a sent tensor is received from the stage that got it, and the gradient of a received tensor is sent.
 */
#include "runtime/graph/gradient.h"
#include "runtime/graph/ops.h"

static void send_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k = rt_ad_call(ad, RT_OP_RECEIVE, &(struct rt_attr){ .queue = c->attr.back_queue });

	rt_ad_into(ad, k, 0, c->in[0]);
}

static void receive_gradient(struct rt_ad *ad, const struct rt_call *c)
{
	struct rt_call *k = rt_ad_call(ad, RT_OP_SEND, &(struct rt_attr){ .queue = c->attr.back_queue });

	k->in[0] = rt_ad_get(ad, c->out[0]);
}

const struct rt_op rt_op_send = {
	.id = RT_OP_SEND,
	.name = "send",
	.f32_in = 1,
	.f32_out = 1,
	.loss = true,
	.collective = RT_SEND,
	.gradient = send_gradient,
};
const struct rt_op rt_op_receive = {
	.id = RT_OP_RECEIVE,
	.name = "receive",
	.f32_out = 1,
	.needs_gradient = true,
	.collective = RT_RECEIVE,
	.gradient = receive_gradient,
};
const struct rt_op rt_op_stage_sum = {
	.id = RT_OP_STAGE_SUM,
	.name = "stage_sum",
	.f32_in = 1,
	.f32_out = 1,
	.collective = RT_STAGE_SUM,
};
const struct rt_op rt_op_stages_meet = {
	.id = RT_OP_STAGES_MEET,
	.name = "stages_meet",
	.collective = RT_STAGES_MEET,
};
