/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "lib/json.h"
#include "runtime/ddp/codec.h"
#include "runtime/ddp/ddp.h"

#define LOSSES	4

enum stage { IDLE, READY, RAW, UP, SEGMENTS, SUMS, DOWN, POWERSGD, DONE };

struct bucket {
	const struct rt_bucket *b;
	enum stage stage;
	uint64_t key;
	struct rt_coll ready; /* all ranks have their gradients; fused updates sum them */
	struct rt_coll raw;
	struct rt_coll up, down; /* with a codec and several hosts: to and from the rank that compresses */
	/* with a codec: segments are sent, their sums are received */
	int64_t segment; /* floats; the last segment may be shorter */
	uint64_t out_at, back_at;
	size_t segment_bytes;
	struct rt_coll out, back;
	/* Error feedback of the bucket and of the own segment's sum. next_*: their values if the update takes place. */
	float *residual, *residual_sum, *next_residual, *next_residual_sum;
	bool open; /* it is not yet known whether the update took place */
	struct rt_powersgd *powersgd;
};

struct rt_ddp {
	struct rt_comm *comm;
	const struct rt_codec *codec;
	/* Ranks that exchange compressed data: all ranks, or one of each host after its ranks have summed uncompressed,
	 * which costs less than compressing. NULL in ranks that do not take part. */
	struct rt_comm *compressors;
	int n_compressors;
	enum rt_compress compress;
	int64_t compress_after;
	struct rt_window window, local, exchange; /* windows of all ranks, of the host's ranks, of those that compress */
	const struct rt_ranks *ranks;
	struct rt_shard shard;
	uint64_t plan_bytes, private_bytes; /* bytes planned in the window; private bytes of this rank outside it */
	struct bucket *list;
	int n, n_started;
	struct rt_coll loss, meet;
	float *scratch; /* one decompressed segment, then its sum */
	double unit, residual_unit; /* rt_ddp_set_unit(): of this update, and of the update that left the present error */
	float residual_factor;
	int64_t steps, started, overlapped;
	double waited_s, sent_bytes;
};

static uint64_t lines(uint64_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Assigns the offsets in the window. All ranks compute the same ones. */
static uint64_t lay_out(struct rt_ddp *d, const struct rt_options *opt)
{
	uint64_t end = lines(d->plan_bytes);

	d->loss.offset = end;
	end += 64;
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];
		int64_t size = d->n_compressors;

		x->out_at = end;
		if (d->codec) {
			x->segment = ((x->b->floats + size - 1) / size + 511) / 512 * 512;
			x->segment_bytes = lines(d->codec->bytes(x->segment));
			x->back_at = end + x->segment_bytes * (uint64_t)size;
			end = x->back_at + x->segment_bytes;
		} else if (d->compress == RT_COMPRESS_POWERSGD) {
			end += (uint64_t)rt_powersgd_floats(x->b, opt->ranks.powersgd_rank) * sizeof(float);
		}
	}
	return end;
}

/* Returns the bytes that compression keeps outside the window. */
static uint64_t private_bytes(const struct rt_ddp *d, const struct rt_options *opt)
{
	int64_t floats = 0, largest = 1;

	for (int i = 0; i < d->n; i++) {
		const struct bucket *x = &d->list[i];

		largest = GT_MAX(largest, x->segment);
		if (d->codec && d->codec->feedback && d->compressors)
			floats += (x->b->floats + x->segment) * (d->ranks->may_skip ? 2 : 1);
		else if (d->compress == RT_COMPRESS_POWERSGD)
			floats += rt_powersgd_private_floats(x->b, opt->ranks.powersgd_rank);
	}
	return (uint64_t)(floats + 2 * largest) * sizeof(float);
}

static int open_codec(struct rt_ddp *d, struct bucket *x, struct gt_err *err)
{
	int r = 0;

	x->out = (struct rt_coll){ .kind = RT_ALLTOALL, .window = &d->exchange, .offset = x->out_at, .bytes = x->segment_bytes };
	x->back = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->exchange, .offset = x->back_at, .bytes = x->segment_bytes };
	if (rt_comm_hosts(d->comm) > 1) {
		x->up = (struct rt_coll){ .kind = RT_HOST_SUM, .window = &d->local, .offset = x->raw.offset, .n = x->raw.n,
					  .threads = x->raw.threads };
		x->down = x->up;
		x->down.kind = RT_HOST_SHARE;
		r = rt_coll_init(&x->up, err);
		if (r)
			return r;
		r = rt_coll_init(&x->down, err);
	}
	if (r || !d->compressors)
		return r;
	r = rt_coll_init(&x->out, err);
	if (r)
		return r;
	r = rt_coll_init(&x->back, err);
	if (r || !d->codec->feedback)
		return r;
	x->residual = calloc((size_t)x->b->floats, sizeof(float));
	x->residual_sum = calloc((size_t)x->segment, sizeof(float));
	x->next_residual = d->ranks->may_skip ? calloc((size_t)x->b->floats, sizeof(float)) : x->residual;
	x->next_residual_sum = d->ranks->may_skip ? calloc((size_t)x->segment, sizeof(float)) : x->residual_sum;
	if (!x->residual || !x->residual_sum || !x->next_residual || !x->next_residual_sum)
		return gt_fail(err, ENOMEM, "no memory for the error feedback of %lld gradients", (long long)x->b->floats);
	return 0;
}

static int open_bucket(struct rt_ddp *d, struct bucket *x, const struct rt_options *opt, const struct rt_cpu *cpu,
		       struct gt_err *err)
{
	int r;

	if (d->ranks->fused) {
		x->ready = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->window };
		return rt_coll_init(&x->ready, err);
	}
	x->raw = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = &d->window, .offset = x->b->offset, .n = x->b->floats,
				   .threads = cpu->threads };
	r = rt_coll_init(&x->raw, err);
	if (r)
		return r;
	if (d->compress == RT_COMPRESS_POWERSGD)
		return rt_powersgd_new(x->b, opt->ranks.powersgd_rank, &d->window, x->out_at, opt->seed, cpu, &x->powersgd, err);
	return d->codec ? open_codec(d, x, err) : 0;
}

static int agree(struct rt_ddp *d, struct gt_err *err)
{
	uint64_t hash = (uint64_t)d->compress << 8 | (uint64_t)d->ranks->team << 1 | d->ranks->overlap;

	for (int i = 0; i < d->n; i++)
		hash = gt_hash64(&d->list[i].b->floats, sizeof(int64_t), hash);
	return rt_comm_agree(d->comm, hash, "the buckets of gradients", err);
}

/* Finds the same tensors in the windows of the team's other ranks. */
static void find_shares(struct rt_ddp *d)
{
	const struct rt_ranks *k = d->ranks;
	struct rt_shard *s = &d->shard;

	*s = (struct rt_shard){ .n = GT_MAX(k->team, 1), .index = k->index, .base = d->local.base };
	for (int i = 0; i < k->team; i++)
		if (i != k->index)
			s->peer[s->n_peers++] = d->local.peer[k->member[i]];
	for (int rank = 0; k->fused && rank < rt_comm_size(d->comm); rank++) {
		s->weight[rank] = (float)rt_comm_weight(d->comm, rank);
		s->in[s->n_in++] = d->local.peer[rank];
	}
}

static int open_rendezvous(struct rt_ddp *d, struct gt_err *err)
{
	if (!d->ranks->team && !d->ranks->fused)
		return 0;
	find_shares(d);
	d->meet = (struct rt_coll){ .kind = RT_ALLGATHER, .window = &d->local };
	return rt_coll_init(&d->meet, err);
}

/* Initialises everything that needs no memory except the list. */
static void begin(struct rt_ddp *d, const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets,
		  int n, uint64_t bytes)
{
	struct rt_comm *comm = opt->ranks.comm;

	d->comm = comm;
	d->ranks = ranks;
	d->plan_bytes = bytes;
	d->compress = opt->ranks.compress;
	d->codec = rt_codec_find(d->compress);
	d->compress_after = opt->ranks.compress_after;
	d->compressors = rt_comm_hosts(comm) > 1 ? rt_comm_across(comm) : comm;
	d->n_compressors = rt_comm_hosts(comm) > 1 ? rt_comm_hosts(comm) : rt_comm_size(comm);
	d->list = gt_xcalloc((size_t)n + 1, sizeof(*d->list));
	d->n = n;
	for (int i = 0; i < n; i++)
		d->list[i].b = &buckets[i];
}

uint64_t rt_ddp_plan_bytes(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets, int n,
			   uint64_t bytes)
{
	struct rt_ddp d = { 0 };
	uint64_t all;

	begin(&d, opt, ranks, buckets, n, bytes);
	all = lay_out(&d, opt) + private_bytes(&d, opt);
	free(d.list);
	return all;
}

int rt_ddp_new(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_cpu *cpu,
	       const struct rt_bucket *buckets, int n, uint64_t bytes, struct rt_ddp **ret, struct gt_err *err)
{
	struct rt_comm *comm = opt->ranks.comm;
	gt_auto(rt_ddp) *d = gt_xcalloc(1, sizeof(*d));
	int64_t largest = 1;
	int r;

	begin(d, opt, ranks, buckets, n, bytes);
	r = agree(d, err);
	if (r)
		return r;
	r = rt_comm_set_weight(comm, opt->ranks.weight, err);
	if (r)
		return r;
	r = rt_window_map(comm, lay_out(d, opt), !opt->memory.no_huge_pages, &d->window, err);
	if (r)
		return r;
	d->private_bytes = private_bytes(d, opt);
	d->local = rt_window_local(&d->window);
	d->exchange = rt_comm_hosts(comm) > 1 ? rt_window_across(&d->window) : d->window;
	d->loss = (struct rt_coll){ .kind = RT_ALLREDUCE, .window = &d->window, .offset = d->loss.offset, .n = LOSSES };
	r = rt_coll_init(&d->loss, err);
	if (r)
		return r;
	r = open_rendezvous(d, err);
	if (r)
		return r;
	for (int i = 0; i < n; i++) {
		r = open_bucket(d, &d->list[i], opt, cpu, err);
		if (r)
			return r;
		largest = GT_MAX(largest, d->list[i].segment);
	}
	d->scratch = calloc((size_t)largest * 2, sizeof(float));
	if (!d->scratch)
		return gt_fail(err, ENOMEM, "no memory for a segment of %lld gradients", (long long)largest);
	*ret = gt_take(d);
	return 0;
}

void rt_ddp_free(struct rt_ddp *d)
{
	if (!d)
		return;
	for (int i = 0; i < d->n; i++) {
		struct bucket *x = &d->list[i];

		rt_coll_clear(&x->ready);
		rt_coll_clear(&x->raw);
		rt_coll_clear(&x->up);
		rt_coll_clear(&x->down);
		rt_coll_clear(&x->out);
		rt_coll_clear(&x->back);
		rt_powersgd_free(x->powersgd);
		if (d->ranks->may_skip) {
			free(x->next_residual);
			free(x->next_residual_sum);
		}
		free(x->residual);
		free(x->residual_sum);
	}
	rt_coll_clear(&d->loss);
	rt_coll_clear(&d->meet);
	if (d->window.comm)
		rt_window_unmap(&d->window);
	free(d->list);
	free(d->scratch);
	free(d);
}

char *rt_ddp_base(struct rt_ddp *d)
{
	return d->window.base;
}

uint64_t rt_ddp_bytes(const struct rt_ddp *d)
{
	return d->window.bytes + d->private_bytes;
}

const struct rt_shard *rt_ddp_shard(const struct rt_ddp *d)
{
	return d->shard.n ? &d->shard : NULL;
}

const void *rt_ddp_piece(const struct rt_ddp *d, const struct rt_node *state, int i, uint64_t *ret_bytes)
{
	int64_t lo, hi;

	rt_part(rt_shape_elements(&state->whole), state->piece_unit, d->ranks->team, i, &lo, &hi);
	*ret_bytes = (uint64_t)(hi - lo) * rt_dtype_bytes(state->dtype);
	return d->local.peer[d->ranks->member[i]] + state->offset;
}

int rt_ddp_rendezvous(struct rt_ddp *d, struct gt_err *err)
{
	double t0 = gt_now_s();
	int r = rt_coll_start(&d->meet, err);

	if (r)
		return r;
	r = rt_coll_wait(&d->meet, err);
	d->waited_s += gt_now_s() - t0;
	return r;
}

static float *loss_at(const struct rt_ddp *d)
{
	return (float *)(void *)(d->window.base + d->loss.offset);
}

int rt_ddp_put_losses(struct rt_ddp *d, const struct rt_losses *own, struct gt_err *err)
{
	float *x = loss_at(d);

	x[0] = (float)(own->batch * own->weight);
	x[1] = (float)own->weight;
	x[2] = (float)(own->update * own->weights);
	x[3] = (float)own->weights;
	return rt_coll_start(&d->loss, err);
}

/* The mean of weight 0 is 0. */
static double mean_of(float sum, float weight)
{
	return weight > 0 ? (double)(sum / weight) : 0;
}

int rt_ddp_losses(struct rt_ddp *d, struct rt_losses *ret, struct gt_err *err)
{
	const float *x = loss_at(d);
	int r = rt_coll_wait(&d->loss, err);

	if (r)
		return r;
	*ret = (struct rt_losses){ .batch = mean_of(x[0], x[1]), .weight = (double)x[1],
				   .update = mean_of(x[2], x[3]), .weights = (double)x[3] };
	return 0;
}

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

/* Applies the weights, so that the sum over the ranks is the mean. A host's sum is weighted already. */
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

static double raw_bytes(const struct rt_ddp *d, const struct bucket *x)
{
	return (double)x->b->floats * 4 * 2 * (d->n_compressors - 1) / d->n_compressors;
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
	/* without a counting batch there is nothing to compress, and the error feedback stays unchanged */
	bool compress = compresses(d, step) && !(rt_ddp_feeds_back(d, step) && d->unit <= 0);

	d->steps += bucket == 0;
	d->started++;
	d->n_started = bucket + 1;
	d->sent_bytes += compress ? compressed_bytes(d, x) : raw_bytes(d, x);
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

json_t *rt_ddp_report(const struct rt_ddp *d)
{
	json_t *doc = json_object(), *buckets = json_array();
	double raw = 0;

	for (int i = 0; i < d->n; i++) {
		json_array_append_new(buckets, json_integer((json_int_t)d->list[i].b->floats * 4));
		raw += raw_bytes(d, &d->list[i]);
	}
	json_object_set_new(doc, "transport", json_string(rt_comm_transport(d->comm)));
	json_object_set_new(doc, "hosts", json_integer(rt_comm_hosts(d->comm)));
	json_object_set_new(doc, "nodes", json_integer(rt_comm_nodes(d->comm)));
	json_object_set_new(doc, "place", gt_json_str(rt_comm_place(d->comm)));
	json_object_set_new(doc, "weight", gt_json_real(rt_comm_weight(d->comm, rt_comm_rank(d->comm))));
	json_object_set_new(doc, "bucket_bytes", buckets);
	json_object_set_new(doc, "overlap", json_boolean(d->ranks->overlap));
	json_object_set_new(doc, "overlap_why", json_string(d->ranks->overlap_why));
	json_object_set_new(doc, "update_parts", json_integer(GT_MAX(d->ranks->team, 1)));
	json_object_set_new(doc, "update_reduces", json_boolean(d->ranks->fused));
	json_object_set_new(doc, "window_pages", json_string(d->window.huge_pages ? "huge" : "small"));
	json_object_set_new(doc, "compress", json_string(rt_compress_name(d->compress)));
	json_object_set_new(doc, "sent_bytes_per_step", gt_json_real(d->steps ? d->sent_bytes / (double)d->steps : 0));
	json_object_set_new(doc, "raw_bytes_per_step", gt_json_real(raw));
	json_object_set_new(doc, "waited_s_per_step", gt_json_real(d->steps ? d->waited_s / (double)d->steps : 0));
	json_object_set_new(doc, "overlapped", gt_json_real(d->started ? (double)d->overlapped / (double)d->started : 0));
	return doc;
}
