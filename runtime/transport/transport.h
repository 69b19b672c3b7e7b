/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_COMM_PRIV_H
#define RT_COMM_PRIV_H
/* The interface of a transport, and the data that the ranks of one host share. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "lib/err.h"
#include "runtime/transport/comm.h"
#include "runtime/transport/reduce.h"

struct gt_fsroot;

#define RT_CHANNELS	1024

/* Some ranks of a group, and this rank's index among them. */
struct rt_team {
	int n, me;
	int rank[RT_MAX_RANKS];
};

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
	int (*gather)(struct rt_comm *c, double own, double *ret, struct gt_err *err);
	/* NULL: not supported */
	int (*alive)(struct rt_comm *c, struct gt_err *err);
	void (*arrive)(struct rt_comm *c);
	int (*missing_rank)(struct rt_comm *c);
	/* Makes the group of these ranks of c. Collective over c: every rank passes its own team. */
	int (*split)(struct rt_comm *c, const struct rt_team *team, struct rt_comm **ret, struct gt_err *err);
};
/* shm: the ranks of one host. mpi_flat: nothing is shared between ranks. mpi: several ranks per host, built from the
 * other two. */
extern const struct rt_transport rt_transport_shm, rt_transport_mpi_flat, rt_transport_mpi, rt_transport_star;

#define RT_TIMEOUT_S	300.0 /* default time that a rank waits for another one */

/* Written by its own rank only; a cache line apart from the others. seq[channel] = generation * 16 + stage. */
struct rt_shm_rank {
	_Atomic uint32_t seq[RT_CHANNELS];
	_Atomic uint32_t gathered;
	_Atomic uint32_t arrivals; /* number of rt_comm_arrive() calls */
	_Atomic int64_t polled_ms; /* time of the last poll of a waiting rank */
	_Atomic int32_t waits_for; /* rank + 1, in the first group, of the rank that this one waits for; 0: none */
	double mail[2];
	_Alignas(64) char end[64];
};
/* Mapped by the parent before it forks. */
struct rt_shm {
	_Atomic uint32_t bell;	   /* counts progress; futex of the waiting ranks */
	_Atomic uint32_t sleepers;
	_Atomic int32_t dead;	   /* rank + 1 of the first failed rank, set by the parent; -1: interrupted */
	char why[256];
	_Alignas(64) struct rt_shm_rank rank[];
};

struct rt_comm {
	const struct rt_transport *transport;
	int rank, size, nodes, hosts, cpus, home;
	int node[RT_MAX_RANKS]; /* 0..nodes-1 */
	float weight[RT_MAX_RANKS];
	double timeout_s;
	bool spin; /* every rank has its own CPU */
	char place[96];
	/* Channels in use. The next collective on a channel continues the count of the previous one, so values that
	 * other ranks still read stay valid. */
	bool taken[RT_CHANNELS];
	uint32_t generation[RT_CHANNELS];
	/* shm */
	struct rt_shm *shm;
	/* Ranks are threads: a window is mapped once, its address is shared, and it stays until the last rank has ended. */
	bool one_process;
	struct rt_mapping {
		struct rt_mapping *next;
		void *base;
		size_t bytes;
	} *mappings;
	/* A group of rt_comm_split(): the first group of its transport, the group that it is a part of, and the window of
	 * that group that contains shm. NULL in a first group. */
	struct rt_comm *root, *parent;
	struct rt_window *control;
	int in_root[RT_MAX_RANKS]; /* rank in the first group of each rank of this group */
	int fd[RT_MAX_RANKS]; /* memory of each rank's windows */
	size_t fd_bytes; /* used bytes of this rank's memory; of the first group */
	struct rt_unmapped {
		struct rt_unmapped *next;
		size_t at, bytes;
	} *unmapped; /* windows unmapped here whose memory other ranks may still read */
	uint32_t gather_generation;
	int answer_fd;
	/* star */
	struct rt_star *star;
	int local_rank;
	/* mpi_flat: library and communicator */
	const struct rt_mpi_lib *lib;
	void *mpi_comm;
	/* mpi */
	struct rt_comm *local;	/* ranks of this host, over shm */
	struct rt_comm *across; /* first rank of each host; NULL in the others */
	struct rt_comm *flat;	/* all ranks */
	int host[RT_MAX_RANKS];  /* host of each rank */
	int world[RT_MAX_RANKS]; /* rank in the world of each rank of this group */
};

int rt_comm_outer_rank(const struct rt_comm *c, int local); /* rank in c of a rank of c->local */
int rt_shm_split(struct rt_comm *c, const struct rt_team *team, struct rt_comm **ret, struct gt_err *err);
int rt_mpi_split(struct rt_comm *c, const struct rt_team *team, struct rt_comm **ret, struct gt_err *err);
void rt_shm_leave(struct rt_comm *c); /* leaves a group of rt_shm_split() */
int rt_shm_map(struct rt_comm *c, struct rt_window *w, struct gt_err *err);
void rt_shm_unmap(struct rt_window *w);
void rt_shm_free_unmapped(struct rt_comm *c); /* called at the end of c */
/* Wakes the ranks of this host that wait, after this rank has published progress. */
void rt_shm_ring(struct rt_comm *c);
/*
 * Waits until done(arg): spins briefly if every rank has its own CPU, then sleeps until a rank makes progress. After the
 * time limit, late(arg) returns the missing rank.
 */
int rt_shm_wait_until(struct rt_comm *c, int (*done)(void *arg), void *arg, int (*late)(void *arg), struct gt_err *err);

/* Placement of a rank of this host. */
struct rt_place {
	cpu_set_t cpus;
	int node, n_cpus;
};
/* Assigns neighbouring CPUs of those that this process may use, node by node. With fewer CPUs than ranks, ranks share
 * CPUs: *ret_shared. home[i] is the preferred node of rank i. If every rank has CPUs on its home node, each gets its
 * part of them. NULL: no preference. */
int rt_place_all(int ranks, const int *home, struct rt_place *ret, bool *ret_shared, struct gt_err *err);
/* Does the same for these CPUs, in order of nodes and cores. The threads of a core stay together if there are enough cores.
 * core: the first CPU of its core. */
struct rt_place_cpu {
	int id, node, core;
};
/* Sorts n CPUs with known id and node into that order, with the cores of the host's topology. fs NULL: each CPU is a
 * core. */
void rt_place_order(struct gt_fsroot *fs, struct rt_place_cpu *list, int n);
void rt_place_share(const struct rt_place_cpu *list, int n, int ranks, const int *home, struct rt_place *ret, bool *ret_shared);
/* Returns the present placement of this process. */
int rt_place_now(struct rt_place *ret, struct gt_err *err);
/* Binds this process and its OpenMP threads. */
void rt_place_put(struct rt_comm *c, const struct rt_place *p);
/* Sets ret[i] to the index of node[i] in order of appearance. Returns the number of nodes. */
int rt_place_index(const int *node, int ranks, int *ret);

/* Ranks of one host without a common parent. The first rank passes the memory to the others over a socket named after
 * `key`, which all ranks received from it before. There are two calls, so that the first rank listens before the key is
 * sent. star: connections of the ranks, which show that a rank has ended; may be NULL. */
int rt_local_listen(uint64_t key, int *ret_fd, struct gt_err *err);
int rt_local_join(int listener, uint64_t key, int rank, int size, struct rt_comm *star, struct rt_comm **ret,
		  struct gt_err *err);
void rt_local_leave(struct rt_comm *c);

#define RT_SPINS	4000 /* about 20 us: less than the cost of sleeping and waking */
/* Returns the weights of the sum, by rank. */
const float *rt_coll_weights(const struct rt_coll *k);

/* Returns the group that rt_group_run(), mpirun or another launcher made. */
static inline struct rt_comm *rt_comm_root(struct rt_comm *c)
{
	return c->root ? c->root : c;
}

static inline void rt_pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Sets from..to to part i of m of lo..hi, in whole cache lines. */
void rt_comm_part(int64_t lo, int64_t hi, int m, int i, int64_t *from, int64_t *to);

void rt_comm_node_team(const struct rt_comm *c, struct rt_team *ret);  /* ranks of the own node */
void rt_comm_cross_team(const struct rt_comm *c, struct rt_team *ret); /* ranks with the same index on the other nodes */
bool rt_comm_is_hierarchical(const struct rt_comm *c); /* several nodes with the same number of ranks */
#endif
