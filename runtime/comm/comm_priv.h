/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_COMM_PRIV_H
#define RT_COMM_PRIV_H
/* What a transport is, and what the ranks of one host share. */
#include <stdatomic.h>
#include <sys/types.h>
#include "runtime/comm/comm.h"

#define RT_CHANNELS	1024

struct rt_transport {
	const char *name;
	int (*map)(struct rt_comm *c, struct rt_window *w, struct gt_err *err);
	void (*unmap)(struct rt_window *w);
	int (*init)(struct rt_coll *k, struct gt_err *err);
	void (*clear)(struct rt_coll *k);
	int (*start)(struct rt_coll *k, struct gt_err *err);
	int (*poll)(struct rt_coll *k, struct gt_err *err);
	int (*wait)(struct rt_coll *k, struct gt_err *err);
	const void *(*from)(const struct rt_coll *k, int rank);
	int (*gather)(struct rt_comm *c, double mine, double *ret, struct gt_err *err);
	void (*free)(struct rt_comm *c);
	void (*abort)(struct rt_comm *c, int status);
};
extern const struct rt_transport rt_transport_shm, rt_transport_mpi;

/* Each rank writes its own; a cache line apart. seq[channel] = generation * 16 + stage. */
struct rt_shm_rank {
	_Atomic uint32_t seq[RT_CHANNELS];
	_Atomic uint32_t gathered;
	double mail[2];
	_Alignas(64) char end[64];
};
/* Mapped by the parent before it forks. */
struct rt_shm {
	_Atomic uint32_t bell;	   /* counts arrivals; what waiters sleep on */
	_Atomic uint32_t sleepers;
	_Atomic int32_t dead;	   /* rank + 1 of the first that ended badly, set by the parent; -1: interrupted */
	char why[256];
	_Alignas(64) struct rt_shm_rank rank[];
};

struct rt_comm {
	const struct rt_transport *transport;
	int rank, size, nodes, cpus;
	int node[RT_MAX_RANKS]; /* 0..nodes-1 */
	float weight[RT_MAX_RANKS];
	double timeout_s;
	bool spin; /* every rank has a CPU for itself */
	char place[96];
	int next_channel;
	/* shm */
	struct rt_shm *shm;
	int fd[RT_MAX_RANKS]; /* memory of each rank's windows */
	size_t fd_bytes;
	uint32_t gather_generation;
	int answer_fd;
	/* mpi */
	struct rt_mpi *mpi;
};

/* Members of the rank's node, and where it stands among them. */
struct rt_team {
	int n, me;
	int rank[RT_MAX_RANKS];
};
void rt_comm_node_team(const struct rt_comm *c, struct rt_team *ret);  /* ranks of my node */
void rt_comm_cross_team(const struct rt_comm *c, struct rt_team *ret); /* my likes on the other nodes */
bool rt_comm_is_hierarchical(const struct rt_comm *c); /* several nodes, equally many ranks on each */

/* out[0] = … = out[n_out-1] = sum over i of w[i] * x[i] for elements lo to hi, in order of i. Any of out[] may be among x[]. */
void rt_sum_ranks(float *const *out, int n_out, float *const *x, const float *w, int n_in, int64_t lo, int64_t hi, int threads);
#endif
