/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_SPAN_H
#define RT_CUDA_SPAN_H
/* A stream with two events: measures the time between them on the device. */
#include "runtime/cuda/cuda.h"
#include "runtime/cuda/driver.h"

struct rt_span {
	cu_stream stream;
	cu_event from, to;
};

/* Returns 0 or a driver error. After an error the span must also be closed. */
static inline int rt_span_open(struct rt_cuda *c, struct rt_span *s, struct gt_err *err)
{
	int r = rt_cuda_check(c, c->d.stream_create(&s->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);

	if (!r)
		r = rt_cuda_check(c, c->d.event_create(&s->from, CU_EVENT_DEFAULT), "cuEventCreate", err);
	return r ? r : rt_cuda_check(c, c->d.event_create(&s->to, CU_EVENT_DEFAULT), "cuEventCreate", err);
}

static inline void rt_span_close(struct rt_cuda *c, struct rt_span *s)
{
	if (s->from)
		c->d.event_destroy(s->from);
	if (s->to)
		c->d.event_destroy(s->to);
	if (s->stream)
		c->d.stream_destroy(s->stream);
}
#endif
