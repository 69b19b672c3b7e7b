/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include "runtime/data/image.h"
#include "runtime/memory/arena.h"

enum { EMPTY, TAKEN, FULL };
struct entry {
	_Atomic uint32_t state;
	uint32_t w, h, full_w, full_h;
	int32_t label;
	uint64_t at;
};
struct rt_image_cache {
	struct rt_arena arena;
	uint64_t budget, n;
	struct entry *entry;
	_Atomic uint64_t used, images, hits, misses;
};

int rt_image_cache_new(const struct rt_loader_options *o, uint64_t n, struct rt_image_cache **ret, struct gt_err *err)
{
	struct rt_image_cache *c;
	uint64_t small = (uint64_t)(o->size * o->size * 3), most = o->cache_bytes;
	int r;

	if (!o->cache_bytes)
		return 0;
	if (o->augment != RT_AUGMENT_CROP) /* all images then have one size: no more than their total is needed */
		most = GT_MIN(most, (small + 63) / 64 * 64 * n);
	if (most / (uint64_t)sysconf(_SC_PAGESIZE) > (uint64_t)sysconf(_SC_PHYS_PAGES))
		return gt_fail(err, ENOMEM, "the cache of images is larger than the machine's memory");
	c = gt_xcalloc(1, sizeof(*c));
	r = rt_arena_map(&c->arena, most, !o->no_huge_pages, 1, err);
	if (r) {
		free(c);
		return gt_fail_prefix(err, "the cache of images");
	}
	c->budget = most;
	c->n = n;
	c->entry = gt_xcalloc(n, sizeof(*c->entry));
	*ret = c;
	return 0;
}

void rt_image_cache_free(struct rt_image_cache *c)
{
	if (!c)
		return;
	rt_arena_unmap(&c->arena);
	free(c->entry);
	free(c);
}

bool rt_image_cache_get(struct rt_image_cache *c, uint64_t sample, struct rt_cached *ret)
{
	const struct entry *e;

	if (!c)
		return false;
	e = &c->entry[sample];
	if (atomic_load_explicit(&e->state, memory_order_acquire) != FULL) {
		atomic_fetch_add_explicit(&c->misses, 1, memory_order_relaxed);
		return false;
	}
	atomic_fetch_add_explicit(&c->hits, 1, memory_order_relaxed);
	*ret = (struct rt_cached){ (unsigned char *)c->arena.base + e->at, e->w, e->h, e->full_w, e->full_h, e->label };
	return true;
}

/*
 * Reserves the space before the entry is filled. Two workers may have the same sample at the border of two epochs; only
 * one fills the entry.
 */
void rt_image_cache_put(struct rt_image_cache *c, uint64_t sample, const struct rt_cached *from, size_t bytes)
{
	struct entry *e = c ? &c->entry[sample] : NULL;
	uint32_t empty = EMPTY;
	uint64_t room = (bytes + 63) / 64 * 64, at;

	if (!c || atomic_load_explicit(&c->used, memory_order_relaxed) + room > c->budget)
		return;
	if (!atomic_compare_exchange_strong(&e->state, &empty, TAKEN))
		return;
	at = atomic_load(&c->used);
	do {
		if (at + room > c->budget) {
			atomic_store(&e->state, EMPTY);
			return;
		}
	} while (!atomic_compare_exchange_weak(&c->used, &at, at + room));
	memcpy(c->arena.base + at, from->p, bytes);
	e->at = at;
	e->w = from->w;
	e->h = from->h;
	e->full_w = from->full_w;
	e->full_h = from->full_h;
	e->label = from->label;
	atomic_store_explicit(&e->state, FULL, memory_order_release);
	atomic_fetch_add_explicit(&c->images, 1, memory_order_relaxed);
}

json_t *rt_image_cache_report(const struct rt_image_cache *c)
{
	if (!c)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "bytes", (json_int_t)c->budget, "used_bytes",
			 (json_int_t)atomic_load(&c->used), "images", (json_int_t)atomic_load(&c->images), "hits",
			 (json_int_t)atomic_load(&c->hits), "misses", (json_int_t)atomic_load(&c->misses));
}
