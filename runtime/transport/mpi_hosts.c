/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of ranks on several hosts: reduce to the first rank of the host, exchange across hosts, distribute.
 */
#include <errno.h>
#include "runtime/transport/mpi_lib.h"
#include "runtime/transport/transport.h"

struct parts {
	struct rt_window here, there; /* views of the window */
	struct rt_coll up, across, down;
	enum { UP, ACROSS, DOWN, DONE } stage;
};

static struct parts *of(const struct rt_coll *k)
{
	return k->request;
}

static int mpi_map(struct rt_comm *c, struct rt_window *w, struct gt_err *err)
{
	int r;

	w->local = gt_xcalloc(1, sizeof(*w->local));
	r = rt_window_map(c->local, w->bytes, w->huge_pages, w->local, err);
	if (r) {
		free(w->local);
		w->local = NULL;
		return r;
	}
	w->huge_pages = w->local->huge_pages;
	w->base = w->local->base;
	for (int i = 0; i < c->local->size; i++)
		w->peer[rt_comm_outer_rank(c, i)] = w->local->peer[i];
	return 0;
}

static void mpi_unmap(struct rt_window *w)
{
	rt_window_unmap(w->local);
	free(w->local);
	w->local = NULL;
}

static int mpi_init(struct rt_coll *k, struct gt_err *err)
{
	struct rt_comm *c = k->window->comm;
	struct parts *p = gt_xcalloc(1, sizeof(*p));
	int r = 0;

	k->request = p;
	p->here = rt_window_local(k->window);
	p->there = rt_window_across(k->window);
	p->up = p->across = p->down = (struct rt_coll){ .kind = k->kind, .offset = k->offset, .n = k->n, .bytes = k->bytes,
							.threads = k->threads, .unweighted = k->unweighted };
	p->up.window = p->down.window = &p->here;
	p->across.window = &p->there;
	p->up.kind = RT_HOST_SUM;
	p->down.kind = RT_HOST_SHARE;
	if (k->kind != RT_ALLREDUCE) {
		p->there.comm = c->flat;
		return rt_coll_init(&p->across, err);
	}
	r = rt_coll_init(&p->up, err);
	if (r)
		return r;
	r = rt_coll_init(&p->down, err);
	if (r)
		return r;
	return c->across ? rt_coll_init(&p->across, err) : 0;
}

static void mpi_clear(struct rt_coll *k)
{
	rt_coll_clear(&of(k)->up);
	rt_coll_clear(&of(k)->down);
	rt_coll_clear(&of(k)->across);
	free(of(k));
	k->request = NULL;
}

static int mpi_start(struct rt_coll *k, struct gt_err *err)
{
	struct parts *p = of(k);

	p->up.n = p->across.n = p->down.n = k->n;
	p->across.bytes = k->bytes;
	p->stage = k->kind == RT_ALLREDUCE ? UP : ACROSS;
	return rt_coll_start(p->stage == UP ? &p->up : &p->across, err);
}

/* The current part is complete: starts the next one. */
static int next(struct rt_coll *k, struct gt_err *err)
{
	struct parts *p = of(k);

	if (k->kind != RT_ALLREDUCE || p->stage == DOWN) {
		p->stage = DONE;
		return 0;
	}
	if (p->stage == UP && k->window->comm->across) {
		p->stage = ACROSS;
		return rt_coll_start(&p->across, err);
	}
	p->stage = DOWN;
	return rt_coll_start(&p->down, err);
}

static struct rt_coll *under_way(struct parts *p)
{
	return p->stage == UP ? &p->up : p->stage == ACROSS ? &p->across : &p->down;
}

static int mpi_poll(struct rt_coll *k, struct gt_err *err)
{
	struct parts *p = of(k);

	while (p->stage != DONE) {
		int r = rt_coll_poll(under_way(p), err);

		if (r > 0)
			r = next(k, err) < 0 ? -EIO : 1;
		if (r <= 0)
			return r;
	}
	return 1;
}

static int mpi_wait(struct rt_coll *k, struct gt_err *err)
{
	struct parts *p = of(k);
	int r = 0;

	while (!r && p->stage != DONE) {
		r = rt_coll_wait(under_way(p), err);
		if (!r)
			r = next(k, err);
	}
	return r;
}

static const void *mpi_from(const struct rt_coll *k, int rank)
{
	return rt_coll_from(&of(k)->across, rank);
}

static int mpi_gather(struct rt_comm *c, double own, double *ret, struct gt_err *err)
{
	return rt_comm_gather(c->flat, own, ret, err);
}

/* ---- the ranks of this host, as far as they can detect each other ---- */

static int mpi_alive(struct rt_comm *c, struct gt_err *err)
{
	return rt_comm_alive(c->local, err);
}

static void mpi_arrive(struct rt_comm *c)
{
	rt_comm_arrive(c->local);
}

static int mpi_missing_rank(struct rt_comm *c)
{
	return rt_comm_missing_rank(c->local);
}

const struct rt_transport rt_transport_mpi = {
	.name = "mpi",
	.map = mpi_map,
	.unmap = mpi_unmap,
	.init = mpi_init,
	.clear = mpi_clear,
	.start = mpi_start,
	.poll = mpi_poll,
	.wait = mpi_wait,
	.from = mpi_from,
	.gather = mpi_gather,
	.alive = mpi_alive,
	.arrive = mpi_arrive,
	.missing_rank = mpi_missing_rank,
	.split = rt_mpi_split,
};
