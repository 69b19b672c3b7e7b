/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/files.h"
#include "runtime/data/image.h"
#include "runtime/data/loader_priv.h"

void rt_loader_memory(const struct rt_loader *l, void **ret_base, size_t *ret_bytes)
{
	*ret_base = l->arena.base;
	*ret_bytes = l->arena.bytes;
}

uint64_t rt_loader_samples(const struct rt_loader *l)
{
	return l->n;
}

enum rt_data_kind rt_loader_kind(const struct rt_loader *l)
{
	return l->source->kind;
}

size_t rt_loader_row_bytes(const struct rt_loader *l)
{
	return l->row_x;
}

int rt_loader_lengths(const struct rt_loader *l, const struct rt_length **ret)
{
	*ret = l->source->lengths ? l->source->lengths->of : NULL;
	return l->source->lengths ? l->source->lengths->n : 0;
}

uint64_t rt_loader_epoch_batches(const struct rt_loader *l)
{
	return l->source->lengths ? l->source->lengths->batches : 0;
}

double rt_loader_wait_s(const struct rt_loader *l)
{
	return (double)l->wait_ns * 1e-9;
}

static void put(json_t *doc, const char *key, uint64_t v)
{
	json_object_set_new(doc, key, json_integer((json_int_t)v));
}

/* Returns the share of padding in an epoch, including empty rows. width 0: with the width of each length. */
static double padding_share(const struct rt_lengths *l, uint64_t ranks, int64_t width)
{
	double all = 0;

	for (int k = 0; k < l->n; k++)
		all += width ? (double)l->of[k].documents * (double)width :
			       (double)l->of[k].batches * (double)(l->of[k].rows * l->of[k].width) * (double)ranks;
	return 1 - (double)l->tokens / all;
}

static json_t *documents_report(const struct rt_loader *l)
{
	const struct rt_lengths *all = l->source->lengths;
	json_t *doc, *list = json_array();

	if (!all) {
		json_decref(list);
		return json_null();
	}
	doc = json_object();
	put(doc, "tokens", all->tokens);
	put(doc, "skipped", all->skipped);
	for (int k = 0; k < all->n; k++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:I}", "width", (json_int_t)all->of[k].width, "rows",
						      (json_int_t)all->of[k].rows, "documents", (json_int_t)all->of[k].documents,
						      "batches", (json_int_t)all->of[k].batches));
	json_object_set_new(doc, "lengths", list);
	json_object_set_new(doc, "padding_share",
			    gt_json_real(padding_share(all, (uint64_t)(l->o.all_rows / l->o.rows), 0)));
	json_object_set_new(doc, "padding_share_one_length", gt_json_real(padding_share(all, 1, all->of[all->n - 1].width)));
	put(doc, "tokens_read", l->tokens);
	put(doc, "tokens_read_padded", l->padded);
	return doc;
}

json_t *rt_loader_report(const struct rt_loader *l)
{
	struct rt_loader *locked = (struct rt_loader *)(uintptr_t)l;
	json_t *doc = json_object(), *corrupt = json_object();
	gt_autofree char *cpus = gt_set_format(&l->cpus);
	double work = 0;

	for (int i = 0; i < GT_MAX(l->o.workers, 1); i++)
		work += (double)atomic_load(&l->worker[i].work_ns) * 1e-9;
	json_object_set_new(doc, "path", gt_json_str(l->o.path ? l->o.path : RT_DEFAULT_TEXT));
	json_object_set_new(doc, "kind", json_string(rt_data_kinds[l->source->kind]));
	put(doc, "samples", l->n);
	put(doc, "files", l->source->files);
	put(doc, "bytes", l->source->bytes);
	put(doc, "workers", (uint64_t)l->o.workers);
	put(doc, "prefetch", (uint64_t)l->o.prefetch);
	json_object_set_new(doc, "cpus", cpus[0] ? gt_json_str(cpus) : json_null());
	put(doc, "buffer_bytes", l->arena.bytes);
	json_object_set_new(doc, "pages", json_string(rt_arena_huge_fraction(&l->arena) > 0.5 ? "huge" : "base"));
	put(doc, "batch_bytes", l->batch_x);
	put(doc, "batches", l->ticket - l->o.start);
	put(doc, "epoch", l->epoch);
	json_object_set_new(doc, "wait_s", gt_json_real(rt_loader_wait_s(l)));
	put(doc, "waits", l->waits);
	json_object_set_new(doc, "work_s", gt_json_real(l->o.workers ? work : rt_loader_wait_s(l)));
	put(corrupt, "count", atomic_load(&l->corrupt.count));
	pthread_mutex_lock(&locked->corrupt.lock);
	json_object_set_new(corrupt, "samples", json_deep_copy(l->corrupt.named));
	pthread_mutex_unlock(&locked->corrupt.lock);
	json_object_set_new(doc, "corrupt", corrupt);
	json_object_set_new(doc, "cache", rt_image_cache_report(l->cache));
	json_object_set(doc, "truncated", l->source->truncated ? l->source->truncated : json_null());
	json_object_set_new(doc, "documents", documents_report(l));
	return doc;
}
