/* SPDX-License-Identifier: Apache-2.0 */
/* The data loader alone: batches of text windows, or of the user's data, through worker threads and a ring to the
 * reader. */
#include <stdio.h>
#include <string.h>
#include "bench/workload/workloads.h"
#include "runtime/data/loader.h"

#define SAMPLES	16
#define WARMUP	2
#define SECONDS	.08 /* approximate duration of a sample */
#define CHECKED	32  /* batches compared with those of a loader without threads */
#define ROWS	16
#define SEQ	256
#define SIZE	64

static uint64_t digest(const struct rt_loader *l, const struct rt_batch *b, uint64_t seed)
{
	return gt_hash64(b->x, ROWS * rt_loader_row_bytes(l), gt_hash64(b->y, ROWS * sizeof(*b->y), seed));
}

static int read_some(struct rt_loader *l, uint64_t n, uint64_t *ret_digest, struct gt_err *err)
{
	uint64_t h = 0;

	for (uint64_t i = 0; i < n; i++) {
		struct rt_batch b;
		int r = rt_loader_next(l, &b, err);

		if (r)
			return r;
		if (ret_digest)
			h = digest(l, &b, h);
	}
	if (ret_digest)
		*ret_digest = h;
	return 0;
}

/* Checks that the batches do not depend on the number of threads. */
static int check(struct bn_launch *l, const struct rt_loader_options *o, struct rt_loader *threaded, struct gt_err *err)
{
	struct rt_loader_options alone = *o;
	gt_auto(rt_loader) *plain = NULL;
	uint64_t want, got;
	int r;

	alone.workers = 0;
	r = rt_loader_open(&alone, &plain, err);
	if (r)
		return r;
	r = read_some(plain, CHECKED, &want, err);
	if (r)
		return r;
	r = read_some(threaded, CHECKED, &got, err);
	if (r)
		return r;
	if (want != got || l->fault)
		snprintf(l->wrong, sizeof(l->wrong), "the batches of the loader's threads differ from those of one thread");
	return 0;
}

static int measure(struct bn_launch *l, struct rt_loader *loader, double *rate, struct gt_err *err)
{
	uint64_t n = 64;
	double t0 = gt_now_s();
	int r = read_some(loader, n, NULL, err);

	if (r)
		return r;
	n = (uint64_t)GT_MAX((double)n * SECONDS / (gt_now_s() - t0), 4.);
	for (int i = 0; i < SAMPLES; i++) {
		t0 = gt_now_s();
		r = read_some(loader, n, NULL, err);
		if (r)
			return r;
		rate[i] = (double)(n * ROWS) / (gt_now_s() - t0);
	}
	return 0;
}

static int data_load_run(struct bn_launch *l, struct gt_err *err)
{
	struct rt_loader_options o = { .path = l->data, .rows = ROWS, .seed = l->seed, .workers = 1, .prefetch = 4,
				       .max_corrupt = UINT64_MAX };
	gt_auto(rt_loader) *loader = NULL;
	gt_auto_json *report = NULL;
	double rate[SAMPLES];
	bool images;
	int r;

	r = rt_data_guess(l->data, &o.kind, err);
	if (r)
		return r;
	images = o.kind == RT_DATA_SHARDS || o.kind == RT_DATA_FOLDER;
	o.seq = images ? 0 : SEQ;
	o.size = images ? SIZE : 0;
	r = rt_loader_open(&o, &loader, err);
	if (r)
		return r;
	r = check(l, &o, loader, err);
	if (r)
		return r;
	r = measure(l, loader, rate, err);
	if (r)
		return r;
	report = rt_loader_report(loader);
	json_object_set(l->params, "data", json_object_get(report, "path"));
	json_object_set(l->params, "kind", json_object_get(report, "kind"));
	json_object_set(l->params, "samples", json_object_get(report, "samples"));
	json_object_set_new(l->params, "batch", json_integer(ROWS));
	json_object_set(l->notes, "pages", json_object_get(report, "pages"));
	bn_series(l, &bn_workload_data_load, "", BN_EXPLORE, rate, SAMPLES, WARMUP, false);
	return 0;
}

static const char *const knobs[] = { "run.affinity", "run.mempolicy", "thp.", "block.", "cpu.governor", "kernel.numa_balancing",
				     NULL };

const struct bn_workload bn_workload_data_load = {
	.id	   = "data.load",
	.summary   = "samples per second of the data loader: text windows, or the data of --data",
	.unit	   = "samples/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "batches equal those of a loader without threads",
	.overhead  = "two clock readings per some hundredths of a second of batches",
	.knobs	   = knobs,
	.launch_s  = 2,
	.optional  = true,
	.run	   = data_load_run,
};
