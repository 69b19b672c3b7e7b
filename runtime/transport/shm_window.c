/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of ranks on one host: each rank places the memory of its file descriptor, and all ranks map it. */
#include <errno.h>
#include <fcntl.h>
#include <numa.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runtime/transport/transport.h"

#define HUGE	((size_t)2 << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

static size_t window_size(const struct rt_window *w)
{
	return (w->bytes + HUGE - 1) / HUGE * HUGE;
}

/*
 * Touches the pages, so that they are on the node of the own CPUs, or where the touching thread runs. The kernel
 * follows MADV_HUGEPAGE for shared memory only if shmem_enabled is "advise"; the default is "never". Therefore touched
 * pages are collapsed to huge pages here, which works with every setting (Linux 6.1), before the other ranks map them.
 */
static void touch_own(struct rt_window *w)
{
	int node = numa_available() < 0 ? -1 : w->comm->home;

	if (w->huge_pages)
		madvise(w->base, window_size(w), MADV_HUGEPAGE);
	if (node >= 0)
		numa_tonode_memory(w->base, window_size(w), node);
	memset(w->base, 0, window_size(w));
	if (w->huge_pages)
		w->huge_pages = madvise(w->base, window_size(w), MADV_COLLAPSE) == 0;
}

/* Maps a rank's file with whole huge pages, aligned to a huge page. */
static int map_rank(struct rt_window *w, int rank, size_t at, struct gt_err *err)
{
	size_t size = window_size(w);
	char *raw = mmap(NULL, size + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *base;

	if (raw == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot map %zu bytes of rank %d", size, rank);
	base = (char *)(((uintptr_t)raw + HUGE - 1) / HUGE * HUGE);
	if (base > raw)
		munmap(raw, (size_t)(base - raw));
	munmap(base + size, (size_t)(raw + HUGE - base));
	if (mmap(base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, w->comm->fd[rank], (off_t)at) == MAP_FAILED) {
		munmap(base, size);
		return gt_fail_errno(err, errno, "cannot map %zu bytes of rank %d", size, rank);
	}
	w->peer[rank] = base;
	return 0;
}

/* at: offset of the window in the memory of each rank. */
static int map_all(struct rt_window *w, const double *at, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < w->comm->size; i++)
		r = map_rank(w, i, (size_t)at[i], err);
	return r;
}

static int map_once(struct rt_window *w, size_t at, struct gt_err *err)
{
	struct rt_comm *c = w->comm, *root = rt_comm_root(c);
	struct rt_mapping *own = gt_xcalloc(1, sizeof(*own));
	double all[RT_MAX_RANKS];
	int r = map_rank(w, c->rank, at, err);

	*own = (struct rt_mapping){ .next = root->mappings, .base = w->peer[c->rank], .bytes = window_size(w) };
	root->mappings = own;
	/* user addresses have 47 bits, a double is exact up to 53 */
	if (!r)
		r = rt_comm_gather(c, (double)(uintptr_t)w->peer[c->rank], all, err);
	for (int i = 0; !r && i < c->size; i++)
		w->peer[i] = (char *)(uintptr_t)all[i];
	return r;
}

void rt_shm_free_unmapped(struct rt_comm *c)
{
	for (struct rt_unmapped *l = c->unmapped, *next; l; l = next) {
		next = l->next;
		free(l);
	}
	c->unmapped = NULL;
}

/*
 * Returns memory of unmapped windows to the kernel when the next window is mapped. By then all ranks have made that
 * call, so no rank still reads data of the last collective.
 */
static void give_back(struct rt_comm *c)
{
	for (const struct rt_unmapped *l = c->unmapped; l; l = l->next)
		fallocate(c->fd[c->rank], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)l->at, (off_t)l->bytes);
	rt_shm_free_unmapped(c);
}

int rt_shm_map(struct rt_comm *c, struct rt_window *w, struct gt_err *err)
{
	size_t size = window_size(w), at = rt_comm_root(c)->fd_bytes;
	double all[RT_MAX_RANKS];
	int r = 0;

	if (ftruncate(c->fd[c->rank], (off_t)(at + size)) < 0)
		r = gt_fail_errno(err, errno, "cannot get %zu bytes of shared memory for rank %d", size, c->rank);
	/* the ranks of this group may have mapped different windows with other groups before */
	if (!r)
		r = rt_comm_gather(c, (double)at, all, err);
	if (!r)
		give_back(c);
	w->at = at;
	if (!r)
		r = c->one_process ? map_once(w, at, err) : map_all(w, all, err);
	w->base = w->peer[c->rank];
	if (r) {
		c->transport->unmap(w);
		return r;
	}
	touch_own(w);
	rt_comm_root(c)->fd_bytes = at + size;
	r = rt_comm_gather(c, 0, all, err);
	if (r)
		c->transport->unmap(w);
	/* the pages of the other ranks exist now: map them here, not during the first reduction */
	for (int i = 0; !r && !c->one_process && i < c->size; i++)
		for (size_t page = 0; page < size; page += 4096)
			(void)*(volatile char *)(w->peer[i] + page);
	return r;
}

void rt_shm_unmap(struct rt_window *w)
{
	struct rt_comm *c = w->comm;
	struct rt_unmapped *l = gt_xcalloc(1, sizeof(*l));

	*l = (struct rt_unmapped){ .next = c->unmapped, .at = w->at, .bytes = window_size(w) };
	c->unmapped = l;
	for (int i = 0; i < w->comm->size; i++)
		if (w->peer[i] && !w->comm->one_process)
			munmap(w->peer[i], window_size(w));
}
