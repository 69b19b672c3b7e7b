/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_DDP_H
#define RT_DDP_H
/*
 * The gradients of one program, reduced over its ranks bucket by bucket while the backward pass goes on. The gradients lie in
 * the window that the ranks share: nothing is copied into buckets. No thread of its own: the rank does its share of the sum
 * between two calls of the program as soon as the others are ready, so that ranks with one core each lose no time slice.
 */
#include "runtime/math/team.h"
#include "runtime/pass/bucket.h"
#include "runtime/transport/comm.h"

/* gradients_wanted: they are looked at before they are spent. */
int rt_ranks_decide(const struct rt_options *opt, bool gradients_wanted, struct rt_ranks *ret, struct gt_err *err);

static inline void rt_swap(float **a, float **b)
{
	float *t = *a;

	*a = *b;
	*b = t;
}

/* The sharded update. The sharding unit is RT_PIECE_UNIT elements: whole blocks of 8-bit moments. */
struct rt_share {
	int n, me; /* number of parts of each tensor, and the own part */
	/* Windows of other ranks. A tensor has the same offset from the start of each window. */
	const char *base;
	char *peer[RT_MAX_RANKS]; /* other ranks with a copy of the parameters */
	int n_peers;
	/* Windows and weights of gradients to add, in order. n_in 0: the own gradient is the sum already. */
	char *in[RT_MAX_RANKS];
	float weight[RT_MAX_RANKS];
	int n_in;
};
struct rt_ddp;
/* bytes: of the window, for what the plan put there. */
int rt_ddp_new(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_cpu *cpu,
	       const struct rt_bucket *buckets, int n, uint64_t bytes, struct rt_ddp **ret, struct gt_err *err);
void rt_ddp_free(struct rt_ddp *d);
GT_DEFINE_AUTO(rt_ddp, rt_ddp_free);
char *rt_ddp_base(struct rt_ddp *d);
uint64_t rt_ddp_bytes(const struct rt_ddp *d);
/* What rt_ddp_new() of the same would take, all of it: the window and what compression keeps beside it. */
uint64_t rt_ddp_plan_bytes(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets, int n,
			   uint64_t bytes);
/* How updates are shared out; NULL: they are not. */
const struct rt_share *rt_ddp_share(const struct rt_ddp *d);
/* Everybody has handed out what it updated, and nobody reads our gradients any more. */
int rt_ddp_rendezvous(struct rt_ddp *d, struct gt_err *err);
/* Piece i of a state that is kept in pieces, and its bytes. Nobody changes it before we start the next bucket. */
const void *rt_ddp_piece(const struct rt_ddp *d, const struct rt_node *state, int i, uint64_t *ret_bytes);
/* What ranks say of an update before its backward pass, and the weighted means that come back. */
struct rt_losses {
	double batch, weight;	/* of the last batch */
	double update, weights; /* mean over the batches of the update, and their weights together */
};
/* A reduction of its own, begun before the backward pass: it costs nobody a wait. Weights come back as the mean that the weights
 * of the ranks make of them. */
int rt_ddp_put_losses(struct rt_ddp *d, const struct rt_losses *mine, struct gt_err *err);
int rt_ddp_losses(struct rt_ddp *d, struct rt_losses *ret, struct gt_err *err);
/* The gradients are so many times what the update makes of them (its loss scale, its weights): what compression lost of earlier
 * ones is brought to the same measure. Before the first bucket, where rt_ddp_feeds_back(); 0: no batch of any rank counts. */
bool rt_ddp_feeds_back(const struct rt_ddp *d, int64_t step);
void rt_ddp_set_unit(struct rt_ddp *d, double unit);
int rt_ddp_start(struct rt_ddp *d, int bucket, int64_t step, struct gt_err *err);
/* Behind the last bucket: what was lost is kept for the next update; or, if this one came to nothing, what was lost before it. Not
 * said before the next bucket starts: it came to nothing. */
void rt_ddp_settle(struct rt_ddp *d, bool updated);
/* Other parameters: nothing was lost of their gradients. */
void rt_ddp_forget(struct rt_ddp *d);
int rt_ddp_poll(struct rt_ddp *d, struct gt_err *err);
int rt_ddp_wait(struct rt_ddp *d, int bucket, struct gt_err *err);
/* { "transport", "hosts", "nodes", "place", "weight", "bucket_bytes": [ … ], "overlap", "overlap_why", "update_parts",
 *   "update_reduces", "window_pages", "compress", "sent_bytes_per_step" (the mean over the updates, compressed or not yet),
 *   "raw_bytes_per_step", "waited_s_per_step", "overlapped" (share of the buckets done before they were waited for) } */
json_t *rt_ddp_report(const struct rt_ddp *d);

/* ---- PowerSGD (Vogels et al. 2019, algorithm 1), per bucket ---- */
struct rt_powersgd;
/* How a gradient travels: as a matrix (n,m) of rank r, or, with r 0, as n floats. Element i of the first Q (m,r) of the gradient
 * that lies at `at` in its bucket. */
void rt_powersgd_shape(const struct rt_node *gradient, int rank, int64_t *ret_n, int64_t *ret_m, int64_t *ret_r);
float rt_powersgd_first_q(uint64_t seed, int64_t at, int64_t i);
/* Floats that the bucket needs in the window. */
int64_t rt_powersgd_floats(const struct rt_bucket *b, int rank);
/* And those that each rank keeps for itself: what was lost, what takes its place, the Q that a step began with. */
int64_t rt_powersgd_kept_floats(const struct rt_bucket *b, int rank);
int rt_powersgd_new(const struct rt_bucket *b, int rank, struct rt_window *w, uint64_t offset, uint64_t seed,
		    const struct rt_cpu *cpu, struct rt_powersgd **ret, struct gt_err *err);
void rt_powersgd_free(struct rt_powersgd *p);
/* gradient: the bucket's floats; of_lost: what was lost before counts so many times. start, then poll until 1 (or wait), then
 * settle; forget: as rt_ddp_settle() and rt_ddp_forget(). */
int rt_powersgd_start(struct rt_powersgd *p, float *gradient, float of_lost, struct gt_err *err);
void rt_powersgd_settle(struct rt_powersgd *p, bool updated);
void rt_powersgd_forget(struct rt_powersgd *p);
int rt_powersgd_poll(struct rt_powersgd *p, bool wait, struct gt_err *err);
int64_t rt_powersgd_sent_floats(const struct rt_powersgd *p);
#endif
