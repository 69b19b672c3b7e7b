/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_COMM_H
#define RT_COMM_H
/*
 * Ranks: processes that train one model together.
 *
 * rt_group_run() forks and supervises them. Each rank has its handle of the group, a struct rt_comm. Collectives are
 * started, polled and waited for, and the rank computes in between. Over shared memory nothing is copied: the buffers
 * are in windows that all ranks map, and a reduction is one pass over them. With several hosts, the ranks of each host
 * sum over shared memory, and the first rank of each host exchanges the sums over MPI.
 *
 * All ranks make the same calls in the same order, each from one thread.
 */
#include "lib/base.h"

RT_API_BEGIN

#define RT_MAX_RANKS	64

struct rt_comm;
int rt_comm_rank(const struct rt_comm *c);
int rt_comm_size(const struct rt_comm *c);
const char *rt_comm_transport(const struct rt_comm *c); /* "shm", "mpi", "tcp" */
int rt_comm_nodes(const struct rt_comm *c);		/* NUMA nodes used by the ranks, over all hosts */
int rt_comm_hosts(const struct rt_comm *c);
int rt_comm_local_rank(const struct rt_comm *c); /* index among the ranks of its host, in rank order or as set by the launcher */
bool rt_comm_launched(const struct rt_comm *c); /* srun, torchrun or another launcher than mpirun started the ranks */
/* Returns the group of the ranks on this host, or c itself with one host. */
struct rt_comm *rt_comm_local(struct rt_comm *c);
/* Returns the group of the first rank of each host, in host order, each with weight 1. NULL in other ranks and with one
 * host. */
struct rt_comm *rt_comm_across(struct rt_comm *c);
/* Returns the placement of this rank, such as "CPUs 0-3 of node 0", or "" if it was not placed. */
const char *rt_comm_place(const struct rt_comm *c);
int rt_comm_cpus(const struct rt_comm *c); /* CPUs reserved for this rank; 0: not placed */
bool rt_comm_spins(const struct rt_comm *c); /* every rank has its own CPU and may busy-wait on it */
int rt_comm_home(const struct rt_comm *c); /* NUMA node of these CPUs; -1: not placed */
/* Sets the time that a rank waits for another one before it fails and names the missing rank. Default 300 s. */
void rt_comm_set_timeout(struct rt_comm *c, double seconds);
double rt_comm_timeout(const struct rt_comm *c);
/* Checks, without waiting, whether all ranks are alive. -ECONNRESET: one has ended; the message names it. -EINTR: the
 * ranks are being terminated. */
int rt_comm_alive(struct rt_comm *c, struct gt_err *err);
/*
 * Announces that this rank has reached its next synchronisation point. For synchronisation outside the collectives of
 * this interface.
 */
void rt_comm_arrive(struct rt_comm *c);
/*
 * Returns a rank that other ranks wait for, by its number in the first group: a rank of any group that has not polled for half
 * the time limit, or, in the first group, the rank that has reached the fewest synchronisation points. -1: none known.
 */
int rt_comm_missing_rank(struct rt_comm *c);

/* Memory of the same size in every rank, for buffers of collectives. Collective. `base` is this rank's own memory. */
struct rt_window {
	struct rt_comm *comm;
	size_t bytes;
	char *base, *peer[RT_MAX_RANKS]; /* peer[rank]; base for the own rank, NULL for ranks of other hosts */
	bool huge_pages;
	size_t at; /* private: offset in the memory of each rank of this host */
	struct rt_window *local; /* private: over MPI, the window of the ranks of this host */
};
int rt_window_map(struct rt_comm *c, size_t bytes, bool huge_pages, struct rt_window *ret, struct gt_err *err);
void rt_window_unmap(struct rt_window *w);
#define rt_auto_window	__attribute__((cleanup(rt_window_unmap))) struct rt_window
/* Return the same memory as a window of rt_comm_local() or rt_comm_across(), for collectives among these ranks only.
 * Valid as long as w; not unmapped. */
struct rt_window rt_window_local(const struct rt_window *w);
struct rt_window rt_window_across(const struct rt_window *w);

enum rt_coll_kind {
	RT_ALLREDUCE, /* float x[n] at `offset` = sum over ranks of weight[rank] * x; bit-equal in all ranks */
	RT_ALLTOALL,  /* `bytes` for rank i at offset + i*bytes; rt_coll_from(i) is the data from rank i */
	RT_ALLGATHER, /* `bytes` at offset; rt_coll_from(i) is the data of rank i */
	/* Among the ranks of one host (rt_comm_local()), before and after an exchange between hosts: */
	RT_HOST_SUM,   /* float x[n] of rank 0 = sum over ranks of weight[rank] * x; complete in rank 0 when the sum is there */
	RT_HOST_SHARE, /* copies float x[n] of rank 0 to all; complete in rank 0 when all ranks have it */
};
/* A collective over one place of a window. It can be started repeatedly. */
struct rt_coll {
	enum rt_coll_kind kind;
	struct rt_window *window;
	size_t offset;
	int64_t n;    /* floats; of ALLREDUCE and HOST_* */
	size_t bytes; /* bytes of each rank, for the other kinds */
	int threads;  /* team size for the sum; 0: 1 */
	bool unweighted; /* ALLREDUCE and HOST_SUM: all weights are 1 */
	/* private */
	bool open;
	int channel, stage;
	uint32_t generation;
	void *request, *received;
};
/* Assign a channel to `k` (kind, window, offset, n or bytes set, all else 0), and release it. Both are collective: all
 * ranks assign the same next channel. Clearing an uninitialised one is allowed. */
int rt_coll_init(struct rt_coll *k, struct gt_err *err);
void rt_coll_clear(struct rt_coll *k);
#define rt_auto_coll	__attribute__((cleanup(rt_coll_clear))) struct rt_coll
/* Starts the collective; this rank's data is in place. Does not wait. The rank must not touch the buffer until it is
 * complete. */
int rt_coll_start(struct rt_coll *k, struct gt_err *err);
/* Returns 1 if complete, 0 if not yet. Does this rank's share of the work as soon as the other ranks are ready. */
int rt_coll_poll(struct rt_coll *k, struct gt_err *err);
/* Waits until it is complete. -ECONNRESET: a rank ended. -ETIMEDOUT: a rank did not arrive. The message names the rank. */
int rt_coll_wait(struct rt_coll *k, struct gt_err *err);
const void *rt_coll_from(const struct rt_coll *k, int rank);

/*
 * A one-way queue of messages from one rank to another, in a window of their group. Sending copies into a free slot and
 * does not wait for the receiver, except while all slots are full. Only the two ranks use it.
 */
struct rt_p2p {
	struct rt_window *window;
	size_t offset; /* offset in the sender's window, a multiple of 64; the queue takes rt_p2p_bytes() there */
	int from, to;  /* ranks */
	size_t bytes;  /* size of each message */
	int slots;
	int tag; /* 0..1023, unique among the queues of a group between hosts */
	/* private */
	uint32_t count; /* messages sent or received so far */
	void **requests;
};
size_t rt_p2p_bytes(size_t bytes, int slots);
/* Opens a queue (private fields zero) at its two ranks. The window stays mapped until both have cleared it. -ENOSYS: the
 * ranks share no memory and no MPI. */
int rt_p2p_init(struct rt_p2p *q, struct gt_err *err);
void rt_p2p_clear(struct rt_p2p *q);
/* Wait at most the group's time limit. -ECONNRESET, -ETIMEDOUT: as rt_coll_wait(). */
int rt_send(struct rt_p2p *q, const void *data, struct gt_err *err);
int rt_receive(struct rt_p2p *q, void *data, struct gt_err *err);

/*
 * Makes one group of the ranks of c that pass the same color, ordered by their rank in c. It works like any other group:
 * windows, collectives, gathers, detection of ended ranks. Messages name a rank by its number in the first group.
 * Collective over c. All ranks of c free their groups before c's next collective call. -ENOSYS: the transport has no
 * such groups.
 */
int rt_comm_split(struct rt_comm *c, int color, struct rt_comm **ret, struct gt_err *err);

/*
 * The ranks as a grid with one dimension per kind of parallelism. Ranks with neighbouring numbers differ in the first
 * dimension, whose ranks exchange the most data.
 */
enum rt_dim { RT_DIM_TENSOR, RT_DIM_DATA, RT_DIM_PIPELINE, RT_DIMS };
struct rt_mesh {
	struct rt_comm *world;
	int size[RT_DIMS], at[RT_DIMS]; /* ranks of each dimension, and the coordinates of this rank */
	/* The ranks that differ from this one in this coordinate only; its own rank there is `at`. NULL if the size is 1. */
	struct rt_comm *group[RT_DIMS];
};
/* Collective. -EINVAL: the sizes do not multiply to the number of ranks. Close it before the world is freed. */
int rt_mesh_open(struct rt_comm *world, const int size[RT_DIMS], struct rt_mesh *ret, struct gt_err *err);
void rt_mesh_close(struct rt_mesh *m);
int rt_mesh_rank(const struct rt_mesh *m, const int at[RT_DIMS]); /* rank in the world of these coordinates */
#define rt_auto_mesh	__attribute__((cleanup(rt_mesh_close))) struct rt_mesh

/* Sets the weights of ALLREDUCE for all ranks. Their sum must be 1. Default: 1/size each. Collective. */
int rt_comm_set_weight(struct rt_comm *c, double weight, struct gt_err *err);
double rt_comm_weight(const struct rt_comm *c, int rank);
/* Returns the values of all ranks in rank order. Blocks, so use it for set-up only. Collective. */
int rt_comm_gather(struct rt_comm *c, double own, double ret[RT_MAX_RANKS], struct gt_err *err);
/* Fails in every rank unless all ranks passed the same value; the message names `what`. Collective. */
int rt_comm_agree(struct rt_comm *c, uint64_t value, const char *what, struct gt_err *err);

/*
 * Returns a rank of a group of `size` ranks that does not exist, on one NUMA node of one host. It serves to plan the program of
 * such a rank. Every gather returns the own value for all ranks, and no other collective may be used. size: at most
 * RT_MAX_RANKS.
 */
struct rt_comm *rt_comm_planned(int rank, int size);

/* ---- ranks of this host ---- */
struct rt_group {
	int ranks;
	bool no_pin;	 /* do not bind the ranks to CPUs */
	const int *node; /* NUMA node of each rank, for tests; NULL: from the CPUs */
	int (*home)(int rank); /* called in each rank: preferred NUMA node; NULL: any */
	double grace_s;	 /* time from the first failure to SIGKILL for the other ranks; 0: 2 s */
	char *answer;	 /* out: the data that rank 0 passed to rt_comm_answer(), or NULL; freed by the caller */
};
typedef int rt_rank_main(struct rt_comm *c, void *arg, struct gt_err *err);
/*
 * Forks the ranks, runs fn in each and waits for all. Returns 0 if all returned 0; otherwise the error of the first
 * failed rank, prefixed with its name ("rank 1: …"), and terminates the other ranks. Call it before this process runs
 * an OpenMP team, because a forked child has no such team. Each rank is bound to its part of the CPUs that this process
 * may use, node by node.
 */
int rt_group_run(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err);
void rt_comm_answer(struct rt_comm *c, const char *text);
/* Runs the ranks as threads of this process, without binding, for tools that inspect one process: ThreadSanitizer,
 * valgrind. A failed rank ends the others; no rank can be killed. */
int rt_group_threads(struct rt_group *g, rt_rank_main *fn, void *arg, struct gt_err *err);

/* ---- ranks started by mpirun ---- */
/* Returns whether OpenMPI's mpirun started this process. */
bool rt_mpi_started(void);
/* Opens OpenMPI and joins MPI_COMM_WORLD. With one host, the result is a group over shared memory, and MPI is used for
 * the rendezvous only. Binds each rank to its part of the CPUs, unless mpirun has bound it or no_pin is set. -ENOENT:
 * no library. Call it once per process. */
int rt_comm_mpi(bool no_pin, struct rt_comm **ret, struct gt_err *err);
/* The same, but all data goes over MPI, even on one host. Ranks are not bound, and windows have no peers. */
int rt_comm_mpi_alone(struct rt_comm **ret, struct gt_err *err);

/* ---- ranks started by srun, torchrun, or with RANK and WORLD_SIZE set by hand ---- */
/* Returns whether the environment describes one of several ranks: RANK and WORLD_SIZE, SLURM_PROCID and
 * SLURM_STEP_NUM_TASKS, or PMI_RANK and PMI_SIZE. Also true if only one variable of a pair is set; rt_comm_env() then
 * fails. */
bool rt_env_started(void);
/* Joins the ranks at MASTER_ADDR and MASTER_PORT over TCP. If any rank passes memory, all must be on one host, and the
 * result is a group over shared memory. Otherwise there are no windows, only gathers and the detection of ended ranks,
 * for ranks on devices. Binds as rt_comm_mpi() does, near home(local_rank) as in struct rt_group. Exit status 64 for
 * invalid variables, and for ranks on several hosts that need memory. */
int rt_comm_env(bool no_pin, bool memory, int (*home)(int local_rank), struct rt_comm **ret, struct gt_err *err);
void rt_comm_free(struct rt_comm *c);
GT_DEFINE_AUTO(rt_comm, rt_comm_free);
/* Ends all ranks after an error in a rank that a launcher started. */
void rt_comm_abort(struct rt_comm *c, int status) __attribute__((noreturn));
RT_API_END
#endif
