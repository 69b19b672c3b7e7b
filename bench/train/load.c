/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and decodes every sample and collates batches, without a model, to measure the loader. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "bench/bench.h"
#include "bench/train/load.h"

#define TOKEN_ROWS	16
#define IMAGE_ROWS	64
#define SEQ		1024
#define SIZE		224

static void fill_defaults(struct rt_loader_options *l)
{
	bool images = l->kind == RT_DATA_SHARDS || l->kind == RT_DATA_FOLDER;

	if (!l->rows)
		l->rows = images ? IMAGE_ROWS : TOKEN_ROWS;
	if (!l->seq && !images)
		l->seq = SEQ;
	if (!l->size && images)
		l->size = SIZE;
	if (images)
		l->seq = 0;
	else
		l->size = 0;
}

/* tokens, padded: for documents, the tokens without and with padding */
static json_t *document(const struct rt_loader *l, const struct rt_loader_options *o, uint64_t batches, uint64_t tokens,
			uint64_t padded, double seconds)
{
	json_t *doc = json_object(), *report = rt_loader_report(l);
	double samples = (double)batches * (double)o->rows, per_sample = o->seq ? (double)o->seq : 1;
	double items = samples * per_sample, bytes = ((double)rt_loader_row_bytes(l) + 4 * per_sample) * samples;
	const struct rt_length *shape;

	if (rt_loader_lengths(l, &shape)) {
		items = (double)tokens;
		samples = (double)batches / (double)rt_loader_epoch_batches(l) * (double)rt_loader_samples(l);
		bytes = (double)padded * 8;
	}

	json_object_set_new(doc, "schema", json_string(BN_DATA_SCHEMA));
	json_object_update(doc, report);
	json_decref(report);
	json_object_set_new(doc, "batch", json_integer(o->rows));
	json_object_set_new(doc, "seq", json_integer(o->seq));
	json_object_set_new(doc, "size", json_integer(o->size));
	json_object_set_new(doc, "timed_batches", json_integer((json_int_t)batches));
	json_object_set_new(doc, "seconds", gt_json_real(seconds));
	json_object_set_new(doc, "samples_per_s", gt_json_real(samples / seconds));
	json_object_set_new(doc, "items_per_s", gt_json_real(items / seconds));
	json_object_set_new(doc, "unit", json_string(o->seq ? "tokens" : "samples"));
	json_object_set_new(doc, "bytes_per_s", gt_json_real(bytes / seconds));
	return doc;
}

int bn_load(const struct bn_load_options *given, json_t **ret, struct gt_err *err)
{
	struct bn_load_options o = *given;
	gt_auto(rt_loader) *l = NULL;
	const struct rt_length *shape;
	uint64_t total, tokens = 0, padded = 0;
	double t0 = 0;
	int r = o.loader.kind == RT_DATA_AUTO ? rt_data_guess(o.loader.path, &o.loader.kind, err) : 0;

	if (r)
		return r;
	fill_defaults(&o.loader);
	r = rt_loader_open(&o.loader, &l, err);
	if (r)
		return r;
	if (!o.batches && rt_loader_lengths(l, &shape))
		o.batches = rt_loader_epoch_batches(l) * GT_MAX(o.epochs, 1u);
	if (!o.batches)
		o.batches = (rt_loader_samples(l) * GT_MAX(o.epochs, 1u) + (uint64_t)o.loader.rows - 1) / (uint64_t)o.loader.rows;
	total = o.warmup + o.batches;
	for (uint64_t i = 0; i < total; i++) {
		struct rt_batch b;

		if (i == o.warmup)
			t0 = gt_now_s();
		r = rt_loader_next(l, &b, err);
		if (r)
			return r;
		if (i >= o.warmup && rt_loader_lengths(l, &shape)) {
			tokens += b.tokens;
			padded += (uint64_t)(shape[b.length].rows * shape[b.length].width);
		}
		if (o.progress && o.progress(o.arg, i + 1, total))
			return gt_fail(err, EINTR, "interrupted after batch %" PRIu64, i + 1);
	}
	*ret = document(l, &o.loader, o.batches, tokens, padded, gt_now_s() - t0);
	return 0;
}
