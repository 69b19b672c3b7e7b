/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "runtime/ddp/pipeline.h"
#include "runtime/transport/comm.h"

struct rt_pipeline {
	struct rt_comm *comm;
	const struct rt_options *opt;
	const struct rt_stage *stage;
	struct rt_window window;
	struct rt_p2p *queue; /* queues by index; only those of this stage are open */
	float *chunk;
	/* times of the current update, and sums over the counted updates */
	double begin_s, waited_s, sent_bytes;
	double all_span_s, all_waited_s, all_sent_bytes;
	int64_t updates;
};

static bool is_own(const struct rt_pipeline *l, int queue)
{
	const struct rt_stage_queue *q = &l->stage->queue[queue];

	return q->from == l->stage->index || q->to == l->stage->index;
}

static int open_queues(struct rt_pipeline *l, struct gt_err *err)
{
	for (int i = 0; i < l->stage->n_queues; i++) {
		const struct rt_stage_queue *q = &l->stage->queue[i];
		int r;

		l->queue[i] = (struct rt_p2p){ .window = &l->window, .offset = q->offset, .from = q->from, .to = q->to,
					       .bytes = q->bytes, .slots = q->slots, .tag = i };
		r = is_own(l, i) ? rt_p2p_init(&l->queue[i], err) : 0;
		if (r)
			return r;
	}
	return 0;
}

static int open_pipeline(struct rt_pipeline *l, struct gt_err *err)
{
	int r = rt_comm_agree(l->comm, l->stage->hash, "the stages of the pipeline", err);

	if (r)
		return r;
	r = rt_window_map(l->comm, l->stage->window_bytes, !l->opt->memory.no_huge_pages, &l->window, err);
	if (r)
		return r;
	return open_queues(l, err);
}

int rt_pipeline_new(const struct rt_options *opt, const struct rt_stage *stage, struct rt_pipeline **ret, struct gt_err *err)
{
	struct rt_pipeline *l = gt_xcalloc(1, sizeof(*l));
	int r;

	l->comm = opt->pipeline.comm;
	l->opt = opt;
	l->stage = stage;
	l->queue = gt_xcalloc((size_t)stage->n_queues, sizeof(*l->queue));
	l->chunk = gt_xcalloc(1, RT_CHUNK_BYTES);
	r = open_pipeline(l, err);
	if (r) {
		rt_pipeline_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void rt_pipeline_free(struct rt_pipeline *l)
{
	if (!l)
		return;
	for (int i = 0; i < l->stage->n_queues; i++)
		rt_p2p_clear(&l->queue[i]);
	if (l->window.comm)
		rt_window_unmap(&l->window);
	free(l->queue);
	free(l->chunk);
	free(l);
}

uint64_t rt_pipeline_bytes(const struct rt_pipeline *l)
{
	return l->window.bytes;
}

int rt_pipeline_send(struct rt_pipeline *l, int queue, const void *data, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_send(&l->queue[queue], data, err);

	l->waited_s += gt_now_s() - t0;
	l->sent_bytes += (double)l->queue[queue].bytes;
	return r;
}

int rt_pipeline_receive(struct rt_pipeline *l, int queue, void *data, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_receive(&l->queue[queue], data, err);

	l->waited_s += gt_now_s() - t0;
	return r;
}

int rt_pipeline_give(struct rt_pipeline *l, int to, const void *data, uint64_t bytes, struct gt_err *err)
{
	int queue = rt_stage_chunk_queue(l->stage, l->stage->index, to);

	for (uint64_t at = 0; at < bytes; at += RT_CHUNK_BYTES) {
		int r;

		memcpy(l->chunk, (const char *)data + at, GT_MIN(bytes - at, RT_CHUNK_BYTES));
		r = rt_send(&l->queue[queue], l->chunk, err);
		if (r)
			return r;
	}
	return 0;
}

int rt_pipeline_take(struct rt_pipeline *l, int from, void *data, uint64_t bytes, struct gt_err *err)
{
	int queue = rt_stage_chunk_queue(l->stage, from, l->stage->index);

	for (uint64_t at = 0; at < bytes; at += RT_CHUNK_BYTES) {
		int r = rt_receive(&l->queue[queue], l->chunk, err);

		if (r)
			return r;
		memcpy((char *)data + at, l->chunk, GT_MIN(bytes - at, RT_CHUNK_BYTES));
	}
	return 0;
}

/* Both stages send a chunk before they receive one, so neither waits for a slot. a + b is b + a: both get the same bits. */
int rt_pipeline_add(struct rt_pipeline *l, int out, int in, float *x, int64_t n, struct gt_err *err)
{
	const int64_t floats = (int64_t)(RT_CHUNK_BYTES / sizeof(float));

	for (int64_t at = 0; at < n; at += floats) {
		int64_t count = GT_MIN(n - at, floats);
		int r;

		memcpy(l->chunk, x + at, (size_t)count * sizeof(float));
		r = rt_pipeline_send(l, out, l->chunk, err);
		if (r)
			return r;
		r = rt_pipeline_receive(l, in, l->chunk, err);
		if (r)
			return r;
		for (int64_t i = 0; i < count; i++)
			x[at + i] += l->chunk[i];
	}
	return 0;
}

double rt_pipeline_call_bytes(const struct rt_stage *s, const struct rt_call *c)
{
	double bytes = c->op->collective == RT_SEND || c->op->collective == RT_STAGE_SUM ?
			       (double)s->queue[c->attr.queue].bytes : 0;

	if (c->op->collective == RT_STAGE_SUM)
		bytes *= ceil((double)rt_node_bytes(c->out[0]) / RT_CHUNK_BYTES);
	return bytes;
}

void rt_pipeline_count(struct rt_pipeline *l, double bytes)
{
	l->sent_bytes += bytes;
}

static int gather(struct rt_pipeline *l, double x, double *all, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_comm_gather(l->comm, x, all, err);

	l->waited_s += gt_now_s() - t0;
	return r;
}

int rt_pipeline_last(struct rt_pipeline *l, double *x, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = gather(l, *x, all, err);

	if (r)
		return r;
	*x = all[l->stage->n - 1];
	return 0;
}

int rt_pipeline_sum(struct rt_pipeline *l, double *x, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	int r = gather(l, *x, all, err);

	if (r)
		return r;
	*x = 0;
	for (int i = 0; i < l->stage->n; i++)
		*x += all[i];
	return 0;
}

void rt_pipeline_begin(struct rt_pipeline *l)
{
	l->begin_s = gt_now_s();
	l->waited_s = l->sent_bytes = 0;
}

void rt_pipeline_end(struct rt_pipeline *l, bool counted)
{
	if (!counted)
		return;
	l->all_span_s += gt_now_s() - l->begin_s;
	l->all_waited_s += l->waited_s;
	l->all_sent_bytes += l->sent_bytes;
	l->updates++;
}

json_t *rt_pipeline_report(const struct rt_pipeline *l)
{
	double updates = (double)GT_MAX(l->updates, 1);

	return json_pack("{s:i, s:i, s:s, s:i, s:i, s:I, s:o, s:I, s:o, s:o, s:o}", "stages", l->stage->n, "stage", l->stage->index,
			 "schedule", l->opt->pipeline.schedule == RT_GPIPE ? "gpipe" : "1f1b", "microbatches", l->opt->accum,
			 "in_flight", l->stage->in_flight, "window_bytes", (json_int_t)l->window.bytes, "work_share",
			 gt_json_real(l->stage->work / l->stage->all_work), "updates", (json_int_t)l->updates, "span_s",
			 gt_json_real(l->all_span_s / updates), "waited_s", gt_json_real(l->all_waited_s / updates), "sent_bytes",
			 gt_json_real(l->all_sent_bytes / updates));
}
