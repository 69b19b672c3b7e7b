/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_STAR_H
#define RT_STAR_H
/* Ranks that find each other at a host and port (rendezvous.c) and stay connected to the first of them (star.c). */
#include "lib/err.h"
#include "runtime/transport/comm.h"

#define RT_FRAME_MAGIC 0x31727467u /* "gtr1" */
enum rt_frame_kind { RT_HELLO = 1, RT_WELCOME, RT_VALUE, RT_ALL, RT_CAME, RT_GONE, RT_BYE };
/* The only message format, in little-endian order. A big-endian host sends another magic number. */
struct rt_frame {
	uint32_t magic;
	uint16_t kind, rank; /* rank: the sender */
	uint64_t job;
	double value[RT_MAX_RANKS];
};
/* Returns whether one of `size` ranks of the job could have sent the frame. */
bool rt_frame_ok(const struct rt_frame *f, uint64_t job, int size);

struct rt_peer {
	int fd; /* -1: none */
	size_t have;
	struct rt_frame in;
	bool bye, brought;
	double value, heard;
	int beats; /* heartbeats sent to it since its last one */
	uint64_t arrivals;
};
struct rt_star {
	struct rt_peer peer[RT_MAX_RANKS]; /* peers of the first rank: all others; of another rank: the first rank, at index 0 */
	uint64_t job, arrivals;
	double last_beat; /* time of the last heartbeat sent */
	double all[RT_MAX_RANKS];
	bool have_all;
	int awaited; /* rank + 1 that the first rank waits for, by its own report */
	_Atomic bool busy; /* a thread is in rt_star_watch() */
	_Atomic int64_t watched_ms; /* time of its last look at the connections */
	_Atomic int ended; /* rank + 1; set after why */
	char why[128];
};
/* Receives into p->in without waiting. Returns 1 for a whole frame, 0 for a partial one, -1 if the connection has ended. */
int rt_star_receive(struct rt_peer *p);
/* Handles a frame received from `from` while the ranks run. A frame that is not valid drops the rank. */
void rt_star_take(struct rt_comm *c, int from);
int rt_star_tell(struct rt_comm *c, int to, enum rt_frame_kind kind, const double *values, int n);
void rt_star_tell_all(struct rt_comm *c, enum rt_frame_kind kind, const double *values, int n);

/* Where to join, and the rank and size of this process. */
struct rt_rendezvous {
	const char *launcher;
	int rank, size, local_rank; /* local_rank -1: unknown */
	char host[256];
	int port;
	uint64_t job;
	double patience_s;
};
/* Reads the launcher's environment. Returns 1 for one of several ranks, 0 for a single process, or an error whose
 * message names the missing or invalid variable. */
int rt_rendezvous_from_environment(struct rt_rendezvous *ret, struct gt_err *err);
/* Returns the first host of a list in Slurm's notation: "node[07-09,12],login" gives node07. */
int rt_first_host(const char *list, char *ret, size_t size, struct gt_err *err);
int rt_star_join(const struct rt_rendezvous *m, struct rt_comm **ret, struct gt_err *err);
/* Fails if a rank has ended. For ranks that exchange their data in another way; any thread may call it. */
int rt_star_watch(struct rt_comm *c, struct gt_err *err);
/* Closes the connections. Frees c if it has no other transport. well: this rank finished its work. Otherwise the other
 * ranks treat it as failed. */
void rt_star_leave(struct rt_comm *c, bool well);
#endif
