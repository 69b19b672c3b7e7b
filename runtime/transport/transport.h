/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_COMM_PRIV_H
#define RT_COMM_PRIV_H
/* What a transport is, and what the ranks of one host share. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/types.h>
#include "lib/err.h"
#include "runtime/transport/comm.h"
#include "runtime/transport/reduce.h"

struct gt_fsroot;

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
	/* NULL: it cannot tell */
	int (*alive)(struct rt_comm *c, struct gt_err *err);
	void (*come)(struct rt_comm *c);
	int (*behind)(struct rt_comm *c);
};
/* shm: the ranks of one host. mpi_flat: every rank is elsewhere. mpi: hosts with several ranks each, made of the other two. */
extern const struct rt_transport rt_transport_shm, rt_transport_mpi_flat, rt_transport_mpi, rt_transport_star;

#define RT_TIMEOUT_S	300.0 /* that a rank waits for another, unless it is told otherwise */

/* Each rank writes its own; a cache line apart. seq[channel] = generation * 16 + stage. */
struct rt_shm_rank {
	_Atomic uint32_t seq[RT_CHANNELS];
	_Atomic uint32_t gathered;
	_Atomic uint32_t came; /* rt_comm_arrive(): how often */
	_Atomic int64_t looked_ms; /* when it last looked round while it waited */
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
	int rank, size, nodes, hosts, cpus, home;
	int node[RT_MAX_RANKS]; /* 0..nodes-1 */
	float weight[RT_MAX_RANKS];
	double timeout_s;
	bool spin; /* every rank has a CPU for itself */
	char place[96];
	/* Of the collectives that there are. The next on a channel goes on counting where the last has ended: what others still
	 * read there of that one stays true. */
	bool taken[RT_CHANNELS];
	uint32_t generation[RT_CHANNELS];
	/* shm */
	struct rt_shm *shm;
	/* Ranks are threads: a window is mapped once, its address is told, and it stays until the last of them has ended. */
	bool one_process;
	struct rt_kept {
		struct rt_kept *next;
		void *base;
		size_t bytes;
	} *kept;
	int fd[RT_MAX_RANKS]; /* memory of each rank's windows */
	size_t fd_bytes;
	struct rt_left {
		struct rt_left *next;
		size_t at, bytes;
	} *left; /* windows that are unmapped here, whose memory others may still read */
	uint32_t gather_generation;
	int answer_fd;
	/* star */
	struct rt_star *star;
	int local_rank;
	/* mpi_flat: what to call, and with what */
	const struct rt_mpi_lib *lib;
	void *mpi_comm;
	/* mpi */
	struct rt_comm *local;	/* ranks of this host, over shm */
	struct rt_comm *across; /* the first rank of each host; NULL in the others */
	struct rt_comm *flat;	/* all ranks */
	int host[RT_MAX_RANKS];	 /* of each rank */
	int world[RT_MAX_RANKS]; /* rank in the world of each rank of ours */
};

void rt_shm_forget_left(struct rt_comm *c); /* at the end of c */

/* Where a rank of this host is put. */
struct rt_place {
	cpu_set_t cpus;
	int node, n_cpus;
};
/* Neighbouring CPUs of those that we may use, node by node; with fewer CPUs than ranks several share one: *ret_shared. home[i] is
 * the node that rank i wants to be on: if each has CPUs there, it gets its share of these; NULL: none wants any. */
int rt_place_all(int ranks, const int *home, struct rt_place *ret, bool *ret_shared, struct gt_err *err);
/* The same of these CPUs, in order of nodes and cores: the threads of a core stay together where there are cores enough. core: the
 * first CPU of its core. */
struct rt_place_cpu {
	int id, node, core;
};
/* Bring n CPUs, of which id and node are known, into that order, with their cores as the host's topology has them. fs NULL: each is
 * a core. */
void rt_place_order(struct gt_fsroot *fs, struct rt_place_cpu *list, int n);
void rt_place_share(const struct rt_place_cpu *list, int n, int ranks, const int *home, struct rt_place *ret, bool *ret_shared);
/* Where we are. */
int rt_place_now(struct rt_place *ret, struct gt_err *err);
/* Bind this process and its OpenMP threads there. */
void rt_place_put(struct rt_comm *c, const struct rt_place *p);
/* ret[i]: index of node[i] in order of appearance. Returns how many there are. */
int rt_place_index(const int *node, int ranks, int *ret);

/* Ranks of one host without a common parent: memory passed from the first to the others over a socket named after `key`, which
 * all got from the first beforehand. Two calls, so that the first can listen before the key travels. */
int rt_local_listen(uint64_t key, int *ret_fd, struct gt_err *err);
int rt_local_join(int listener, uint64_t key, int rank, int size, struct rt_comm **ret, struct gt_err *err);
void rt_local_leave(struct rt_comm *c);

#define RT_SPINS	4000 /* about 20 us: less than sleeping and waking costs */
static inline void rt_pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Part i of m of lo..hi, in cache lines. */
void rt_comm_part(int64_t lo, int64_t hi, int m, int i, int64_t *from, int64_t *to);

/* Members of the rank's node, and where it stands among them. */
struct rt_team {
	int n, me;
	int rank[RT_MAX_RANKS];
};
void rt_comm_node_team(const struct rt_comm *c, struct rt_team *ret);  /* ranks of my node */
void rt_comm_cross_team(const struct rt_comm *c, struct rt_team *ret); /* my likes on the other nodes */
bool rt_comm_is_hierarchical(const struct rt_comm *c); /* several nodes, equally many ranks on each */
#endif
