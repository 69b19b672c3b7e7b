/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_DDP_STATE_H
#define RT_DDP_STATE_H
/* The state of the reductions of a program. */
#include "runtime/ddp/codec.h"
#include "runtime/ddp/ddp.h"

enum stage { IDLE, READY, RAW, UP, SEGMENTS, SUMS, DOWN, POWERSGD, DONE };

struct bucket {
	const struct rt_bucket *b;
	enum stage stage;
	uint64_t key;
	struct rt_coll ready; /* all ranks have their gradients; fused updates sum them */
	struct rt_coll done;  /* all ranks have summed their pieces; with sharded sums */
	struct rt_coll raw;
	struct rt_coll up, down; /* used with a codec on several hosts: to and from the rank that compresses */
	/* used with a codec: segments are sent, their sums are received */
	int64_t segment; /* floats; the last segment may be shorter */
	uint64_t out_at, back_at;
	size_t segment_bytes;
	struct rt_coll out, back;
	/* Error feedback of the bucket and of the own segment's sum. next_*: their values if the update takes place. */
	float *residual, *residual_sum, *next_residual, *next_residual_sum;
	bool open; /* it is not yet known whether the update took place */
	struct rt_powersgd *powersgd;
};

struct rt_ddp {
	struct rt_comm *comm;
	const struct rt_codec *codec;
	/* Ranks that exchange compressed data: all ranks, or one of each host after its ranks have summed uncompressed,
	 * which costs less than compressing. NULL in ranks that do not take part. */
	struct rt_comm *compressors;
	int n_compressors;
	enum rt_compress compress;
	int64_t compress_after;
	struct rt_window window, local, exchange; /* windows of all ranks, of the host's ranks, of those that compress */
	const struct rt_ranks *ranks;
	struct rt_shard shard;
	uint64_t plan_bytes, private_bytes; /* bytes planned in the window; private bytes of this rank outside it */
	struct bucket *list;
	int n, n_started;
	struct rt_coll loss, meet;
	float *scratch; /* one decompressed segment, then its sum */
	double unit, residual_unit; /* factor of this update, and of the one that left the error */
	float residual_factor;
	int64_t steps, started, overlapped;
	double waited_s, sent_bytes, raw_bytes; /* raw: without compression */
};
#endif
