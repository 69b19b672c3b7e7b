/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from one rank to another. The slots are in the sender's window. Ranks of one host share two counters next to
 * them: the sender copies into the next free slot, and the receiver copies out of it. Without shared memory the slots
 * are the buffers of MPI messages.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include "runtime/transport/mpi_lib.h"
#include "runtime/transport/transport.h"

#define LINE	64u
#define TAG	(2 * RT_CHANNELS) /* first MPI tag after those of collectives */

/* At q->offset of the sender's window, which is zero at first. Each counter has one writer. */
struct counters {
	_Alignas(LINE) _Atomic uint32_t sent;
	_Alignas(LINE) _Atomic uint32_t received;
};

static size_t slot_bytes(const struct rt_p2p *q)
{
	return (q->bytes + LINE - 1) / LINE * LINE;
}

size_t rt_p2p_bytes(size_t bytes, int slots)
{
	return sizeof(struct counters) + (size_t)slots * slot_bytes(&(struct rt_p2p){ .bytes = bytes });
}

static int other_rank(const struct rt_p2p *q)
{
	return q->window->comm->rank == q->from ? q->to : q->from;
}

static bool shares_memory(const struct rt_p2p *q)
{
	return q->window->peer[other_rank(q)] != NULL;
}

static struct counters *counters_of(const struct rt_p2p *q)
{
	return (struct counters *)(void *)(q->window->peer[q->from] + q->offset);
}

static char *slot(const struct rt_p2p *q, uint32_t message)
{
	return q->window->peer[q->from] + q->offset + sizeof(struct counters) + message % (uint32_t)q->slots * slot_bytes(q);
}

/* Returns the MPI communicator of all ranks, or NULL. */
static void *mpi_comm(const struct rt_comm *c)
{
	return c->flat ? c->flat->mpi_comm : c->mpi_comm;
}

int rt_p2p_init(struct rt_p2p *q, struct gt_err *err)
{
	const struct rt_comm *c = q->window->comm;
	size_t bytes = rt_p2p_bytes(q->bytes, q->slots);

	if (q->from == q->to || (c->rank != q->from && c->rank != q->to) || q->slots < 1)
		return gt_fail(err, EINVAL, "rank %d cannot open a queue of %d slots from rank %d to rank %d", c->rank, q->slots,
			       q->from, q->to);
	if (q->offset > q->window->bytes || bytes > q->window->bytes - q->offset || q->offset % LINE)
		return gt_fail(err, EINVAL, "a queue of %zu bytes at %zu does not fit its window of %zu", bytes, q->offset,
			       q->window->bytes);
	q->count = 0;
	if (shares_memory(q)) {
		const struct counters *n = counters_of(q);

		q->count = atomic_load(c->rank == q->from ? &n->sent : &n->received);
		return 0;
	}
	if (!mpi_comm(c))
		return gt_fail(err, ENOSYS, "ranks %d and %d have no shared memory and no MPI to send tensors", q->from, q->to);
	if (q->bytes > INT_MAX)
		return gt_fail(err, EFBIG, "%zu bytes from rank to rank exceed the size of a message", q->bytes);
	q->requests = gt_xcalloc((size_t)q->slots, sizeof(*q->requests));
	return 0;
}

void rt_p2p_clear(struct rt_p2p *q)
{
	free(q->requests);
	q->requests = NULL;
}

/* ---- over shared memory ---- */

static int slot_is_free(void *arg)
{
	const struct rt_p2p *q = arg;

	return q->count - atomic_load_explicit(&counters_of(q)->received, memory_order_acquire) < (uint32_t)q->slots;
}

static int message_is_there(void *arg)
{
	const struct rt_p2p *q = arg;

	return atomic_load_explicit(&counters_of(q)->sent, memory_order_acquire) != q->count;
}

/* Returns the other rank's index among the ranks of this host. */
static int late(void *arg)
{
	const struct rt_p2p *q = arg;
	const struct rt_comm *c = q->window->comm, *local = c->local ? c->local : c;
	int i = 0;

	while (i + 1 < local->size && local->world[i] != c->world[other_rank(q)])
		i++;
	return i;
}

static int shm_send(struct rt_p2p *q, const void *data, struct gt_err *err)
{
	struct rt_comm *local = rt_comm_local(q->window->comm);
	int r = rt_shm_wait_until(local, slot_is_free, q, late, err);

	if (r)
		return r;
	memcpy(slot(q, q->count), data, q->bytes);
	atomic_store_explicit(&counters_of(q)->sent, ++q->count, memory_order_release);
	rt_shm_ring(local);
	return 0;
}

static int shm_receive(struct rt_p2p *q, void *data, struct gt_err *err)
{
	struct rt_comm *local = rt_comm_local(q->window->comm);
	int r = rt_shm_wait_until(local, message_is_there, q, late, err);

	if (r)
		return r;
	memcpy(data, slot(q, q->count), q->bytes);
	atomic_store_explicit(&counters_of(q)->received, ++q->count, memory_order_release);
	rt_shm_ring(local);
	return 0;
}

/* ---- over MPI ---- */

static int mpi_wait(const struct rt_p2p *q, void **request, struct gt_err *err)
{
	const struct rt_comm *c = q->window->comm;
	double until = gt_now_s() + c->timeout_s;

	for (int done = 0, round = 0;; round++) {
		c->lib->test(request, &done, NULL);
		if (done)
			return 0;
		if (c->spin && round < RT_SPINS)
			continue;
		if (gt_now_s() > until)
			return gt_fail(err, ETIMEDOUT, "rank %d has not arrived for %g s", c->world[other_rank(q)], c->timeout_s);
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	}
}

/* The request of a slot's first message is zero: nothing to wait for. */
static int mpi_send(struct rt_p2p *q, const void *data, struct gt_err *err)
{
	const struct rt_comm *c = q->window->comm;
	void **request = &q->requests[q->count % (uint32_t)q->slots];
	int r = *request ? mpi_wait(q, request, err) : 0;

	if (r)
		return r;
	memcpy(slot(q, q->count), data, q->bytes);
	c->lib->isend(slot(q, q->count), (int)q->bytes, c->lib->byte, q->to, TAG + q->tag, mpi_comm(c), request);
	q->count++;
	return 0;
}

static int mpi_receive(struct rt_p2p *q, void *data, struct gt_err *err)
{
	const struct rt_comm *c = q->window->comm;
	void *request = NULL;
	int r;

	c->lib->irecv(data, (int)q->bytes, c->lib->byte, q->from, TAG + q->tag, mpi_comm(c), &request);
	r = mpi_wait(q, &request, err);
	q->count += !r;
	return r;
}

int rt_send(struct rt_p2p *q, const void *data, struct gt_err *err)
{
	return shares_memory(q) ? shm_send(q, data, err) : mpi_send(q, data, err);
}

int rt_receive(struct rt_p2p *q, void *data, struct gt_err *err)
{
	return shares_memory(q) ? shm_receive(q, data, err) : mpi_receive(q, data, err);
}
