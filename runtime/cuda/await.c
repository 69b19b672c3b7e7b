/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for the device. With several ranks, the device may wait for a rank that ended or hangs. The host therefore
 * polls the event and the other ranks alternately. Polling costs the same as cuEventSynchronize, which also spins.
 */
#include <time.h>
#include "runtime/cuda/launch.h"

#define CHECK_S	   1e-3 /* between two polls of the other ranks */
#define SPIN_S	   2e-4 /* sleep briefly after that, if ranks share CPUs */
#define NAP_NS	   50000
#define STALL_S	   2.0	/* longer gaps between two polls mean that this process was suspended, and do not count */
#define RELEASE_S   2.0

int rt_engine_await(struct rt_engine *e, cu_event event, struct gt_err *err)
{
	const struct rt_driver *d = &e->dev->d;
	double t0, checked;

	if (!rt_engine_has_ranks(e))
		return rt_engine_check(e, d->event_sync(event), "cuEventSynchronize", err);
	t0 = checked = gt_now_s();
	for (;;) {
		cu_result code = d->event_query(event);
		double now;

		if (code != CU_NOT_READY)
			return rt_engine_check(e, code, "cuEventQuery", err);
		now = gt_now_s();
		if (now - checked > STALL_S)
			t0 += now - checked;
		if (now - checked > CHECK_S) {
			int r = rt_comms_watch(e, now - t0, err);

			if (r)
				return r;
			checked = now;
		}
		if (now - t0 > SPIN_S && !e->spins)
			nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
}

int rt_engine_follow(struct rt_engine *e, cu_event event, cu_stream from, cu_stream to, struct gt_err *err)
{
	int r = rt_engine_check(e, e->dev->d.event_record(event, from), "cuEventRecord", err);

	return r ? r : rt_engine_check(e, e->dev->d.stream_wait(to, event, 0), "cuStreamWaitEvent", err);
}

/* Records an event after all work of the streams that wait for other ranks. */
static int mark(struct rt_engine *e, struct gt_err *err)
{
	int r = rt_engine_follow(e, e->idle, e->reduce, e->stream, err);

	if (!r)
		r = rt_stages_join(e, err);
	return r ? r : rt_engine_check(e, e->dev->d.event_record(e->idle, e->stream), "cuEventRecord", err);
}

int rt_engine_drain(struct rt_engine *e, struct gt_err *err)
{
	int r = 0;

	if (rt_engine_has_ranks(e))
		r = mark(e, err);
	if (!r && rt_engine_has_ranks(e))
		r = rt_engine_await(e, e->idle, err);
	return r ? r : rt_engine_check(e, e->dev->d.ctx_sync(), "cuCtxSynchronize", err);
}

void rt_engine_release(struct rt_engine *e)
{
	double until = gt_now_s() + RELEASE_S;
	struct gt_err ignored;

	if (!rt_engine_has_ranks(e) || !e->reduce || mark(e, &ignored))
		return;
	while (e->dev->d.event_query(e->idle) == CU_NOT_READY) {
		if (gt_now_s() > until) {
			rt_comms_abort(e);
			return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
}
