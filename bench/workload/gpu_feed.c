/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the first CUDA device. The loader's workers decode and collate into pinned memory. Batches are copied
 * on a separate stream while the device processes the previous one. Compared with data.load, this adds the link to the
 * device. */
#include <stdio.h>
#include <string.h>
#include "bench/workload/workloads.h"
#include "runtime/cuda/feed.h"
#include "runtime/data/loader.h"

#define SAMPLES	16
#define WARMUP	2
#define SECONDS .08 /* approximate duration of a sample */
#define CHECKED 8   /* batches whose words are summed on the device and on the host */
#define ROWS	64
#define SEQ	1024
#define SIZE	64
#define PASSES	16 /* passes over each batch on the device, as its work */
#define WORKERS 2

static const struct rt_loader_options no_loader = { .rows = ROWS, .workers = WORKERS, .prefetch = 4, .u8 = true,
						    .max_corrupt = UINT64_MAX };

static int feed_some(struct rt_feed *feed, struct rt_loader *l, uint64_t n, struct gt_err *err)
{
	size_t words = ROWS * (rt_loader_kind(l) <= RT_DATA_TOKENS ? SEQ : 1);

	for (uint64_t i = 0; i < n; i++) {
		struct rt_batch b;
		int r = rt_loader_next(l, &b, err);

		if (r)
			return r;
		r = rt_feed_put(feed, b.x, ROWS * rt_loader_row_bytes(l), b.y, words * sizeof(*b.y), err);
		if (r)
			return r;
	}
	return 0;
}

/* Sums the first batches on the host, with a loader without threads. */
static int expected_sum(const struct rt_loader_options *o, uint64_t *ret, struct gt_err *err)
{
	struct rt_loader_options alone = *o;
	gt_auto(rt_loader) *plain = NULL;
	size_t words = ROWS * (o->seq ? SEQ : 1);
	uint64_t sum = 0;
	int r;

	alone.workers = 0;
	alone.pin = NULL;
	alone.unpin = NULL;
	r = rt_loader_open(&alone, &plain, err);
	if (r)
		return r;
	for (int i = 0; i < CHECKED; i++) {
		struct rt_batch b;

		r = rt_loader_next(plain, &b, err);
		if (r)
			return r;
		sum += rt_feed_expected(b.x, ROWS * rt_loader_row_bytes(plain), b.y, words * sizeof(*b.y), PASSES);
	}
	*ret = sum;
	return 0;
}

static int check(struct bn_launch *l, const struct rt_loader_options *o, struct rt_feed *feed, struct rt_loader *loader,
		 struct gt_err *err)
{
	uint64_t want = 0, got = 0;
	int r;

	r = expected_sum(o, &want, err);
	if (r)
		return r;
	r = feed_some(feed, loader, CHECKED, err);
	if (r)
		return r;
	r = rt_feed_sum(feed, &got, err);
	if (r)
		return r;
	if (got != want + l->fault)
		snprintf(l->wrong, sizeof(l->wrong), "the device received other data than the loader read: the sums "
						     "of %d batches differ", CHECKED);
	return 0;
}

static int measure(struct rt_feed *feed, struct rt_loader *loader, double *batches_per_s, struct gt_err *err)
{
	uint64_t n = 16, sum;
	double t0 = gt_now_s();
	int r = feed_some(feed, loader, n, err);

	if (r)
		return r;
	n = (uint64_t)GT_MAX((double)n * SECONDS / (gt_now_s() - t0), 4.);
	for (int i = 0; i < SAMPLES; i++) {
		t0 = gt_now_s();
		r = feed_some(feed, loader, n, err);
		if (r)
			return r;
		r = rt_feed_sum(feed, &sum, err); /* now waits for the last batch */
		if (r)
			return r;
		batches_per_s[i] = (double)n / (gt_now_s() - t0);
	}
	return 0;
}

static void publish(struct bn_launch *l, const double *batches_per_s, size_t batch_bytes)
{
	struct bn_workload bytes = bn_workload_gpu_feed;
	double x[SAMPLES];

	for (int i = 0; i < SAMPLES; i++)
		x[i] = batches_per_s[i] * ROWS;
	bn_series(l, &bn_workload_gpu_feed, "", BN_EXPLORE, x, SAMPLES, WARMUP, false);
	bytes.unit = "GB/s";
	for (int i = 0; i < SAMPLES; i++)
		x[i] = batches_per_s[i] * (double)batch_bytes / 1e9;
	bn_series(l, &bytes, ".bytes", BN_EXPLORE, x, SAMPLES, WARMUP, false);
}

static int gpu_feed_run(struct bn_launch *l, struct gt_err *err)
{
	struct rt_loader_options o = no_loader;
	gt_auto(rt_feed) *feed = NULL; /* closes the device last, because it pins the loader's memory */
	gt_auto(rt_loader) *loader = NULL;
	gt_auto_json *report = NULL;
	double rate[SAMPLES], null_s = 0;
	size_t batch_bytes;
	bool images;
	int r;

	o.path = l->data;
	o.seed = l->seed;
	r = rt_data_guess(l->data, &o.kind, err);
	if (r)
		return r;
	images = o.kind == RT_DATA_SHARDS || o.kind == RT_DATA_FOLDER;
	o.seq = images ? 0 : SEQ;
	o.size = images ? SIZE : 0;
	batch_bytes = images ? ROWS * ((size_t)SIZE * SIZE * 3 + 4) : (size_t)ROWS * SEQ * 8;
	r = rt_feed_open(batch_bytes, PASSES, &feed, err);
	if (r)
		return r;
	o.pin = rt_feed_pin;
	o.unpin = rt_feed_unpin;
	o.pin_arg = feed;
	r = rt_feed_null(feed, &null_s, err);
	if (r)
		return r;
	r = rt_loader_open(&o, &loader, err);
	if (r)
		return r;
	r = check(l, &o, feed, loader, err);
	if (r)
		return r;
	r = measure(feed, loader, rate, err);
	if (r)
		return r;
	report = rt_loader_report(loader);
	json_object_set(l->params, "data", json_object_get(report, "path"));
	json_object_set(l->params, "kind", json_object_get(report, "kind"));
	json_object_set_new(l->params, "batch", json_integer(ROWS));
	json_object_set_new(l->params, "batch_bytes", json_integer((json_int_t)batch_bytes));
	json_object_set_new(l->notes, "card", gt_json_str(rt_feed_card(feed)));
	json_object_set_new(l->notes, "null_us", gt_json_real(1e6 * null_s));
	publish(l, rate, batch_bytes);
	return 0;
}

static const char *const knobs[] = { "run.affinity", "run.mempolicy", "thp.", "block.", "gpu.", "cpu.governor",
				     "kernel.numa_balancing", NULL };

const struct bn_workload bn_workload_gpu_feed = {
	.id	   = "gpu.feed",
	.summary   = "samples per second from the data loader to the first CUDA device, copied during its work",
	.unit	   = "samples/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "the device's sum of the data equals that of a loader without threads",
	.overhead  = "two clock readings and a wait for the device per some hundredths of a second; null_us is an empty wait",
	.knobs	   = knobs,
	.launch_s  = 4,
	.optional  = true,
	.gpu	   = true,
	.unavailable = bn_no_cuda,
	.run	   = gpu_feed_run,
};
