/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between ranks that share no memory, over point-to-point messages. MPI's own collectives may sum in an order that
 * differs between ranks, and make no progress while a rank computes.
 *
 * allreduce:            1 own part of every rank's floats is received, the other parts are sent to their ranks
 *                       2 the sum of the own part, in rank order, is sent to all, and the other sums are received
 * alltoall, allgather:  1
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "runtime/transport/mpi_lib.h"
#include "runtime/transport/transport.h"

/* OpenMPI polls its sockets at every eighth call only (opal_progress). */
#define LOOKS	8

struct flat {
	rt_mpi_request *open; /* [2*size]: send to rank i, receive from rank i */
};

static struct flat *of(const struct rt_coll *k)
{
	return k->request;
}

static int flat_map(struct rt_comm *c, struct rt_window *w, struct gt_err *err)
{
	void *p = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return gt_fail_errno(err, errno, "cannot map %zu bytes", w->bytes);
	w->huge_pages = w->huge_pages && madvise(p, w->bytes, MADV_HUGEPAGE) == 0;
	w->base = w->peer[c->rank] = p;
	return 0;
}

static void flat_unmap(struct rt_window *w)
{
	munmap(w->base, w->bytes);
}

/* Returns the size of the largest message between two ranks. */
static size_t largest(const struct rt_coll *k)
{
	if (k->kind != RT_ALLREDUCE)
		return k->bytes;
	return (size_t)(k->n / k->window->comm->size + 32) * sizeof(float);
}

static int flat_init(struct rt_coll *k, struct gt_err *err)
{
	size_t size = (size_t)k->window->comm->size;
	struct flat *f;

	if (largest(k) > INT_MAX)
		return gt_fail(err, EFBIG, "%zu bytes from rank to rank exceed the size of a message", largest(k));
	f = gt_xcalloc(1, sizeof(*f));
	f->open = gt_xcalloc(2 * size, sizeof(*f->open));
	k->request = f;
	k->received = malloc(GT_MAX(size * largest(k), 1u));
	return k->received ? 0 : gt_fail(err, ENOMEM, "no memory for %zu bytes of %zu ranks", largest(k), size);
}

static void flat_clear(struct rt_coll *k)
{
	if (of(k))
		free(of(k)->open);
	free(k->request);
	free(k->received);
	k->request = k->received = NULL;
}

static char *own(const struct rt_coll *k)
{
	return k->window->base + k->offset;
}

static char *received(const struct rt_coll *k, int rank)
{
	return (char *)k->received + (size_t)rank * largest(k);
}

/* Returns the offset of rank `rank`'s part in bytes, and its size. */
static size_t part_of(const struct rt_coll *k, int rank, size_t *ret)
{
	int64_t lo, hi;

	rt_comm_part(0, k->n, k->window->comm->size, rank, &lo, &hi);
	*ret = (size_t)(hi - lo) * sizeof(float);
	return (size_t)lo * sizeof(float);
}

static void post(struct rt_coll *k, int rank, const void *out, size_t n_out, void *in, size_t n_in)
{
	const struct rt_comm *c = k->window->comm;
	int tag = k->channel * 2 + k->stage - 1;

	/* any error ends the job, and MPI prints its own message */
	c->lib->irecv(in, (int)n_in, c->lib->byte, rank, tag, c->mpi_comm, &of(k)->open[2 * rank + 1]);
	c->lib->isend(out, (int)n_out, c->lib->byte, rank, tag, c->mpi_comm, &of(k)->open[2 * rank]);
}

static int flat_start(struct rt_coll *k, struct gt_err *err)
{
	const struct rt_comm *c = k->window->comm;
	size_t ours = 0, theirs = 0;

	k->stage = 1;
	if (k->kind == RT_ALLREDUCE)
		part_of(k, c->rank, &ours);
	for (int i = 0; i < c->size; i++) {
		if (i == c->rank)
			continue;
		if (k->kind == RT_ALLREDUCE) {
			size_t at = part_of(k, i, &theirs);

			post(k, i, own(k) + at, theirs, received(k, i), ours);
		} else {
			size_t at = k->kind == RT_ALLTOALL ? (size_t)i * k->bytes : 0;

			post(k, i, own(k) + at, k->bytes, received(k, i), k->bytes);
		}
	}
	return 0;
}

/* Returns the first rank with an unfinished transfer, or -1. */
static int open_with(const struct rt_coll *k)
{
	const struct rt_comm *c = k->window->comm;

	for (int i = 0; i < 2 * c->size; i++) {
		int done = 1;

		if (i / 2 != c->rank)
			c->lib->test(&of(k)->open[i], &done, NULL);
		for (int more = LOOKS; !done && more > 0; more--)
			c->lib->test(&of(k)->open[i], &done, NULL);
		if (!done)
			return i / 2;
	}
	return -1;
}

static void sum_mine(struct rt_coll *k)
{
	const struct rt_comm *c = k->window->comm;
	float *x[RT_MAX_RANKS], *out;
	size_t bytes = 0, at = part_of(k, c->rank, &bytes);

	for (int i = 0; i < c->size; i++)
		x[i] = (float *)(void *)(i == c->rank ? own(k) + at : received(k, i));
	out = x[c->rank];
	rt_sum_ranks(&out, 1, x, rt_coll_weights(k), c->size, 0, (int64_t)(bytes / sizeof(float)), k->threads);
	k->stage = 2;
	for (int i = 0; i < c->size; i++) {
		size_t theirs = 0, to = part_of(k, i, &theirs);

		if (i != c->rank)
			post(k, i, out, bytes, own(k) + to, theirs);
	}
}

static int flat_poll(struct rt_coll *k, struct gt_err *err)
{
	if (open_with(k) >= 0)
		return 0;
	if (k->kind != RT_ALLREDUCE || k->stage == 2)
		return 1;
	sum_mine(k);
	return open_with(k) < 0;
}

/* Spins briefly if every rank has its own CPU, then polls every few microseconds, because MPI has no call that sleeps. */
static int flat_wait(struct rt_coll *k, struct gt_err *err)
{
	const struct rt_comm *c = k->window->comm;
	double until = gt_now_s() + c->timeout_s;

	for (int round = 0;; round++) {
		int r = flat_poll(k, err);

		if (r)
			return r < 0 ? r : 0;
		if (c->spin && round < RT_SPINS) {
			rt_pause_cpu();
			continue;
		}
		if (gt_now_s() > until)
			return gt_fail(err, ETIMEDOUT, "rank %d has not arrived for %g s", c->world[GT_MAX(open_with(k), 0)],
				       c->timeout_s);
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
}

static const void *flat_from(const struct rt_coll *k, int rank)
{
	if (rank != k->window->comm->rank)
		return received(k, rank);
	return own(k) + (k->kind == RT_ALLTOALL ? (size_t)rank * k->bytes : 0);
}

static int flat_gather(struct rt_comm *c, double own, double *ret, struct gt_err *err)
{
	double until = gt_now_s() + c->timeout_s;
	rt_mpi_request open;
	int done = 0;

	c->lib->iallgather(&own, 1, c->lib->real, ret, 1, c->lib->real, c->mpi_comm, &open);
	for (;;) {
		c->lib->test(&open, &done, NULL);
		if (done)
			return 0;
		/* the missing rank is unknown here; mpirun reports ranks that have ended */
		if (gt_now_s() > until)
			return gt_fail(err, ETIMEDOUT, "a rank has not arrived for %g s", c->timeout_s);
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
}

const struct rt_transport rt_transport_mpi_flat = {
	.name = "mpi",
	.map = flat_map,
	.unmap = flat_unmap,
	.init = flat_init,
	.clear = flat_clear,
	.start = flat_start,
	.poll = flat_poll,
	.wait = flat_wait,
	.from = flat_from,
	.gather = flat_gather,
};
