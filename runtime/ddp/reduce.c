/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces buckets of gradients, compressed or not, and keeps the error feedback of compression. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/ddp/state.h"

/* ---- with a codec ---- */

static int64_t segment_floats(const struct bucket *x, int i)
{
	return GT_MAX(GT_MIN((i + 1) * x->segment, x->b->floats) - i * x->segment, 0);
}

static float *gradient(const struct rt_ddp *d, const struct bucket *x)
{
	return (float *)(void *)(d->window.base + x->b->offset);
}

static void clear_gaps(const struct rt_ddp *d, const struct bucket *x)
{
	for (int i = 0; i < x->b->n; i++) {
		int64_t at, n = rt_bucket_gap(x->b, i, &at);

		memset(gradient(d, x) + at, 0, (size_t)n * sizeof(float));
	}
}

/* Compresses x (n) plus the error feedback. The compression error is stored in residual. */
static void send_segment(const struct rt_codec *codec, const float *x, int64_t n, float scale, uint64_t key, void *out,
			 float *residual, float *scratch)
{
	codec->encode(x, n, scale, key, out);
	if (!residual)
		return;
	codec->decode(out, n, scratch);
	for (int64_t i = 0; i < n; i++)
		residual[i] = isfinite(x[i] - scratch[i]) ? x[i] - scratch[i] : 0;
}

/* Multiplies by the weights, so that the sum over the ranks is the mean. The sum of a host already includes them. */
static int send_segments(struct rt_ddp *d, struct bucket *x, struct gt_err *err)
{
	int rank = rt_comm_rank(d->compressors);
	float *g = gradient(d, x), w = (float)rt_comm_weight(d->compressors, rank), scale = 0;

	for (int64_t i = 0; i < x->b->floats; i++)
		g[i] = g[i] * w + (x->residual ? x->residual[i] * d->residual_factor : 0);
	if (d->codec->scale)
		scale = d->codec->scale(g, x->b->floats);
	for (int s = 0; s < d->n_compressors; s++)
		send_segment(d->codec, g + s * x->segment, segment_floats(x, s), scale,
			     x->key ^ ((uint64_t)rank << 48 | (uint64_t)s << 40),
			     d->window.base + x->out_at + (size_t)s * x->segment_bytes,
			     x->residual ? x->next_residual + s * x->segment : NULL, d->scratch);
	x->stage = SEGMENTS;
	return rt_coll_start(&x->out, err);
}

static int return_sum(struct rt_ddp *d, struct bucket *x, struct gt_err *err)
{
	int rank = rt_comm_rank(d->compressors);
	int64_t n = segment_floats(x, rank);
	float *part = d->scratch, *sum = d->scratch + x->segment;

	for (int64_t i = 0; i < n; i++)
		sum[i] = x->residual_sum ? x->residual_sum[i] * d->residual_factor : 0;
	for (int k = 0; k < d->n_compressors; k++) {
		d->codec->decode(rt_coll_from(&x->out, k), n, part);
		for (int64_t i = 0; i < n; i++)
			sum[i] += part[i];
	}
	send_segment(d->codec, sum, n, d->codec->scale ? d->codec->scale(sum, n) : 0, x->key ^ (uint64_t)(rank + 1) << 56,
		     d->window.base + x->back_at, x->next_residual_sum, part);
	x->open = true;
	x->stage = SUMS;
	return rt_coll_start(&x->back, err);
}

static void decode_sums(struct rt_ddp *d, struct bucket *x)
{
	for (int s = 0; s < d->n_compressors; s++)
		if (segment_floats(x, s))
			d->codec->decode(rt_coll_from(&x->back, s), segment_floats(x, s), gradient(d, x) + s * x->segment);
}

/* ---- error feedback ---- */

static bool compresses(const struct rt_ddp *d, int64_t step)
{
	return d->compress != RT_COMPRESS_NONE && step > d->compress_after;
}

bool rt_ddp_feeds_back(const struct rt_ddp *d, int64_t step)
{
	return compresses(d, step) && (!d->codec || d->codec->feedback);
}

void rt_ddp_set_unit(struct rt_ddp *d, double unit)
{
	d->unit = unit;
	d->residual_factor = d->residual_unit > 0 ? (float)(unit / d->residual_unit) : 1;
}

void rt_ddp_settle(struct rt_ddp *d, bool updated)
{
	d->steps++;
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];

		if (x->powersgd)
			rt_powersgd_settle(x->powersgd, updated);
		if (x->open && updated) {
			rt_swap(&x->residual, &x->next_residual);
			rt_swap(&x->residual_sum, &x->next_residual_sum);
		}
		x->open = false;
	}
	if (updated)
		d->residual_unit = d->unit;
}

void rt_ddp_clear_residual(struct rt_ddp *d)
{
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];

		if (x->powersgd)
			rt_powersgd_clear_residual(x->powersgd);
		if (x->residual)
			memset(x->residual, 0, (size_t)x->b->floats * sizeof(float));
		if (x->residual_sum)
			memset(x->residual_sum, 0, (size_t)x->segment * sizeof(float));
		x->open = false;
	}
	d->residual_unit = 0;
}

/* ---- reduction of a bucket ---- */

double rt_ddp_bucket_bytes(const struct rt_bucket *b, const struct rt_ranks *ranks, int rank, int size)
{
	double bytes = (double)b->floats * 4;

	if (ranks->gather) /* rank 0 gets the gradients of each rank, and sends the parameters to each */
		return bytes * (rank ? 1 : size - 1);
	return bytes * (ranks->stage > 2 ? 1 : 2) * (size - 1) / size;
}

double rt_ddp_gather_bytes(const struct rt_call *c, int size)
{
	return (double)rt_node_bytes(c->out[0]) * (size - 1) / size;
}

void rt_ddp_count_gather(struct rt_ddp *d, const struct rt_call *c)
{
	d->sent_bytes += rt_ddp_gather_bytes(c, rt_comm_size(d->comm));
	d->raw_bytes += rt_ddp_gather_bytes(c, rt_comm_size(d->comm));
}

static double raw_bytes(const struct rt_ddp *d, const struct bucket *x)
{
	return rt_ddp_bucket_bytes(x->b, d->ranks, rt_comm_rank(d->comm), d->n_compressors);
}

static double compressed_bytes(const struct rt_ddp *d, const struct bucket *x)
{
	int size = d->n_compressors;

	if (d->codec)
		return (double)x->segment_bytes * (size - 1) * 2;
	return (double)rt_powersgd_sent_floats(x->powersgd) * 4 * 2 * (size - 1) / size;
}

int rt_ddp_start(struct rt_ddp *d, int bucket, int64_t step, struct gt_err *err)
{
	struct bucket *x = &d->list[bucket];
	/* if no batch counts, there is nothing to compress, and the error feedback stays unchanged */
	bool compress = compresses(d, step) && !(rt_ddp_feeds_back(d, step) && d->unit <= 0);

	d->started++;
	d->n_started = bucket + 1;
	d->sent_bytes += compress ? compressed_bytes(d, x) : raw_bytes(d, x);
	d->raw_bytes += raw_bytes(d, x);
	x->key = (uint64_t)step << 16 | (uint64_t)bucket;
	if (d->ranks->fused) {
		x->stage = READY;
		return rt_coll_start(&x->ready, err);
	}
	if (compress) {
		if (d->codec)
			clear_gaps(d, x);
		if (d->codec && rt_comm_hosts(d->comm) > 1) {
			x->stage = UP;
			return rt_coll_start(&x->up, err);
		}
		if (d->codec)
			return send_segments(d, x, err);
		x->stage = POWERSGD;
		return rt_powersgd_start(x->powersgd, gradient(d, x), d->residual_factor, err);
	}
	x->stage = RAW;
	return rt_coll_start(&x->raw, err);
}

static int on(struct rt_coll *k, bool wait, struct gt_err *err)
{
	int r = wait ? rt_coll_wait(k, err) : rt_coll_poll(k, err);

	return wait && r == 0 ? 1 : r;
}

static int start_down(struct bucket *x, struct gt_err *err)
{
	x->stage = DOWN;
	return rt_coll_start(&x->down, err);
}

static int start_between_hosts(struct rt_ddp *d, struct bucket *x, struct gt_err *err)
{
	return d->compressors ? send_segments(d, x, err) : start_down(x, err);
}

/* Returns 1 if complete, 0 if not yet. */
static int advance(struct rt_ddp *d, struct bucket *x, bool wait, struct gt_err *err)
{
	int r = 1;

	if (x->stage == READY)
		r = on(&x->ready, wait, err);
	if (x->stage == RAW)
		r = on(&x->raw, wait, err);
	if (x->stage == POWERSGD)
		r = rt_powersgd_poll(x->powersgd, wait, err);
	if (x->stage == UP) {
		r = on(&x->up, wait, err);
		if (r > 0)
			r = start_between_hosts(d, x, err) < 0 ? -EIO : 1;
	}
	if (r > 0 && x->stage == SEGMENTS) {
		r = on(&x->out, wait, err);
		if (r > 0)
			r = return_sum(d, x, err) < 0 ? -EIO : 1;
	}
	if (r > 0 && x->stage == SUMS) {
		r = on(&x->back, wait, err);
		if (r > 0)
			decode_sums(d, x);
		if (r > 0 && rt_comm_hosts(d->comm) > 1)
			r = start_down(x, err) < 0 ? -EIO : 1;
	}
	if (r > 0 && x->stage == DOWN)
		r = on(&x->down, wait, err);
	if (r > 0)
		x->stage = DONE;
	return r;
}

int rt_ddp_poll(struct rt_ddp *d, struct gt_err *err)
{
	for (int i = 0; i < d->n_started; i++) {
		int r;

		if (d->list[i].stage == IDLE || d->list[i].stage == DONE)
			continue;
		r = advance(d, &d->list[i], false, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int rt_ddp_wait(struct rt_ddp *d, int bucket, struct gt_err *err)
{
	struct bucket *x = &d->list[bucket];
	double t0;
	int r;

	if (x->stage == DONE) {
		d->overlapped++;
		x->stage = IDLE;
		return 0;
	}
	t0 = gt_now_s();
	r = advance(d, x, true, err);
	d->waited_s += gt_now_s() - t0;
	x->stage = IDLE;
	return r < 0 ? r : 0;
}

int rt_ddp_done(struct rt_ddp *d, int bucket, struct gt_err *err)
{
	return rt_coll_start(&d->list[bucket].done, err);
}

int rt_ddp_free_bucket(struct rt_ddp *d, int bucket, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_coll_wait(&d->list[bucket].done, err);

	d->waited_s += gt_now_s() - t0;
	return r;
}

json_t *rt_ddp_report(const struct rt_ddp *d)
{
	json_t *doc = json_object(), *buckets = json_array();
	double steps = d->steps ? (double)d->steps : 1;

	for (int i = 0; i < d->n; i++)
		json_array_append_new(buckets, json_integer((json_int_t)d->list[i].b->floats * 4));
	json_object_set_new(doc, "transport", json_string(rt_comm_transport(d->comm)));
	json_object_set_new(doc, "hosts", json_integer(rt_comm_hosts(d->comm)));
	json_object_set_new(doc, "nodes", json_integer(rt_comm_nodes(d->comm)));
	json_object_set_new(doc, "place", gt_json_str(rt_comm_place(d->comm)));
	json_object_set_new(doc, "weight", gt_json_real(rt_comm_weight(d->comm, rt_comm_rank(d->comm))));
	json_object_set_new(doc, "bucket_bytes", buckets);
	json_object_set_new(doc, "overlap", json_boolean(d->ranks->overlap));
	json_object_set_new(doc, "overlap_why", json_string(d->ranks->overlap_why));
	json_object_set_new(doc, "update_parts", json_integer(GT_MAX(d->ranks->team, 1)));
	json_object_set_new(doc, "shard_stage", json_integer(d->ranks->stage));
	json_object_set_new(doc, "update_reduces", json_boolean(d->ranks->fused));
	json_object_set_new(doc, "reduce", json_string(d->ranks->gather ? "gather" : "all-reduce"));
	json_object_set_new(doc, "window_pages", json_string(d->window.huge_pages ? "huge" : "small"));
	json_object_set_new(doc, "compress", json_string(rt_compress_name(d->compress)));
	json_object_set_new(doc, "sent_bytes_per_step", gt_json_real(d->sent_bytes / steps));
	json_object_set_new(doc, "raw_bytes_per_step", gt_json_real(d->raw_bytes / steps));
	json_object_set_new(doc, "waited_s_per_step", gt_json_real(d->steps ? d->waited_s / (double)d->steps : 0));
	json_object_set_new(doc, "overlapped", gt_json_real(d->started ? (double)d->overlapped / (double)d->started : 0));
	return doc;
}
