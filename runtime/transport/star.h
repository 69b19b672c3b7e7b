/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_STAR_H
#define RT_STAR_H
/* Ranks that meet at a host and port (meet.c) and stay connected with the first of them (star.c). */
#include "lib/err.h"
#include "runtime/transport/comm.h"

#define RT_FRAME_MAGIC 0x31727467u /* "gtr1" */
enum rt_frame_kind { RT_HELLO = 1, RT_WELCOME, RT_VALUE, RT_ALL, RT_CAME, RT_GONE, RT_BYE };
/* All that travels, in the order of little-endian hosts; another order is another magic. */
struct rt_frame {
	uint32_t magic;
	uint16_t kind, rank; /* who says it */
	uint64_t job;
	double value[RT_MAX_RANKS];
};
/* Could one of `size` ranks of the job have sent it? */
bool rt_frame_ok(const struct rt_frame *f, uint64_t job, int size);

struct rt_peer {
	int fd; /* -1: none */
	size_t have;
	struct rt_frame in;
	bool bye, brought;
	double value, heard;
	int beats; /* signs of life that it has had since */
	uint64_t came;
};
struct rt_star {
	struct rt_peer peer[RT_MAX_RANKS]; /* the first rank has all others; these have the first, at 0 */
	uint64_t job, came;
	double told; /* when we last gave a sign of life */
	double all[RT_MAX_RANKS];
	bool have_all;
	int behind; /* rank + 1 of whom the first waits for, as it says */
	int gone;   /* rank + 1 */
	char why[128];
};
/* A whole frame in p->in: 1; not yet: 0; the connection has ended: -1. Does not wait. */
int rt_star_receive(struct rt_peer *p);
/* A frame that has come of `from` while the ranks live. It need not be one of ours: then the rank is given up. */
void rt_star_take(struct rt_comm *c, int from);
int rt_star_tell(struct rt_comm *c, int to, enum rt_frame_kind kind, const double *values, int n);
void rt_star_tell_all(struct rt_comm *c, enum rt_frame_kind kind, const double *values, int n);

/* Where and as what a process joins. */
struct rt_rendezvous {
	const char *launcher;
	int rank, size, local_rank; /* local_rank -1: not told */
	char host[256];
	int port;
	uint64_t job;
	double patience_s;
};
/* What a launcher says in the environment. 1: this is one of several ranks; 0: it is not; else the sentence names what
 * is missing or wrong. */
int rt_rendezvous_from_environment(struct rt_rendezvous *ret, struct gt_err *err);
/* First of a list of hosts as Slurm writes it: "node[07-09,12],login" is node07. */
int rt_first_host(const char *list, char *ret, size_t size, struct gt_err *err);
int rt_star_join(const struct rt_rendezvous *m, struct rt_comm **ret, struct gt_err *err);
/* well: our part is done; else the others take us for lost. */
void rt_star_leave(struct rt_comm *c, bool well);
#endif
