/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/nccl_state.h"
#include "runtime/cuda/vendor.h"

#define CONFIG_MAGIC	0xcafebeefu

static const struct gt_dlsym syms[] = {
	GT_DLSYM(nccl_api, version, ncclGetVersion),
	GT_DLSYM(nccl_api, unique_id, ncclGetUniqueId),
	GT_DLSYM(nccl_api, init_rank, ncclCommInitRank),
	GT_DLSYM_OPT(nccl_api, init_config, ncclCommInitRankConfig),
	GT_DLSYM(nccl_api, async_error, ncclCommGetAsyncError),
	GT_DLSYM(nccl_api, abort, ncclCommAbort),
	GT_DLSYM_OPT(nccl_api, finalize, ncclCommFinalize),
	GT_DLSYM(nccl_api, all_reduce, ncclAllReduce),
	GT_DLSYM(nccl_api, all_gather, ncclAllGather),
	GT_DLSYM(nccl_api, reduce_scatter, ncclReduceScatter),
	GT_DLSYM(nccl_api, send, ncclSend),
	GT_DLSYM(nccl_api, recv, ncclRecv),
	GT_DLSYM(nccl_api, group_start, ncclGroupStart),
	GT_DLSYM(nccl_api, group_end, ncclGroupEnd),
	GT_DLSYM(nccl_api, destroy, ncclCommDestroy),
	GT_DLSYM(nccl_api, error_string, ncclGetErrorString),
	GT_DLSYM_OPT(nccl_api, last_error, ncclGetLastError),
};

/* NCCL detects an ended rank slightly earlier than its host. Wait that long for the rank's name. */
#define RANK_NAME_S	1.0
#define END_S	5 /* limit for NCCL to finish an abort after the graphs are destroyed */

/* "2.28.9" */
static const char *version(const struct rt_nccl *n, char buf[32])
{
	snprintf(buf, 32, "%d.%d.%d", n->version / 10000, n->version / 100 % 100, n->version % 100);
	return buf;
}

static int fail(const struct rt_nccl *n, int status, const char *what, struct gt_err *err)
{
	const char *more = n->comm && n->api.last_error ? n->api.last_error(n->comm) : NULL;
	char buf[32];

	return gt_fail(err, status == NCCL_REMOTE_ERROR ? EIO : ENODEV, "%s of NCCL %s failed: %s%s%s", what, version(n, buf),
		       n->api.error_string(status), more && *more ? "; " : "", more ? more : "");
}

/* ---- abort ---- */
/*
 * ncclCommAbort first ends the waits on the device. Then it waits itself until every graph that has captured a
 * collective of this communicator is destroyed (NCCL, src/init.cc: commDestroySync, localPersistentRefs). These graphs
 * belong to the engine, which destroys them when it is freed, after the error was reported. Therefore a separate thread
 * waits for the abort.
 */
struct ending {
	pthread_t thread;
	int (*abort)(void *);
	const struct rt_cuda *dev;
	void *comm;
};

static void *end(void *arg)
{
	struct ending *e = arg;

	e->dev->d.ctx_set(e->dev->ctx);
	e->abort(e->comm);
	return NULL;
}

void rt_nccl_abort(struct rt_nccl *n)
{
	struct ending *e;

	if (!n->comm)
		return;
	e = n->ending = gt_xcalloc(1, sizeof(*e));
	*e = (struct ending){ .abort = n->api.abort, .dev = n->dev, .comm = n->comm };
	n->comm = NULL;
	if (!pthread_create(&e->thread, NULL, end, e))
		return;
	/* no thread could be created: the end of the process aborts the collectives */
	n->ending = NULL;
	n->abandoned = true;
	free(e);
}

/* Waits for the abort after the graphs are destroyed, which takes a moment. Returns false if the library is still busy;
 * the caller must then not free its resources. */
static bool ended(struct rt_nccl *n)
{
	struct timespec until;

	if (!n->ending)
		return !n->abandoned;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += END_S;
	if (pthread_timedjoin_np(n->ending->thread, NULL, &until))
		return false;
	free(n->ending);
	n->ending = NULL;
	return true;
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* Fails with NCCL's error. If a rank has ended, the message names the rank instead. */
static int fail_status(const struct rt_nccl *n, int status, const char *what, struct gt_err *err)
{
	int r = fail(n, status, what, err);

	for (double until = gt_now_s() + fmin(RANK_NAME_S, rt_comm_timeout(n->group) / 4); gt_now_s() < until; nap(1000000)) {
		struct gt_err why = { 0 };
		int dead = rt_comm_alive(n->group, &why);

		if (dead && dead != -EINTR) {
			if (err)
				*err = why;
			r = dead;
			break;
		}
	}
	return r;
}

/* A group may not know the missing rank that another group knows. */
static int late(struct rt_nccl *const *n, int count, double waited_s, struct gt_err *err)
{
	char buf[32];

	for (int i = 0; i < count; i++) {
		int rank = rt_comm_missing_rank(n[i]->group);

		if (rank >= 0)
			return gt_fail(err, ETIMEDOUT, "rank %d has not arrived for %.0f s", rank, waited_s);
	}
	return gt_fail(err, ETIMEDOUT, "NCCL %s made no progress for %.0f s, and no missing rank is known: NCCL_DEBUG=INFO shows "
				       "more", version(n[0], buf), waited_s);
}

static int check_one(const struct rt_nccl *n, struct gt_err *err)
{
	int status = NCCL_OK, r = rt_comm_alive(n->group, err);

	if (r)
		return r;
	if (!n->comm)
		return gt_fail(err, EIO, "an earlier failure ended NCCL's communicator of this rank");
	n->api.async_error(n->comm, &status);
	return status == NCCL_OK || status == NCCL_IN_PROGRESS ? 0 : fail_status(n, status, "a collective", err);
}

int rt_nccl_watch(struct rt_nccl *const *n, int count, double waited_s, struct gt_err *err)
{
	int r = 0;

	for (int i = 0; !r && i < count; i++)
		r = check_one(n[i], err);
	if (!r && waited_s > rt_comm_timeout(n[0]->group))
		r = late(n, count, waited_s, err);
	for (int i = 0; r && i < count; i++)
		rt_nccl_abort(n[i]);
	return r;
}

int rt_nccl_settle(struct rt_nccl *n, int status, const char *what, struct gt_err *err)
{
	double t0 = gt_now_s(), checked = t0;

	while (status == NCCL_IN_PROGRESS) {
		if (n->api.async_error(n->comm, &status) != NCCL_OK || status != NCCL_IN_PROGRESS)
			break;
		if (gt_now_s() - checked > 1e-3) {
			int r = rt_nccl_watch(&n, 1, gt_now_s() - t0, err);

			if (r)
				return r;
			checked = gt_now_s();
		}
		nap(10000);
	}
	if (status == NCCL_OK)
		return 0;
	status = fail_status(n, status, what, err);
	rt_nccl_abort(n);
	return status;
}

static int check(struct rt_nccl *n, int status, const char *what, struct gt_err *err)
{
	return status == NCCL_OK ? 0 : fail(n, status, what, err);
}

#define WORDS	(sizeof(struct unique_id) / sizeof(uint32_t))

/* Collects the ids of all ranks with the group's gather: 32 bits at a time, which a double holds exactly. */
static int share_ids(struct rt_comm *group, const struct unique_id *own, struct unique_id *ret, struct gt_err *err)
{
	uint32_t words[WORDS];

	memcpy(words, own, sizeof(words));
	for (size_t i = 0; i < WORDS; i++) {
		double all[RT_MAX_RANKS];
		int r = rt_comm_gather(group, (double)words[i], all, err);

		for (int k = 0; !r && k < rt_comm_size(group); k++) {
			uint32_t word;

			if (!(all[k] >= 0 && all[k] <= UINT32_MAX))
				return gt_fail(err, EPROTO, "rank %d sent an invalid part of NCCL's id", k);
			word = (uint32_t)all[k];
			memcpy(ret[k].internal + i * sizeof(word), &word, sizeof(word));
		}
		if (r)
			return r;
	}
	return 0;
}

static int init(struct rt_nccl *n, struct unique_id id, struct gt_err *err)
{
	struct config config = { sizeof(config), CONFIG_MAGIC, NCCL_NONBLOCKING, 0 };

	n->nonblocking = n->api.init_config && n->version >= NCCL_NONBLOCKING;
	if (n->nonblocking)
		return rt_nccl_settle(n, n->api.init_config(&n->comm, n->size, id, n->rank, &config), "ncclCommInitRankConfig",
				      err);
	return check(n, n->api.init_rank(&n->comm, n->size, id, n->rank), "ncclCommInitRank", err);
}

/*
 * NCCL's API returns its own version only. The CUDA version it was built for is in the line that it prints with
 * NCCL_DEBUG: "NCCL version 2.30.7+cuda13.3". A driver runs libraries for its own CUDA version or an older one. Without
 * that line the library is accepted.
 */
static int check_cuda(const struct rt_nccl *n, const struct rt_cuda *dev, struct gt_err *err)
{
	char text[64], buf[32];
	int major, minor;

	if (rt_vendor_says((const void *)(uintptr_t)n->api.version, "NCCL version ", text, sizeof(text)) ||
	    sscanf(text, "%*d.%*d.%*d+cuda%d.%d", &major, &minor) != 2 || major <= dev->version / 1000)
		return 0;
	return gt_fail(err, ENOSYS,
		       "NCCL %s is built for CUDA %d.%d and this driver supports CUDA %d.%d: install a newer driver or the "
		       "NCCL of CUDA %d", version(n, buf), major, minor, dev->version / 1000, dev->version % 1000 / 10,
		       dev->version / 1000);
}

static int suits(void *arg, struct gt_err *err)
{
	struct rt_nccl *n = arg;
	char buf[32];
	int r = check(n, n->api.version(&n->version), "ncclGetVersion", err);

	if (!r && n->version < NCCL_HAS_AVG)
		r = gt_fail(err, ENOSYS, "NCCL %s cannot compute means: install 2.10 or newer", version(n, buf));
	return r || !n->dev ? r : check_cuda(n, n->dev, err);
}

/* Only loads the library. dev NULL: the device is unknown. */
static int load(const struct rt_cuda *dev, struct rt_nccl **ret, struct gt_err *err)
{
	static const char *const names[] = { "libnccl.so.2", NULL };
	struct rt_nccl *n = gt_xcalloc(1, sizeof(*n));
	const struct rt_vendor library = { .names = names, .syms = syms, .n_syms = GT_ARRAY_SIZE(syms), .table = &n->api,
					   .suits = suits, .arg = n };
	int r;

	n->dev = dev;
	r = rt_vendor_open(&library, &n->lib, err);
	if (r == -ENOENT)
		gt_fail_prefix(err, "ranks on CUDA devices need NCCL");
	if (r)
		rt_nccl_close(n);
	else
		*ret = n;
	return r;
}

int rt_nccl_probe(struct gt_err *err)
{
	struct rt_nccl *n = NULL;
	int r = load(NULL, &n, err);

	rt_nccl_close(n);
	return r;
}

/* Loads the library for a communicator with these numbers. */
static int prepare(const struct rt_cuda *dev, struct rt_comm *group, int rank, int size, struct rt_nccl **ret, struct gt_err *err)
{
	struct rt_nccl *n = NULL;
	int r = load(dev, &n, err);

	if (r)
		return r;
	n->group = group;
	n->rank = rank;
	n->size = size;
	*ret = n;
	return 0;
}

int rt_nccl_open(const struct rt_cuda *dev, struct rt_comm *group, struct rt_nccl **ret, struct gt_err *err)
{
	struct unique_id own = { 0 }, id[RT_MAX_RANKS];
	struct rt_nccl *n = NULL;
	int r = prepare(dev, group, rt_comm_rank(group), rt_comm_size(group), &n, err);

	if (r)
		return r;
	if (!n->rank)
		r = check(n, n->api.unique_id(&own), "ncclGetUniqueId", err);
	if (!r)
		r = share_ids(group, &own, id, err);
	if (!r)
		r = init(n, id[0], err);
	if (r) {
		rt_nccl_abort(n);
		rt_nccl_close(n);
	} else {
		*ret = n;
	}
	return r;
}

/* Of the two ranks, the first one makes the id. */
static int open_neighbours(struct rt_comm *group, struct rt_nccl *const *n, struct gt_err *err)
{
	struct unique_id id[2][RT_MAX_RANKS];
	int rank = rt_comm_rank(group), r = 0;

	for (int back = 0; !r && back < 2; back++) {
		struct unique_id own = { 0 };

		if (n[2 + back])
			r = check(n[2 + back], n[2 + back]->api.unique_id(&own), "ncclGetUniqueId", err);
		if (!r)
			r = share_ids(group, &own, id[back], err);
	}
	for (int i = 0; !r && i < 4; i++)
		r = n[i] ? init(n[i], id[i & 1][i < 2 ? rank - 1 : rank], err) : 0;
	return r;
}

int rt_nccl_open_neighbours(const struct rt_cuda *dev, struct rt_comm *group, struct rt_nccl *ret[4], struct gt_err *err)
{
	struct rt_nccl *n[4] = { NULL };
	int rank = rt_comm_rank(group), r = 0;

	for (int i = 0; !r && i < 4; i++)
		if (i < 2 ? rank > 0 : rank + 1 < rt_comm_size(group))
			r = prepare(dev, group, i < 2, 2, &n[i], err);
	if (!r)
		r = open_neighbours(group, n, err);
	for (int i = 0; r && i < 4; i++) {
		if (n[i])
			rt_nccl_abort(n[i]);
		rt_nccl_close(n[i]);
	}
	if (!r)
		memcpy(ret, n, sizeof(n));
	return r;
}

void rt_nccl_close(struct rt_nccl *n)
{
	struct gt_err ignored;

	if (!n)
		return;
	if (n->comm && n->nonblocking && n->api.finalize)
		rt_nccl_settle(n, n->api.finalize(n->comm), "ncclCommFinalize", &ignored);
	if (n->comm)
		n->api.destroy(n->comm);
	if (!ended(n))
		return;
	if (n->lib)
		dlclose(n->lib);
	free(n);
}

int rt_nccl_version(const struct rt_nccl *n)
{
	return n->version;
}

struct rt_comm *rt_nccl_group(const struct rt_nccl *n)
{
	return n->group;
}
