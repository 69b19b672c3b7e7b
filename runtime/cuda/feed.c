/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "runtime/cuda/driver.h"
#include "runtime/cuda/feed.h"

#define PLACES	2
#define THREADS 256
#define BLOCKS	128 /* limit; more than one block per multiprocessor gives no advantage */
#define NULLS	32

struct rt_feed {
	struct rt_cuda *dev;
	cu_stream copy, work;
	cu_event arrived[PLACES], done[PLACES];
	cu_ptr place[PLACES], sums; /* sums: (blocks THREADS) u64 */
	size_t most, n_sums;
	unsigned passes, blocks;
	uint64_t batches;
};

static int check(const struct rt_feed *f, cu_result code, const char *what, struct gt_err *err)
{
	return rt_cuda_check(f->dev, code, what, err);
}

static int make_places(struct rt_feed *f, struct gt_err *err)
{
	const struct rt_driver *d = &f->dev->d;
	int r = 0;

	for (int i = 0; !r && i < PLACES; i++) {
		r = check(f, d->mem_alloc(&f->place[i], f->most), "cuMemAlloc", err);
		if (!r)
			r = check(f, d->event_create(&f->arrived[i], CU_EVENT_DEFAULT), "cuEventCreate", err);
		if (!r)
			r = check(f, d->event_create(&f->done[i], CU_EVENT_DEFAULT), "cuEventCreate", err);
	}
	return r;
}

int rt_feed_open(size_t most, unsigned passes, struct rt_feed **ret, struct gt_err *err)
{
	gt_auto(rt_feed) *f = gt_xcalloc(1, sizeof(*f));
	const struct rt_driver *d;
	int r = rt_cuda_open(&f->dev, err);

	if (r)
		return r;
	d = &f->dev->d;
	f->most = (most + 7) / 8 * 8;
	f->passes = passes;
	f->blocks = (unsigned)GT_MAX(GT_MIN(f->dev->sms, BLOCKS), 1);
	f->n_sums = (size_t)f->blocks * THREADS;
	r = check(f, d->stream_create(&f->copy, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
	if (!r)
		r = check(f, d->stream_create(&f->work, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
	if (!r)
		r = make_places(f, err);
	if (!r)
		r = check(f, d->mem_alloc(&f->sums, 8 * f->n_sums), "cuMemAlloc", err);
	if (!r)
		r = check(f, d->fill_async(f->sums, 0, 8 * f->n_sums, f->work), "cuMemsetD8Async", err);
	if (!r)
		*ret = gt_take(f);
	return r;
}

void rt_feed_close(struct rt_feed *f)
{
	if (!f)
		return;
	if (f->dev) {
		const struct rt_driver *d = &f->dev->d;

		d->ctx_sync();
		for (int i = 0; i < PLACES; i++) {
			if (f->place[i])
				d->mem_free(f->place[i]);
			if (f->arrived[i])
				d->event_destroy(f->arrived[i]);
			if (f->done[i])
				d->event_destroy(f->done[i]);
		}
		if (f->sums)
			d->mem_free(f->sums);
		if (f->copy)
			d->stream_destroy(f->copy);
		if (f->work)
			d->stream_destroy(f->work);
	}
	rt_cuda_close(f->dev);
	free(f);
}

const char *rt_feed_card(const struct rt_feed *f)
{
	return rt_cuda_name(f->dev);
}

int rt_feed_pin(void *feed, void *base, size_t bytes, struct gt_err *err)
{
	const struct rt_feed *f = feed;

	return check(f, f->dev->d.host_register(base, bytes, 0), "cuMemHostRegister", err);
}

void rt_feed_unpin(void *feed, void *base, size_t bytes)
{
	const struct rt_feed *f = feed;

	f->dev->d.host_unregister(base);
}

/* Adds every word of the batch to the sums, `passes` times. */
static int add_up(struct rt_feed *f, cu_ptr at, size_t bytes, struct gt_err *err)
{
	unsigned words = (unsigned)(bytes / 4);
	void *args[] = { &words, &f->passes, &at, &f->sums };

	return check(f, f->dev->d.launch(f->dev->fn[RT_K_word_sums], f->blocks, 1, 1, THREADS, 1, 1, 0, f->work, args, NULL),
		     "cuLaunchKernel", err);
}

int rt_feed_put(struct rt_feed *f, const void *x, size_t x_bytes, const void *y, size_t y_bytes, struct gt_err *err)
{
	const struct rt_driver *d = &f->dev->d;
	int at = (int)(f->batches % PLACES), r = 0;

	if (x_bytes % 4 || y_bytes % 4 || x_bytes + y_bytes > f->most)
		return gt_fail(err, EINVAL, "a batch of %zu and %zu bytes does not fit %zu", x_bytes, y_bytes, f->most);
	if (f->batches >= PLACES) /* the work on the previous batch there must be finished */
		r = check(f, d->stream_wait(f->copy, f->done[at], 0), "cuStreamWaitEvent", err);
	if (!r)
		r = check(f, d->copy_to_async(f->place[at], x, x_bytes, f->copy), "cuMemcpyHtoDAsync", err);
	if (!r && y_bytes)
		r = check(f, d->copy_to_async(f->place[at] + x_bytes, y, y_bytes, f->copy), "cuMemcpyHtoDAsync", err);
	if (!r)
		r = check(f, d->event_record(f->arrived[at], f->copy), "cuEventRecord", err);
	if (!r)
		r = check(f, d->stream_wait(f->work, f->arrived[at], 0), "cuStreamWaitEvent", err);
	if (!r)
		r = add_up(f, f->place[at], x_bytes + y_bytes, err);
	if (!r)
		r = check(f, d->event_record(f->done[at], f->work), "cuEventRecord", err);
	if (!r)
		r = check(f, d->event_sync(f->arrived[at]), "cuEventSynchronize", err);
	f->batches++;
	return r;
}

int rt_feed_sum(struct rt_feed *f, uint64_t *ret, struct gt_err *err)
{
	const struct rt_driver *d = &f->dev->d;
	gt_autofree uint64_t *sums = gt_xcalloc(f->n_sums, sizeof(*sums));
	uint64_t sum = 0;
	int r = check(f, d->stream_sync(f->work), "cuStreamSynchronize", err);

	if (!r)
		r = check(f, d->copy_from(sums, f->sums, 8 * f->n_sums), "cuMemcpyDtoH", err);
	if (!r)
		r = check(f, d->fill_async(f->sums, 0, 8 * f->n_sums, f->work), "cuMemsetD8Async", err);
	for (size_t i = 0; i < f->n_sums; i++)
		sum += sums[i];
	if (!r)
		*ret = sum;
	return r;
}

static uint64_t sum_words(const void *p, size_t bytes, uint64_t first, unsigned passes)
{
	const char *at = p;
	uint64_t sum = 0;

	for (unsigned pass = 0; pass < passes; pass++)
		for (size_t i = 0; i < bytes / 4; i++) {
			uint32_t w;

			memcpy(&w, at + 4 * i, 4);
			sum += (uint64_t)(w ^ pass) * (2 * (first + i) + 1);
		}
	return sum;
}

uint64_t rt_feed_expected(const void *x, size_t x_bytes, const void *y, size_t y_bytes, unsigned passes)
{
	return sum_words(x, x_bytes, 0, passes) + sum_words(y, y_bytes, x_bytes / 4, passes);
}

int rt_feed_null(struct rt_feed *f, double *ret_s, struct gt_err *err)
{
	static const uint32_t nothing;
	double t0 = 0;
	uint64_t sum;
	int r = 0;

	for (int i = -4; !r && i < NULLS; i++) { /* the first ones are warm-up */
		if (i == 0)
			t0 = gt_now_s();
		r = rt_feed_put(f, &nothing, sizeof(nothing), NULL, 0, err);
		if (!r)
			r = check(f, f->dev->d.stream_sync(f->work), "cuStreamSynchronize", err);
	}
	*ret_s = (gt_now_s() - t0) / NULLS;
	return r ? r : rt_feed_sum(f, &sum, err);
}
