/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/data/files.h"
#include "runtime/data/image.h"
#include "runtime/data/loader_priv.h"

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

double rt_loader_wait_s(const struct rt_loader *l)
{
	return (double)l->wait_ns * 1e-9;
}

static void put(json_t *doc, const char *key, uint64_t v)
{
	json_object_set_new(doc, key, json_integer((json_int_t)v));
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
	json_object_set_new(doc, "pages", json_string(l->arena.huge_pages ? "huge" : "base"));
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
	return doc;
}
