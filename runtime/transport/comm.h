/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_COMM_H
#define RT_COMM_H
/*
 * Ranks: processes that train one model together.
 *
 * rt_group_run forks them and watches over them; each gets its end of the group, a struct rt_comm. Collectives are started,
 * polled and waited for; in between the rank computes. Over shared memory nothing is copied: the buffers lie in windows that
 * all ranks map, and the reduction is one pass over them. Over several hosts the
 * ranks of each sum over shared memory, and the first of each host exchanges the sums by MPI.
 *
 * All ranks make the same calls in the same order. One thread of a rank calls.
 */
#include "lib/base.h"

RT_API_BEGIN

#define RT_MAX_RANKS	64

struct rt_comm;
int rt_comm_rank(const struct rt_comm *c);
int rt_comm_size(const struct rt_comm *c);
const char *rt_comm_transport(const struct rt_comm *c); /* "shm", "mpi", "tcp" */
int rt_comm_nodes(const struct rt_comm *c);		/* NUMA nodes that the ranks are on, over all hosts */
int rt_comm_hosts(const struct rt_comm *c);
int rt_comm_local_rank(const struct rt_comm *c); /* among the ranks of its host, in their order, or as the launcher says */
/* The ranks of this host; c itself where there is one host. */
struct rt_comm *rt_comm_local(struct rt_comm *c);
/* One rank of each host, in order of hosts, its weights all 1; NULL in the other ranks, and where there is one host. */
struct rt_comm *rt_comm_across(struct rt_comm *c);
/* "CPUs 0-3 of node 0": where this rank was put; "" when nobody put it. */
const char *rt_comm_place(const struct rt_comm *c);
int rt_comm_cpus(const struct rt_comm *c); /* CPUs that this rank has for itself; 0: not placed */
bool rt_comm_spins(const struct rt_comm *c); /* every rank has a CPU to itself, on which it may wait */
int rt_comm_home(const struct rt_comm *c); /* NUMA node of these; -1: not placed */
/* A rank waits so long for another before it gives up with the name of the one that is missing. Default 300 s. */
void rt_comm_set_timeout(struct rt_comm *c, double seconds);
double rt_comm_timeout(const struct rt_comm *c);
/* Does every rank live, as far as this one can tell without waiting? -ECONNRESET: the sentence names the one that does not;
 * -EINTR: the ranks are being ended. */
int rt_comm_alive(struct rt_comm *c, struct gt_err *err);
/* Where something else than a collective of ours is waited for: this rank has come to the next of the places that all come to. */
void rt_comm_arrive(struct rt_comm *c);
/* The first rank that has not come as often as this one, or came and does not look round any more; -1: none is known. */
int rt_comm_missing_rank(struct rt_comm *c);

/* Memory of the same size in every rank, for buffers of collectives. Collective. `base` is this rank's own. */
struct rt_window {
	struct rt_comm *comm;
	size_t bytes;
	char *base, *peer[RT_MAX_RANKS]; /* peer[rank], base at our own; NULL for ranks of other hosts */
	bool huge_pages;
	size_t at; /* private: in the memory of each rank of this host */
	struct rt_window *local; /* private: over MPI, that of the ranks of this host */
};
int rt_window_map(struct rt_comm *c, size_t bytes, bool huge_pages, struct rt_window *ret, struct gt_err *err);
void rt_window_unmap(struct rt_window *w);
#define rt_auto_window	__attribute__((cleanup(rt_window_unmap))) struct rt_window
/* The same memory of ours as a window of rt_comm_local(), or of rt_comm_across(), for collectives among these ranks alone.
 * Valid as long as w is; not unmapped. */
struct rt_window rt_window_local(const struct rt_window *w);
struct rt_window rt_window_across(const struct rt_window *w);

enum rt_coll_kind {
	RT_ALLREDUCE, /* float x[n] at `offset` = sum over ranks of weight[rank] * x; bit-equal in all ranks */
	RT_ALLTOALL,  /* `bytes` for rank i at offset + i*bytes; rt_coll_from(i) is what rank i had for us */
	RT_ALLGATHER, /* `bytes` at offset; rt_coll_from(i) is what rank i had */
	/* Among the ranks of one host, rt_comm_local(), before and after something between hosts: */
	RT_HOST_SUM,   /* float x[n] of rank 0 = sum over ranks of weight[rank] * x; done in rank 0 when it is there */
	RT_HOST_SHARE, /* float x[n] of rank 0 to all; done in rank 0 when all have it */
};
/* A collective over one place of a window, to be started again and again. */
struct rt_coll {
	enum rt_coll_kind kind;
	struct rt_window *window;
	size_t offset;
	int64_t n;    /* floats, ALLREDUCE and HOST_ */
	size_t bytes; /* per rank, the others */
	int threads;  /* team that sums; 0: 1 */
	/* private */
	bool open;
	int channel, stage;
	uint32_t generation;
	void *request, *received;
};
/* Give `k` (kind, window, offset, n or bytes filled in; all else 0) its channel, and take it back. Collective, both: which
 * channel is the next is the same in all ranks. To clear one that was not initialised is allowed. */
int rt_coll_init(struct rt_coll *k, struct gt_err *err);
void rt_coll_clear(struct rt_coll *k);
#define rt_auto_coll	__attribute__((cleanup(rt_coll_clear))) struct rt_coll
/* What this rank has is in place. Does not wait. Until it is done the rank touches the buffer no more. */
int rt_coll_start(struct rt_coll *k, struct gt_err *err);
/* 1: done; 0: not yet. Does this rank's share of the work as soon as the others are ready. */
int rt_coll_poll(struct rt_coll *k, struct gt_err *err);
/* Until done. -ECONNRESET: a rank died, the sentence names it. -ETIMEDOUT: one did not come, named too. */
int rt_coll_wait(struct rt_coll *k, struct gt_err *err);
const void *rt_coll_from(const struct rt_coll *k, int rank);

/* Weights of ALLREDUCE for all ranks; they must add up to 1. Default 1/size each. Collective. */
int rt_comm_set_weight(struct rt_comm *c, double weight, struct gt_err *err);
double rt_comm_weight(const struct rt_comm *c, int rank);
/* Everybody's value, in order of ranks; blocking, for set-up. Collective. */
int rt_comm_gather(struct rt_comm *c, double mine, double ret[RT_MAX_RANKS], struct gt_err *err);
/* Fails in every rank unless all ranks gave the same value; `what` is named. Collective. */
int rt_comm_agree(struct rt_comm *c, uint64_t value, const char *what, struct gt_err *err);

/* ---- ranks of this host ---- */
struct rt_group {
	int ranks;
	bool no_pin;	 /* leave the ranks where the scheduler puts them */
	const int *node; /* NUMA node of each rank, for tests; NULL: as the CPUs say */
	int (*home)(int rank); /* asked in each rank: the node whose CPUs it is to have if it may use some; NULL: any */
	double grace_s;	 /* from the first failure to SIGKILL for the others; 0: 2 s */
	char *answer;	 /* out: what rank 0 gave to rt_comm_answer(), or NULL; the caller frees it */
};
typedef int rt_rank_main(struct rt_comm *c, void *arg, struct gt_err *err);
/* Fork the ranks, run fn in each, wait for all. 0 when all returned 0; else the error of the first that failed, with its name
 * ("rank 1: …"); the others are ended. Must be called before this process has run an OpenMP team: a forked child has none.
 * Each rank is bound to its share of the CPUs that this process may use, node by node. */
int rt_group_run(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err);
void rt_comm_answer(struct rt_comm *c, const char *text);
/* The same ranks as threads of this process, bound nowhere, for tools that look into one process: ThreadSanitizer, valgrind. A
 * rank that fails ends the others; nobody can be killed. */
int rt_group_threads(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err);

/* ---- ranks that mpirun started ---- */
/* OpenMPI's mpirun started this process. */
bool rt_mpi_started(void);
/* Open OpenMPI and join MPI_COMM_WORLD; with one host the result is a group over shared memory, MPI only brought it together.
 * Binds each rank to its share of the CPUs if mpirun has not, unless no_pin. -ENOENT: no library. Once per process. */
int rt_comm_mpi(bool no_pin, struct rt_comm **ret, struct gt_err *err);
/* The same ranks, with nothing shared even on one host: every byte goes by MPI. Not bound; no window has peers. */
int rt_comm_mpi_alone(struct rt_comm **ret, struct gt_err *err);

/* ---- ranks that srun, torchrun, or somebody by their variables, started ---- */
/* One of several, by the environment: RANK and WORLD_SIZE, SLURM_PROCID and SLURM_STEP_NUM_TASKS, or PMI_RANK and PMI_SIZE; or it
 * says half of that, which rt_comm_env() then refuses. */
bool rt_env_started(void);
/* Join them at MASTER_ADDR and MASTER_PORT over TCP. For devices: there are no windows; gathers and who lives are all that there
 * is. Bound as by rt_comm_mpi(), near home(local_rank) as in struct rt_group. Exit status 64 for variables that make no sense. */
int rt_comm_env(bool no_pin, int (*home)(int local_rank), struct rt_comm **ret, struct gt_err *err);
void rt_comm_free(struct rt_comm *c);
GT_DEFINE_AUTO(rt_comm, rt_comm_free);
/* After an error in a rank that a launcher started: end all ranks. */
void rt_comm_abort(struct rt_comm *c, int status) __attribute__((noreturn));
RT_API_END
#endif
