/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL for tests without a GPU: ranks meet in a file of shared memory, which the unique id names. A mean is enqueued on the
 * stand-in driver's streams like any other work. STANDIN_NCCL_VERSION=N says another version.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "standin.h"

#define CHUNK 16384 /* floats */
#define RANKS 16

struct unique_id {
	char internal[128];
};
struct hall {
	atomic_int arrived, round, left;
	float part[RANKS][CHUNK];
};
struct comm {
	struct hall *hall;
	int ranks, rank;
	char name[64];
};

int ncclGetVersion(int *v)
{
	const char *s = getenv("STANDIN_NCCL_VERSION");

	*v = s ? atoi(s) : 22203;
	return 0;
}

const char *ncclGetErrorString(int status)
{
	return status == 4 ? "invalid argument" : "unhandled system error";
}

int ncclGetUniqueId(struct unique_id *id)
{
	struct timespec t;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(id->internal, sizeof(id->internal), "/standin-nccl.%d.%ld", (int)getpid(), t.tv_nsec);
	fd = shm_open(id->internal, O_CREAT | O_EXCL | O_RDWR, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct hall)) < 0)
		return 2;
	close(fd);
	return 0;
}

static void meet(struct comm *c)
{
	struct hall *h = c->hall;
	int round = h->round;

	if (atomic_fetch_add(&h->arrived, 1) + 1 == c->ranks) {
		h->arrived = 0;
		h->round++;
		return;
	}
	while (h->round == round)
		usleep(20);
}

int ncclCommInitRank(void **ret, int ranks, struct unique_id id, int rank)
{
	struct comm *c = calloc(1, sizeof(*c));
	int fd = shm_open(id.internal, O_RDWR, 0600);

	if (fd < 0 || ranks > RANKS || rank >= ranks)
		return 4;
	*c = (struct comm){ .ranks = ranks, .rank = rank };
	snprintf(c->name, sizeof(c->name), "%.60s", id.internal);
	c->hall = mmap(NULL, sizeof(struct hall), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c->hall == MAP_FAILED)
		return 2;
	meet(c);
	if (!rank)
		shm_unlink(c->name);
	*ret = c;
	return 0;
}

int ncclCommDestroy(void *comm)
{
	struct comm *c = comm;

	munmap(c->hall, sizeof(struct hall));
	free(c);
	return 0;
}

struct mean {
	struct comm *comm;
	const float *x;
	float *out;
	size_t n;
};

static void run_mean(void *data)
{
	const struct mean *m = data;
	struct comm *c = m->comm;

	for (size_t at = 0; at < m->n; at += CHUNK) {
		size_t n = m->n - at < CHUNK ? m->n - at : CHUNK;

		memcpy(c->hall->part[c->rank], m->x + at, n * sizeof(float));
		meet(c);
		for (size_t i = 0; i < n; i++) {
			float sum = 0;

			for (int k = 0; k < c->ranks; k++)
				sum += c->hall->part[k][i];
			m->out[at + i] = sum / (float)c->ranks;
		}
		meet(c);
	}
}

int ncclAllReduce(const void *x, void *out, size_t n, int type, int op, void *comm, void *stream)
{
	const struct mean m = { comm, x, out, n };

	if (type != 7 || op != 4)
		return 4;
	return standin_enqueue(stream, run_mean, &m, sizeof(m)) ? 1 : 0;
}
