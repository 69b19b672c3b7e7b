/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_DDP_H
#define RT_DDP_H
/*
 * Reduces the gradients of one program over its ranks, bucket by bucket, during the backward pass. The gradients are in
 * the window that the ranks share, so nothing is copied into buckets. There is no extra thread. Between two calls of the
 * program, a rank does its part of the sum as soon as the other ranks are ready. Ranks with one core each therefore lose no
 * time slice.
 */
#include "runtime/math/team.h"
#include "runtime/pass/bucket.h"
#include "runtime/transport/comm.h"

/* gradients_wanted: gradients are read before the update. */
int rt_ranks_decide(const struct rt_options *opt, bool gradients_wanted, struct rt_ranks *ret, struct gt_err *err);

static inline void rt_swap(float **a, float **b)
{
	float *t = *a;

	*a = *b;
	*b = t;
}

/* The sharded update. The sharding unit is RT_PIECE_UNIT elements: whole blocks of 8-bit moments. */
struct rt_shard {
	int n, index; /* number of parts of each tensor, and the own part */
	bool idle;    /* options.ranks.gather: rank 0 updates for this rank */
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
/* bytes: size of the planned tensors in the window. */
int rt_ddp_new(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_cpu *cpu,
	       const struct rt_bucket *buckets, int n, uint64_t bytes, struct rt_ddp **ret, struct gt_err *err);
void rt_ddp_free(struct rt_ddp *d);
GT_DEFINE_AUTO(rt_ddp, rt_ddp_free);
char *rt_ddp_base(struct rt_ddp *d);
uint64_t rt_ddp_bytes(const struct rt_ddp *d);
/* Returns the memory that rt_ddp_new() would allocate with these arguments: the window and the private memory of
 * compression. */
uint64_t rt_ddp_plan_bytes(const struct rt_options *opt, const struct rt_ranks *ranks, const struct rt_bucket *buckets, int n,
			   uint64_t bytes);
/* Returns the bytes that this rank of `size` sends to reduce a bucket and to distribute its updated parameters, uncompressed.
 * Parameters of stage 3 are gathered instead: rt_ddp_gather_bytes() of each RT_OP_SHARD_GATHER. */
double rt_ddp_bucket_bytes(const struct rt_bucket *b, const struct rt_ranks *ranks, int rank, int size);
double rt_ddp_gather_bytes(const struct rt_call *c, int size);
/* Counts a gather of parameters in the report. */
void rt_ddp_count_gather(struct rt_ddp *d, const struct rt_call *c);
/* Returns how updates are sharded; NULL: they are not. */
const struct rt_shard *rt_ddp_shard(const struct rt_ddp *d);
/* Waits until all ranks have distributed their updated parts and none reads this rank's gradients any more. */
int rt_ddp_rendezvous(struct rt_ddp *d, struct gt_err *err);
/* Returns piece i of a sharded state, and its size in bytes. It stays unchanged until this rank starts the next bucket. */
const void *rt_ddp_piece(const struct rt_ddp *d, const struct rt_node *state, int i, uint64_t *ret_bytes);
/* Returns rank 0's copy of a tensor in the window, of the same host. It stays unchanged as long as rt_ddp_piece(). */
const void *rt_ddp_at_rank_0(const struct rt_ddp *d, const struct rt_node *n);
/* Losses and weights of a rank before the backward pass of an update, and their weighted means over the ranks. */
struct rt_losses {
	double batch, weight; /* loss and weight of the last batch */
	double update, weights; /* mean over the batches of the update, and the sum of their weights */
};
/* A separate reduction, started before the backward pass, so that no rank waits for it. Weights return as the mean with
 * the weights of the ranks. */
int rt_ddp_put_losses(struct rt_ddp *d, const struct rt_losses *own, struct gt_err *err);
int rt_ddp_losses(struct rt_ddp *d, struct rt_losses *ret, struct gt_err *err);
/* Sets the factor between the gradients and the values that the update uses (loss scale, weights). The error feedback
 * of earlier updates is scaled accordingly. Call it before the first bucket if rt_ddp_feeds_back(). 0: no batch of any
 * rank counts. */
bool rt_ddp_feeds_back(const struct rt_ddp *d, int64_t step);
void rt_ddp_set_unit(struct rt_ddp *d, double unit);
int rt_ddp_start(struct rt_ddp *d, int bucket, int64_t step, struct gt_err *err);
/* Call it after the last bucket. updated: the new error feedback replaces the old one; otherwise the old one stays.
 * Without a call before the next bucket starts, the update counts as skipped. */
void rt_ddp_settle(struct rt_ddp *d, bool updated);
/* Clears the error feedback, because the parameters were replaced. */
void rt_ddp_clear_residual(struct rt_ddp *d);
int rt_ddp_poll(struct rt_ddp *d, struct gt_err *err);
int rt_ddp_wait(struct rt_ddp *d, int bucket, struct gt_err *err);
/* With sharded sums: this rank has summed its pieces. rt_ddp_free_bucket() waits until all ranks have summed their pieces. */
int rt_ddp_done(struct rt_ddp *d, int bucket, struct gt_err *err);
int rt_ddp_free_bucket(struct rt_ddp *d, int bucket, struct gt_err *err);
/*
 * { "transport", "hosts", "nodes", "place", "weight", "bucket_bytes": [ … ], "overlap", "overlap_why", "update_parts",
 *   "update_reduces", "reduce" ("all-reduce", "gather"), "window_pages", "compress", "sent_bytes_per_step" (mean over the
 *   updates, with and without compression), "raw_bytes_per_step", "waited_s_per_step", "overlapped" (share of the buckets
 *   that were complete before the wait) }
 */
json_t *rt_ddp_report(const struct rt_ddp *d);

/* ---- PowerSGD (Vogels et al. 2019, algorithm 1), per bucket ---- */
struct rt_powersgd;
/* rt_powersgd_shape() returns how a gradient is sent: as a matrix (n,m) of rank r, or as n floats if r is 0.
 * rt_powersgd_first_q() returns element i of the initial Q (m,r) of the gradient at offset `at` of its bucket. */
void rt_powersgd_shape(const struct rt_node *gradient, int rank, int64_t *ret_n, int64_t *ret_m, int64_t *ret_r);
float rt_powersgd_first_q(uint64_t seed, int64_t at, int64_t i);
/* Returns the floats that the bucket needs in the window. */
int64_t rt_powersgd_floats(const struct rt_bucket *b, int rank);
/* Returns the private floats of each rank: error feedback, its next value, and the initial Q of a step. */
int64_t rt_powersgd_private_floats(const struct rt_bucket *b, int rank);
int rt_powersgd_new(const struct rt_bucket *b, int rank, struct rt_window *w, uint64_t offset, uint64_t seed,
		    const struct rt_cpu *cpu, struct rt_powersgd **ret, struct gt_err *err);
void rt_powersgd_free(struct rt_powersgd *p);
/* gradient: the bucket's floats. residual_factor: factor of the error feedback. Call start, then poll until it returns 1 (or
 * wait), then settle. settle and forget are as rt_ddp_settle() and rt_ddp_clear_residual(). */
int rt_powersgd_start(struct rt_powersgd *p, float *gradient, float residual_factor, struct gt_err *err);
void rt_powersgd_settle(struct rt_powersgd *p, bool updated);
void rt_powersgd_clear_residual(struct rt_powersgd *p);
int rt_powersgd_poll(struct rt_powersgd *p, bool wait, struct gt_err *err);
int64_t rt_powersgd_sent_floats(const struct rt_powersgd *p);
#endif
