/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by all transports. */
#include <errno.h>
#include <math.h>
#include "runtime/transport/transport.h"

int rt_comm_rank(const struct rt_comm *c)
{
	return c->rank;
}

int rt_comm_size(const struct rt_comm *c)
{
	return c->size;
}

const char *rt_comm_transport(const struct rt_comm *c)
{
	return c->transport->name;
}

int rt_comm_nodes(const struct rt_comm *c)
{
	return c->nodes;
}

int rt_comm_hosts(const struct rt_comm *c)
{
	return GT_MAX(c->hosts, 1);
}

int rt_comm_local_rank(const struct rt_comm *c)
{
	if (c->root)
		return rt_comm_local_rank(c->root);
	return c->star ? c->local_rank : c->local ? c->local->rank : c->rank;
}

bool rt_comm_launched(const struct rt_comm *c)
{
	return (c->root ? c->root : c)->star != NULL;
}

int rt_comm_outer_rank(const struct rt_comm *c, int local)
{
	int rank = 0;

	while (c->world[rank] != c->local->world[local])
		rank++;
	return rank;
}

struct rt_comm *rt_comm_local(struct rt_comm *c)
{
	return c->local ? c->local : c;
}

struct rt_comm *rt_comm_across(struct rt_comm *c)
{
	return c->across;
}

const char *rt_comm_place(const struct rt_comm *c)
{
	return c->place;
}

int rt_comm_cpus(const struct rt_comm *c)
{
	return c->cpus;
}

bool rt_comm_spins(const struct rt_comm *c)
{
	return c->spin;
}

int rt_comm_home(const struct rt_comm *c)
{
	return c->local ? c->local->home : c->home;
}

void rt_comm_set_timeout(struct rt_comm *c, double seconds)
{
	c->timeout_s = seconds;
	if (c->local)
		c->local->timeout_s = c->flat->timeout_s = seconds;
	if (c->across)
		c->across->timeout_s = seconds;
}

double rt_comm_timeout(const struct rt_comm *c)
{
	return c->timeout_s;
}

int rt_comm_alive(struct rt_comm *c, struct gt_err *err)
{
	return c->transport->alive ? c->transport->alive(c, err) : 0;
}

void rt_comm_arrive(struct rt_comm *c)
{
	if (c->transport->arrive)
		c->transport->arrive(c);
}

int rt_comm_missing_rank(struct rt_comm *c)
{
	return c->transport->missing_rank ? c->transport->missing_rank(c) : -1;
}

int rt_window_map(struct rt_comm *c, size_t bytes, bool huge_pages, struct rt_window *ret, struct gt_err *err)
{
	struct rt_window w = { .comm = c, .bytes = GT_MAX(bytes, 1u), .huge_pages = huge_pages };
	int r = rt_comm_agree(c, w.bytes, "the size of a window", err);

	if (r)
		return r;
	r = c->transport->map(c, &w, err);
	if (r)
		return r;
	*ret = w;
	return 0;
}

void rt_window_unmap(struct rt_window *w)
{
	if (w->base)
		w->comm->transport->unmap(w);
	w->base = NULL;
}

struct rt_window rt_window_local(const struct rt_window *w)
{
	return w->local ? *w->local : *w;
}

struct rt_window rt_window_across(const struct rt_window *w)
{
	struct rt_window view = *w;

	view.comm = w->comm->across;
	view.local = NULL;
	return view;
}

int rt_coll_init(struct rt_coll *k, struct gt_err *err)
{
	struct rt_comm *c = k->window->comm;
	bool exchange = k->kind == RT_ALLTOALL || k->kind == RT_ALLGATHER;
	size_t bytes = exchange ? k->bytes * (k->kind == RT_ALLTOALL ? (size_t)c->size : 1) : (size_t)k->n * sizeof(float);

	if (k->offset > k->window->bytes || bytes > k->window->bytes - k->offset)
		return gt_fail(err, EINVAL, "a collective of %zu bytes at %zu does not fit its window of %zu", bytes, k->offset,
			       k->window->bytes);
	k->channel = 0;
	while (k->channel < RT_CHANNELS && c->taken[k->channel])
		k->channel++;
	if (k->channel == RT_CHANNELS)
		return gt_fail(err, ENOSPC, "more than %d collectives: use larger buckets", RT_CHANNELS);
	c->taken[k->channel] = k->open = true;
	k->generation = c->generation[k->channel];
	return c->transport->init ? c->transport->init(k, err) : 0;
}

void rt_coll_clear(struct rt_coll *k)
{
	struct rt_comm *c = k->open ? k->window->comm : NULL;

	if (!c)
		return;
	if (c->transport->clear)
		c->transport->clear(k);
	c->generation[k->channel] = k->generation;
	c->taken[k->channel] = k->open = false;
}

int rt_coll_start(struct rt_coll *k, struct gt_err *err)
{
	k->generation++;
	return k->window->comm->transport->start(k, err);
}

int rt_coll_poll(struct rt_coll *k, struct gt_err *err)
{
	return k->window->comm->transport->poll(k, err);
}

int rt_coll_wait(struct rt_coll *k, struct gt_err *err)
{
	return k->window->comm->transport->wait(k, err);
}

const void *rt_coll_from(const struct rt_coll *k, int rank)
{
	return k->window->comm->transport->from(k, rank);
}

const float *rt_coll_weights(const struct rt_coll *k)
{
	static const float ones[RT_MAX_RANKS] = { [0 ... RT_MAX_RANKS - 1] = 1 };

	return k->unweighted ? ones : k->window->comm->weight;
}

int rt_comm_gather(struct rt_comm *c, double own, double ret[RT_MAX_RANKS], struct gt_err *err)
{
	return c->transport->gather(c, own, ret, err);
}

int rt_comm_agree(struct rt_comm *c, uint64_t value, const char *what, struct gt_err *err)
{
	double half[2] = { (double)(uint32_t)(value >> 32), (double)(uint32_t)value }, all[RT_MAX_RANKS];

	for (int h = 0; h < 2; h++) {
		int r = rt_comm_gather(c, half[h], all, err);

		if (r)
			return r;
		for (int i = 0; i < c->size; i++)
			if (fabs(all[i] - all[0]) > 0)
				return gt_fail(err, EINVAL, "ranks 0 and %d do not agree on %s: they must train the same program",
					       i, what);
	}
	return 0;
}

int rt_comm_set_weight(struct rt_comm *c, double weight, struct gt_err *err)
{
	double all[RT_MAX_RANKS], sum = 0;
	int r = rt_comm_gather(c, weight > 0 ? weight : 1.0 / c->size, all, err);

	if (r)
		return r;
	for (int i = 0; i < c->size; i++)
		sum += all[i];
	if (!(fabs(sum - 1) < 1e-6))
		return gt_fail(err, EINVAL, "the weights of %d ranks add up to %g, not to 1", c->size, sum);
	for (int i = 0; i < c->size; i++)
		c->weight[i] = (float)all[i];
	for (int i = 0; c->local && i < c->local->size; i++)
		c->local->weight[i] = (float)all[rt_comm_outer_rank(c, i)];
	return 0;
}

double rt_comm_weight(const struct rt_comm *c, int rank)
{
	return (double)c->weight[rank];
}

void rt_comm_node_team(const struct rt_comm *c, struct rt_team *ret)
{
	ret->n = ret->me = 0;
	for (int i = 0; i < c->size; i++)
		if (c->node[i] == c->node[c->rank]) {
			if (i == c->rank)
				ret->me = ret->n;
			ret->rank[ret->n++] = i;
		}
}

void rt_comm_cross_team(const struct rt_comm *c, struct rt_team *ret)
{
	struct rt_team own;

	rt_comm_node_team(c, &own);
	ret->n = c->nodes;
	ret->me = c->node[c->rank];
	for (int node = 0; node < c->nodes; node++)
		for (int i = 0, seen = 0; i < c->size; i++)
			if (c->node[i] == node && seen++ == own.me)
				ret->rank[node] = i;
}

bool rt_comm_is_hierarchical(const struct rt_comm *c)
{
	int count[RT_MAX_RANKS] = { 0 };

	for (int i = 0; i < c->size; i++)
		count[c->node[i]]++;
	for (int i = 1; i < c->nodes; i++)
		if (count[i] != count[0])
			return false;
	return c->nodes > 1;
}
