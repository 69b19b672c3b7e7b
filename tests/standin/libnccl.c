/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL for tests without a GPU: ranks communicate through a file of shared memory, named by the unique id. Collectives
 * are enqueued on the stand-in driver's streams like other work. A non-blocking communicator reports busy after each
 * call, as the library may.
 *
 * STANDIN_NCCL_VERSION=N sets another version. STANDIN_NCCL_FAIL=RANK:HOW:N makes that rank die (kill), stop forever
 * (hang; stuck: only its device), or get CODE as its asynchronous error (a number), before its Nth collective on the device;
 * "init" as N: while it joins.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "record.h"
#include "standin.h"

#define CHUNK	(1 << 17) /* bytes; a multiple of all tested numbers of ranks */
#define RANKS	16
#define BOX	(1 << 14) /* bytes of a message that are under way */
#define CONNECTED 512 /* kinds and sizes of collectives */
#define GROUPED 64
#define REGISTERED 512
#define JOINING (-1L)

enum { OK = 0, INVALID = 4, BUSY = 7 };
enum { INT8 = 0, HALF = 6, FLOAT = 7, DOUBLE = 8, BFLOAT16 = 9, SUM = 0, AVG = 4 };

struct unique_id {
	char internal[128];
};
struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};
struct hall {
	atomic_int arrived, round;
	_Alignas(64) char part[RANKS][CHUNK];
	struct box {
		atomic_uint sent, received;
		char data[BOX];
	} box[RANKS][RANKS]; /* [from][to] */
};
struct comm {
	struct hall *hall;
	int ranks, rank;
	char name[64];
	bool joined, nonblocking;
	atomic_bool aborted;
	int busy, entered, joining_round; /* calls of ncclCommGetAsyncError that still report busy */
	int async;			  /* error */
	bool stuck;			  /* no collective completes */
	long collectives;
	atomic_int captured; /* number of this communicator's collectives in graphs */
	bool finalizing;
	struct {
		unsigned kind;
		size_t bytes;
	} connected[CONNECTED]; /* kinds that have already run */
	int n_connected;
	struct {
		const void *at;
		size_t bytes;
	} registered[REGISTERED]; /* buffers of captured collectives */
	int n_registered;
};

/* CUDA version of the build, which the library states only in its constants. */
static const char built[] __attribute__((used)) = "NCCL version 2.22.3+cuda12.4";

int ncclGetVersion(int *v)
{
	const char *s = getenv("STANDIN_NCCL_VERSION");

	*v = s ? atoi(s) : 22203;
	return OK;
}

const char *ncclGetErrorString(int status)
{
	static const char *const text[] = { "no error", "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
					    "unhandled system error (run with NCCL_DEBUG=INFO for details)", "internal error",
					    "invalid argument", "invalid usage",
					    "remote process exited or there was a network error", "NCCL operation in progress" };

	return status >= 0 && status < 8 ? text[status] : "unknown result code";
}

int ncclGetUniqueId(struct unique_id *id)
{
	struct timespec t;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &t);
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "/standin-nccl.%d.%ld", (int)getpid(), t.tv_nsec);
	fd = shm_open(id->internal, O_CREAT | O_EXCL | O_RDWR, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct hall)) < 0)
		return 2;
	close(fd);
	return OK;
}

/* ---- planned faults ---- */
static void misbehave(struct comm *c, long n)
{
	const char *spec = getenv("STANDIN_NCCL_FAIL");
	int rank = -1;
	char how[16] = "", when[16] = "";

	if (!spec || sscanf(spec, "%d:%15[^:]:%15s", &rank, how, when) != 3 || rank != c->rank)
		return;
	if (n == JOINING ? strcmp(when, "init") != 0 : !strcmp(when, "init") || n != atol(when))
		return;
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	while (!strcmp(how, "hang"))
		pause();
	c->stuck = !strcmp(how, "stuck");
	c->async = atoi(how);
}

/* ---- rendezvous ---- */
static int arrive(struct hall *h, int ranks)
{
	int round = h->round;

	if (atomic_fetch_add(&h->arrived, 1) + 1 == ranks) {
		h->arrived = 0;
		h->round++;
	}
	return round;
}

static bool join_done(struct comm *c)
{
	if (!c->entered) {
		misbehave(c, JOINING);
		c->joining_round = arrive(c->hall, c->ranks);
		c->entered = 1;
	}
	if (c->hall->round == c->joining_round)
		return false;
	if (!c->joined && !c->rank)
		shm_unlink(c->name);
	return c->joined = true;
}

static int open_comm(struct comm **ret, int ranks, const struct unique_id *id, int rank)
{
	struct comm *c = calloc(1, sizeof(*c));
	int fd = shm_open(id->internal, O_RDWR, 0600);

	if (fd < 0 || ranks > RANKS || rank >= ranks)
		return INVALID;
	*c = (struct comm){ .ranks = ranks, .rank = rank };
	snprintf(c->name, sizeof(c->name), "%.60s", id->internal);
	standin_record("ncclCommInitRank %d of %d", rank, ranks);
	c->hall = mmap(NULL, sizeof(struct hall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	*ret = c;
	return c->hall == MAP_FAILED ? 2 : OK;
}

int ncclCommInitRank(void **ret, int ranks, struct unique_id id, int rank)
{
	struct comm *c = NULL;
	int r = open_comm(&c, ranks, &id, rank);

	while (!r && !join_done(c))
		usleep(20);
	*ret = c;
	return r;
}

int ncclCommInitRankConfig(void **ret, int ranks, struct unique_id id, int rank, const struct config *config)
{
	struct comm *c = NULL;
	int r;

	if (config->size < sizeof(*config) || config->magic != 0xcafebeef || config->version < 21400)
		return INVALID;
	if (config->blocking)
		return ncclCommInitRank(ret, ranks, id, rank);
	r = open_comm(&c, ranks, &id, rank);
	if (r)
		return r;
	c->nonblocking = true;
	*ret = c;
	return BUSY;
}

int ncclCommGetAsyncError(void *comm, int *ret)
{
	struct comm *c = comm;

	bool joined = c->joined || join_done(c);

	*ret = c->async ? c->async : !joined || (c->finalizing && c->captured) || c->busy-- > 0 ? BUSY : OK;
	return OK;
}

/* NCCL keeps polling until all graphs that contain its collectives are destroyed (src/init.cc). */
static void wait_for_graphs(const struct comm *c)
{
	while (c->captured)
		usleep(20);
}

int ncclCommFinalize(void *comm)
{
	struct comm *c = comm;

	standin_record("ncclCommFinalize");
	c->finalizing = true;
	if (!c->nonblocking)
		wait_for_graphs(c);
	return c->nonblocking ? BUSY : OK;
}

int ncclCommDestroy(void *comm)
{
	struct comm *c = comm;

	standin_record("ncclCommDestroy");
	wait_for_graphs(c);
	for (int i = 0; i < c->n_registered; i++)
		if (!standin_allocated(c->registered[i].at, c->registered[i].bytes)) {
			fprintf(stderr, "libnccl: a buffer of a captured collective was freed before its communicator\n");
			abort();
		}
	munmap(c->hall, sizeof(struct hall));
	free(c);
	return OK;
}

/* Running work reads the communicator later, so it is kept. Non-blocking communicators block here, too. */
int ncclCommAbort(void *comm)
{
	struct comm *c = comm;

	standin_record("ncclCommAbort");
	c->aborted = true;
	if (!c->rank && !c->joined)
		shm_unlink(c->name);
	wait_for_graphs(c);
	return OK;
}

/* ---- collectives ---- */
struct op {
	struct comm *comm;
	enum { REDUCE, GATHER, EXCHANGE, SCATTER, PAIR } kind;
	const char *x;
	char *out;
	int type, mean;		     /* of a sum: type of the elements, and whether it is divided by the number of ranks */
	size_t bytes;		     /* bytes of a rank; exchange: bytes of each pair; scatter: bytes of a block */
	const char *send[RANKS];     /* exchange */
	char *recv[RANKS];
	size_t at;
	int stage, round;
	int peer;	   /* pair: a message to this rank (x), or from it (out), or both */
	size_t sent, got;
};

/* Bytes of one round. An exchange and a scatter have a slot in their part for each rank. */
static size_t share(const struct op *o)
{
	size_t room = o->kind == EXCHANGE || o->kind == SCATTER ? CHUNK / RANKS : CHUNK;

	return o->bytes - o->at < room ? o->bytes - o->at : room;
}

static void bring(const struct op *o, size_t n)
{
	char *mine = o->comm->hall->part[o->comm->rank];

	for (int k = 0; k < o->comm->ranks && o->kind == EXCHANGE; k++)
		memcpy(mine + k * (CHUNK / RANKS), o->send[k] + o->at, n);
	for (int k = 0; k < o->comm->ranks && o->kind == SCATTER; k++)
		memcpy(mine + k * (CHUNK / RANKS), o->x + (size_t)k * o->bytes + o->at, n);
	if (o->kind == REDUCE || o->kind == GATHER)
		memcpy(mine, o->x + o->at, n);
}

static size_t size_of(int type)
{
	return type == DOUBLE ? 8 : type == FLOAT ? 4 : 2;
}

static double value_at(const char *p, int type)
{
	uint16_t bits;
	_Float16 half;
	double wide;
	float f;

	switch (type) {
	case DOUBLE:
		memcpy(&wide, p, sizeof(wide));
		return wide;
	case FLOAT:
		memcpy(&f, p, sizeof(f));
		return f;
	case HALF:
		memcpy(&half, p, sizeof(half));
		return half;
	default:
		memcpy(&bits, p, sizeof(bits));
		memcpy(&f, &(uint32_t){ (uint32_t)bits << 16 }, sizeof(f));
		return f;
	}
}

/* Rounds to nearest even. */
static void put_value(char *p, int type, double x)
{
	float f = (float)x;
	_Float16 half = (_Float16)x;
	uint32_t word;
	uint16_t bits;

	memcpy(&word, &f, sizeof(word));
	bits = (uint16_t)(f != f ? 0x7fc0 : (word + 0x7fff + (word >> 16 & 1)) >> 16);
	memcpy(p, type == DOUBLE ? (void *)&x : type == FLOAT ? (void *)&f : type == HALF ? (void *)&half : (void *)&bits,
	       size_of(type));
}

/* f32 sums are rounded after each rank, in rank order. The others are rounded once. */
static void sum_up(const struct op *o, size_t from, size_t n)
{
	const struct comm *c = o->comm;
	size_t each = size_of(o->type);

	for (size_t i = 0; i < n; i += each) {
		double sum = 0;

		for (int k = 0; k < c->ranks; k++) {
			sum += value_at(c->hall->part[k] + from + i, o->type);
			sum = o->type == FLOAT ? (float)sum : sum;
		}
		if (o->mean)
			sum = o->type == FLOAT ? (double)((float)sum / (float)c->ranks) : sum / c->ranks;
		put_value(o->out + o->at + i, o->type, sum);
	}
}

static void take(const struct op *o, size_t n)
{
	const struct comm *c = o->comm;

	for (int k = 0; k < c->ranks && o->kind == GATHER; k++)
		memmove(o->out + (size_t)k * o->bytes + o->at, c->hall->part[k], n);
	for (int k = 0; k < c->ranks && o->kind == EXCHANGE; k++)
		memcpy(o->recv[k] + o->at, c->hall->part[k] + c->rank * (CHUNK / RANKS), n);
	if (o->kind == REDUCE)
		sum_up(o, 0, n);
	if (o->kind == SCATTER)
		sum_up(o, (size_t)c->rank * (CHUNK / RANKS), n);
}

/* write, all have written, read, all have read, and again for the next part */
static int collective(void *data)
{
	struct op *o = data;
	struct comm *c = o->comm;

	if (c->aborted)
		return 1;
	if (o->stage == 0 && o->at == 0 && !c->stuck)
		misbehave(c, ++c->collectives);
	if (c->stuck)
		return 0;
	while (o->at < o->bytes) {
		size_t n = share(o);

		if (c->aborted)
			return 1;
		if (o->stage && c->hall->round == o->round)
			return 0;
		if (o->stage == 0)
			bring(o, n);
		if (o->stage == 1)
			take(o, n);
		if (o->stage < 2) {
			o->round = arrive(c->hall, c->ranks);
			o->stage++;
			continue;
		}
		o->stage = 0;
		o->at += n;
	}
	return 1;
}

/* A message has been sent when it has been received. */
static int pair(void *data)
{
	struct op *o = data;
	struct comm *c = o->comm;
	struct box *to = &c->hall->box[c->rank][o->peer], *from = &c->hall->box[o->peer][c->rank];

	if (c->aborted)
		return 1;
	if (!o->stage++ && !c->stuck)
		misbehave(c, ++c->collectives);
	if (c->stuck)
		return 0;
	for (size_t n; o->x && o->sent < o->bytes && to->sent == to->received; o->sent += n) {
		n = o->bytes - o->sent < BOX ? o->bytes - o->sent : BOX;
		memcpy(to->data, o->x + o->sent, n);
		to->sent++;
	}
	for (size_t n; o->out && o->got < o->bytes && from->sent != from->received; o->got += n) {
		n = o->bytes - o->got < BOX ? o->bytes - o->got : BOX;
		memcpy(o->out + o->got, from->data, n);
		from->received++;
	}
	return (!o->x || (o->sent == o->bytes && to->sent == to->received)) && (!o->out || o->got == o->bytes);
}

/*
 * NCCL connects ranks at the first collective of an algorithm, which depends on the size. Not every transport supports
 * this during a capture: here none does.
 */
static bool connects(struct comm *c, const struct op *o, bool capturing)
{
	for (int i = 0; i < c->n_connected; i++)
		if (c->connected[i].kind == (unsigned)o->kind && c->connected[i].bytes == o->bytes)
			return true;
	if (capturing || c->n_connected == CONNECTED)
		return false;
	c->connected[c->n_connected].kind = (unsigned)o->kind;
	c->connected[c->n_connected++].bytes = o->bytes;
	return true;
}

/* NCCL registers the buffers of captured collectives and deregisters them when the communicator is destroyed. */
static void note_buffers(const struct op *o)
{
	struct comm *c = o->comm;

	for (int i = 0; i < (o->kind == EXCHANGE ? c->ranks : 1) && c->n_registered < REGISTERED; i++) {
		c->registered[c->n_registered].at = o->kind == EXCHANGE ? o->recv[i] : o->out;
		c->registered[c->n_registered++].bytes = o->bytes;
	}
}

static void record(const struct op *o, const void *stream)
{
	static const char *const names[] = { "ncclAllReduce", "ncclAllGather", "ncclGroupEnd", "ncclReduceScatter",
					     "ncclSend/Recv" };

	if (o->kind != EXCHANGE)
		standin_record("%s s%u %s -> %s, %zu bytes", names[o->kind], standin_stream(stream), standin_at(o->x),
			       standin_at(o->out), o->bytes);
	for (int k = 0; k < o->comm->ranks && o->kind == EXCHANGE; k++)
		standin_record("%s s%u with %d: %s -> %s, %zu bytes", names[o->kind], standin_stream(stream), k,
			       standin_at(o->send[k]), standin_at(o->recv[k]), o->bytes);
}

static int give(struct op *o, void *stream)
{
	int captured = o->comm->captured;

	record(o, stream);
	o->comm->busy = 1;
	if (standin_enqueue_polled(stream, o->kind == PAIR ? pair : collective, o, sizeof(*o), &o->comm->captured))
		return 1;
	if (!connects(o->comm, o, o->comm->captured > captured))
		return 5;
	if (o->comm->captured > captured)
		note_buffers(o);
	return o->comm->nonblocking ? BUSY : OK;
}

int ncclAllReduce(const void *x, void *out, size_t n, int type, int op, void *comm, void *stream)
{
	struct op o = { .comm = comm, .kind = REDUCE, .x = x, .out = out, .type = type, .mean = op == AVG,
			.bytes = size_of(type) * n };

	return (type < HALF || type > BFLOAT16) || (op != AVG && op != SUM) ? INVALID : give(&o, stream);
}

int ncclReduceScatter(const void *x, void *out, size_t n, int type, int op, void *comm, void *stream)
{
	struct op o = { .comm = comm, .kind = SCATTER, .x = x, .out = out, .type = type, .bytes = size_of(type) * n };

	return (type < HALF || type > BFLOAT16) || op != SUM ? INVALID : give(&o, stream);
}

int ncclAllGather(const void *x, void *out, size_t n, int type, void *comm, void *stream)
{
	struct op o = { .comm = comm, .kind = GATHER, .x = x, .out = out, .bytes = n };

	return type != INT8 ? INVALID : give(&o, stream);
}

/* A group must be one exchange, the same number of bytes from each to each, or messages to and from one rank. */
static struct op group;
static void *group_stream;
static int group_depth, group_calls;

int ncclGroupStart(void)
{
	if (group_depth++)
		return 5;
	memset(&group, 0, sizeof(group));
	group.kind = EXCHANGE;
	group_calls = 0;
	return OK;
}

static int add(size_t n, int type, int peer, void *comm, void *stream)
{
	if (!group_depth || type != INT8 || peer < 0 || peer >= RANKS || (group_calls && n != group.bytes))
		return INVALID;
	group.comm = comm;
	group.bytes = n;
	group_stream = stream;
	group_calls++;
	return OK;
}

int ncclSend(const void *x, size_t n, int type, int peer, void *comm, void *stream)
{
	int r;

	if (!group_depth && type == INT8)
		return give(&(struct op){ .comm = comm, .kind = PAIR, .x = x, .bytes = n, .peer = peer }, stream);
	r = add(n, type, peer, comm, stream);

	if (!r)
		group.send[peer] = x;
	return r;
}

int ncclRecv(void *x, size_t n, int type, int peer, void *comm, void *stream)
{
	int r;

	if (!group_depth && type == INT8)
		return give(&(struct op){ .comm = comm, .kind = PAIR, .out = x, .bytes = n, .peer = peer }, stream);
	r = add(n, type, peer, comm, stream);

	if (!r)
		group.recv[peer] = x;
	return r;
}

int ncclGroupEnd(void)
{
	if (--group_depth || !group_calls)
		return group_depth ? 5 : OK;
	if (group_calls == 2 * group.comm->ranks)
		return give(&group, group_stream);
	for (int k = 0; group_calls == 2 && k < group.comm->ranks; k++)
		if (group.send[k] && group.recv[k])
			return give(&(struct op){ .comm = group.comm, .kind = PAIR, .x = group.send[k], .out = group.recv[k],
						  .bytes = group.bytes, .peer = k }, group_stream);
	return INVALID;
}
