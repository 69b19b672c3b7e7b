/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between processes of one host. A rank's window is memory that all ranks map. A rank publishes its progress in a
 * collective as one number, seq[channel], which it alone writes and all ranks read.
 *
 * allreduce, one node:  1 own data is in place | 2 own segment is summed and written to all windows | all at 2: complete
 * allreduce, nodes:     1 | 2 own segment is summed over the own node, into the own window | 3 own part of it is summed over the
 *                       nodes and written to the ranks with the same index there | 4 own segment is complete | 5 the other
 *                       segments of the own node are copied
 *                       Each byte crosses between nodes once in each direction, for any number of ranks per node.
 * alltoall, allgather:  1 own data is in place, and the other ranks read it there
 * host_sum:             1 | 2 own segment is summed into rank 0's window | rank 0 waits for all at 2
 * host_share:           2 rank 0: data is in place | 2 the others: data is copied | rank 0 waits for all at 2
 */
#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include "runtime/transport/star.h"
#include "runtime/transport/transport.h"

#define STAGES	16u

void rt_shm_ring(struct rt_comm *c)
{
	struct rt_shm *s = c->shm;

	atomic_fetch_add(&s->bell, 1);
	if (atomic_load(&s->sleepers))
		syscall(SYS_futex, &s->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void arrive(struct rt_coll *k, int stage)
{
	struct rt_comm *c = k->window->comm;

	k->stage = stage;
	atomic_store_explicit(&c->shm->rank[c->rank].seq[k->channel], k->generation * STAGES + (uint32_t)stage,
			      memory_order_release);
	rt_shm_ring(c);
}

static bool reached(const struct rt_coll *k, int rank, int stage)
{
	uint32_t seq = atomic_load_explicit(&k->window->comm->shm->rank[rank].seq[k->channel], memory_order_acquire);

	return (int32_t)(seq - (k->generation * STAGES + (uint32_t)stage)) >= 0;
}

/* Returns the first rank of the team that has not reached the stage, or -1. team NULL: all ranks. */
static int missing(const struct rt_coll *k, const struct rt_team *team, int stage)
{
	int n = team ? team->n : k->window->comm->size;

	for (int i = 0; i < n; i++) {
		int rank = team ? team->rank[i] : i;

		if (!reached(k, rank, stage))
			return rank;
	}
	return -1;
}

static int shm_alive(struct rt_comm *c, struct gt_err *err)
{
	const struct rt_comm *first = rt_comm_root(c);
	struct rt_shm *root = first->shm;
	int dead = atomic_load(&root->dead);
	int64_t now_ms = (int64_t)(gt_now_s() * 1e3);

	atomic_store(&c->shm->rank[c->rank].polled_ms, now_ms);
	atomic_store(&root->rank[first->rank].polled_ms, now_ms);
	if (!dead)
		return first->star ? rt_star_watch(rt_comm_root(c), err) : 0;
	if (dead < 0)
		return gt_fail(err, EINTR, "interrupted");
	return gt_fail(err, ECONNRESET, "rank %d has ended: %s", dead - 1, root->why);
}

/* ---- collectives ---- */

static float *at_rank(const struct rt_coll *k, int rank)
{
	return (float *)(void *)(k->window->peer[rank] + k->offset);
}

void rt_comm_part(int64_t lo, int64_t hi, int m, int i, int64_t *from, int64_t *to)
{
	int64_t lines = (hi - lo + 15) / 16;

	*from = GT_MIN(lo + lines * i / m * 16, hi);
	*to = GT_MIN(lo + lines * (i + 1) / m * 16, hi);
}

static int flat(struct rt_coll *k)
{
	const struct rt_comm *c = k->window->comm;

	if (k->stage == 1) {
		float *x[RT_MAX_RANKS];
		int64_t lo, hi;

		if (missing(k, NULL, 1) >= 0)
			return 0;
		for (int i = 0; i < c->size; i++)
			x[i] = at_rank(k, i);
		rt_comm_part(0, k->n, c->size, c->rank, &lo, &hi);
		rt_sum_ranks(x, c->size, x, rt_coll_weights(k), c->size, lo, hi, k->threads);
		arrive(k, 2);
	}
	return missing(k, NULL, 2) < 0;
}

static void sum_node(struct rt_coll *k, const struct rt_team *team)
{
	const struct rt_comm *c = k->window->comm;
	float *x[RT_MAX_RANKS], *out = at_rank(k, c->rank), w[RT_MAX_RANKS];
	int64_t lo, hi;

	for (int i = 0; i < team->n; i++) {
		x[i] = at_rank(k, team->rank[i]);
		w[i] = rt_coll_weights(k)[team->rank[i]];
	}
	rt_comm_part(0, k->n, team->n, team->me, &lo, &hi);
	rt_sum_ranks(&out, 1, x, w, team->n, lo, hi, k->threads);
}

static void sum_cross(struct rt_coll *k, const struct rt_team *node, const struct rt_team *cross)
{
	float *x[RT_MAX_RANKS], one[RT_MAX_RANKS];
	int64_t lo, hi, from, to;

	for (int i = 0; i < cross->n; i++) {
		x[i] = at_rank(k, cross->rank[i]);
		one[i] = 1;
	}
	rt_comm_part(0, k->n, node->n, node->me, &lo, &hi);
	rt_comm_part(lo, hi, cross->n, cross->me, &from, &to);
	rt_sum_ranks(x, cross->n, x, one, cross->n, from, to, k->threads);
}

static void copy_node(struct rt_coll *k, const struct rt_team *node)
{
	float *own = at_rank(k, k->window->comm->rank);

	for (int i = 0; i < node->n; i++) {
		int64_t lo, hi;

		rt_comm_part(0, k->n, node->n, i, &lo, &hi);
		if (i != node->me)
			memcpy(own + lo, at_rank(k, node->rank[i]) + lo, (size_t)(hi - lo) * sizeof(float));
	}
}

static int hierarchical(struct rt_coll *k)
{
	struct rt_team node, cross;

	rt_comm_node_team(k->window->comm, &node);
	rt_comm_cross_team(k->window->comm, &cross);
	if (k->stage == 1 && missing(k, &node, 1) < 0) {
		sum_node(k, &node);
		arrive(k, 2);
	}
	if (k->stage == 2 && missing(k, &cross, 2) < 0) {
		sum_cross(k, &node, &cross);
		arrive(k, 3);
	}
	if (k->stage == 3 && missing(k, &cross, 3) < 0)
		arrive(k, 4);
	/* the own copy may overwrite a neighbour's segment only after all ranks have summed */
	if (k->stage == 4 && missing(k, &node, 4) < 0) {
		copy_node(k, &node);
		arrive(k, 5);
	}
	return k->stage == 5 && missing(k, &node, 5) < 0;
}

static int host_sum(struct rt_coll *k)
{
	const struct rt_comm *c = k->window->comm;

	if (k->stage == 1) {
		float *x[RT_MAX_RANKS];
		int64_t lo, hi;

		if (missing(k, NULL, 1) >= 0)
			return 0;
		for (int i = 0; i < c->size; i++)
			x[i] = at_rank(k, i);
		rt_comm_part(0, k->n, c->size, c->rank, &lo, &hi);
		rt_sum_ranks(x, 1, x, rt_coll_weights(k), c->size, lo, hi, k->threads);
		arrive(k, 2);
	}
	return c->rank > 0 || missing(k, NULL, 2) < 0;
}

static int host_share(struct rt_coll *k)
{
	const struct rt_comm *c = k->window->comm;

	if (c->rank == 0)
		return missing(k, NULL, 2) < 0;
	if (k->stage == 1 && reached(k, 0, 2)) {
		memcpy(at_rank(k, c->rank), at_rank(k, 0), (size_t)k->n * sizeof(float));
		arrive(k, 2);
	}
	return k->stage == 2;
}

static int shm_start(struct rt_coll *k, struct gt_err *err)
{
	arrive(k, k->kind == RT_HOST_SHARE && k->window->comm->rank == 0 ? 2 : 1);
	return 0;
}

static int poll_once(struct rt_coll *k)
{
	if (k->kind == RT_HOST_SUM)
		return host_sum(k);
	if (k->kind == RT_HOST_SHARE)
		return host_share(k);
	if (k->kind != RT_ALLREDUCE)
		return missing(k, NULL, 1) < 0;
	return rt_comm_is_hierarchical(k->window->comm) ? hierarchical(k) : flat(k);
}

static int shm_poll(struct rt_coll *k, struct gt_err *err)
{
	int r = shm_alive(k->window->comm, err);

	return r ? r : poll_once(k);
}

static int who_is_late(const struct rt_coll *k)
{
	for (int stage = 1; stage <= 5; stage++) {
		int rank = missing(k, NULL, stage);

		if (rank >= 0)
			return rank;
	}
	return 0;
}

static void sleep_on(struct rt_shm *s, uint32_t seen)
{
	struct timespec wait = { .tv_nsec = 100000000 };

	syscall(SYS_futex, &s->bell, FUTEX_WAIT, seen, &wait, NULL, 0);
}

static int in_root(const struct rt_comm *c, int rank)
{
	return c->root ? c->in_root[rank] : rank;
}

/* Publishes the rank that this one waits for. rank -1: none. */
static void set_awaited(struct rt_comm *c, int rank)
{
	struct rt_comm *root = rt_comm_root(c);

	atomic_store(&root->shm->rank[root->rank].waits_for, rank < 0 ? 0 : in_root(c, rank) + 1);
}

/* Returns whether a rank that waits has not polled for half the time limit: it was stopped, and its wait says nothing. */
static bool is_stopped(const struct rt_comm *root, int rank)
{
	return gt_now_s() * 1e3 - (double)atomic_load(&root->shm->rank[rank].polled_ms) > 500 * root->timeout_s;
}

/* Returns the rank for which `rank` waits. If that rank also waits, in any group, follows the chain to its end, or to a
 * rank that was stopped while it waited. */
static int find_missing(struct rt_comm *c, int rank)
{
	struct rt_comm *root = rt_comm_root(c);
	int at = rank < 0 ? root->rank : in_root(c, rank);

	for (int i = 0; i < root->size; i++) {
		int next = atomic_load(&root->shm->rank[at].waits_for) - 1;

		if (next < 0 || next == root->rank || (at != root->rank && is_stopped(root, at)))
			break;
		at = next;
	}
	return root->world[at];
}

int rt_shm_wait_until(struct rt_comm *c, int (*done)(void *arg), void *arg, int (*late)(void *arg), struct gt_err *err)
{
	double until = gt_now_s() + c->timeout_s;
	int r = 0;

	for (int i = 0; c->spin && i < RT_SPINS; i++) {
		if (done(arg))
			return 0;
		rt_pause_cpu();
	}
	atomic_fetch_add(&c->shm->sleepers, 1);
	while (!r) {
		uint32_t seen = atomic_load(&c->shm->bell);

		if (done(arg))
			break;
		r = shm_alive(c, err);
		if (!r)
			set_awaited(c, late(arg));
		if (!r && gt_now_s() > until)
			r = gt_fail(err, ETIMEDOUT, "rank %d has not arrived for %g s", find_missing(c, late(arg)),
				    c->timeout_s);
		if (!r)
			sleep_on(c->shm, seen);
	}
	if (!r) /* after a failure, the other ranks still need to find the cause */
		set_awaited(c, -1);
	atomic_fetch_sub(&c->shm->sleepers, 1);
	return r;
}

static int coll_done(void *arg)
{
	return poll_once(arg);
}

static int coll_late(void *arg)
{
	return who_is_late(arg);
}

static int shm_wait(struct rt_coll *k, struct gt_err *err)
{
	return rt_shm_wait_until(k->window->comm, coll_done, k, coll_late, err);
}

static const void *shm_from(const struct rt_coll *k, int rank)
{
	const struct rt_comm *c = k->window->comm;
	size_t own = k->kind == RT_ALLTOALL ? (size_t)c->rank * k->bytes : 0;

	return k->window->peer[rank] + k->offset + own;
}

/* ---- gather: one number from each rank ---- */

static int gather_late(void *arg)
{
	const struct rt_comm *c = arg;

	for (int i = 0; i < c->size; i++)
		if ((int32_t)(atomic_load(&c->shm->rank[i].gathered) - c->gather_generation) < 0)
			return i;
	return -1;
}

static int gather_done(void *arg)
{
	return gather_late(arg) < 0;
}

/* Uses two slots alternately. A rank reuses a slot only after the next gather, when all ranks have read it. */
static int shm_gather(struct rt_comm *c, double own, double *ret, struct gt_err *err)
{
	uint32_t g = ++c->gather_generation;
	int r;

	c->shm->rank[c->rank].mail[g % 2] = own;
	atomic_store(&c->shm->rank[c->rank].gathered, g);
	rt_shm_ring(c);
	r = rt_shm_wait_until(c, gather_done, c, gather_late, err);
	for (int i = 0; !r && i < c->size; i++)
		ret[i] = c->shm->rank[i].mail[g % 2];
	return r;
}

/* ---- synchronisation points ---- */

static void shm_arrive(struct rt_comm *c)
{
	atomic_fetch_add(&c->shm->rank[c->rank].arrivals, 1);
}

/* Returns the rank of the first group that has not polled for the longest time, if that is half the time limit; or -1. */
static int find_stopped(const struct rt_comm *root, double limit_s)
{
	int64_t oldest = (int64_t)((gt_now_s() - limit_s / 2) * 1e3);
	int found = -1;

	for (int i = 0; i < root->size; i++) {
		int64_t at = atomic_load(&root->shm->rank[i].polled_ms);

		if (i == root->rank || at >= oldest)
			continue;
		found = i;
		oldest = at;
	}
	return found;
}

/* Returns the rank that reached the fewest synchronisation points, if they are fewer than those of this rank; or -1. */
static int find_behind(const struct rt_comm *c)
{
	uint32_t own = atomic_load(&c->shm->rank[c->rank].arrivals);
	int32_t least = 0;
	int found = -1;

	for (int i = 0; i < c->size; i++) {
		int32_t ahead = (int32_t)(atomic_load(&c->shm->rank[i].arrivals) - own);

		found = ahead < least ? i : found;
		least = GT_MIN(least, ahead);
	}
	return found;
}

/* A rank of a part of the ranks that is behind and polls may wait for a rank outside of that part, so it is not named. */
static int shm_missing_rank(struct rt_comm *c)
{
	const struct rt_comm *root = rt_comm_root(c);
	int rank = find_stopped(root, c->timeout_s);

	if (rank < 0 && !c->root)
		rank = find_behind(c);
	return rank < 0 ? -1 : root->world[rank];
}

const struct rt_transport rt_transport_shm = {
	.name = "shm",
	.map = rt_shm_map,
	.unmap = rt_shm_unmap,
	.start = shm_start,
	.poll = shm_poll,
	.wait = shm_wait,
	.from = shm_from,
	.gather = shm_gather,
	.alive = shm_alive,
	.arrive = shm_arrive,
	.missing_rank = shm_missing_rank,
	.split = rt_shm_split,
};
