/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emitted by pass/bucket.c and run by ddp/reduce.c. bucket_start: starts the reduction of bucket attr.bucket over the
 * ranks. bucket_wait: waits for it. ranks_meet: waits until all ranks have sent their part of the updated parameters.
 *
 * Sharded sums (pass/bucket_shard.c): bucket_done: this rank has summed its pieces of the bucket. bucket_free: waits until
 * all ranks have, so that the bucket's memory can be written again. shard_sum and shard_gather: see cpu/op_shard.c.
 */
#include "runtime/graph/ops.h"

const struct rt_op rt_op_bucket_start = {
	.id = RT_OP_BUCKET_START,
	.name = "bucket_start",
	.collective = RT_BUCKET_START,
};
const struct rt_op rt_op_bucket_wait = {
	.id = RT_OP_BUCKET_WAIT,
	.name = "bucket_wait",
	.collective = RT_BUCKET_WAIT,
};
const struct rt_op rt_op_bucket_done = {
	.id = RT_OP_BUCKET_DONE,
	.name = "bucket_done",
	.collective = RT_BUCKET_DONE,
};
const struct rt_op rt_op_bucket_free = {
	.id = RT_OP_BUCKET_FREE,
	.name = "bucket_free",
	.collective = RT_BUCKET_FREE,
};
const struct rt_op rt_op_shard_sum = {
	.id = RT_OP_SHARD_SUM,
	.name = "shard_sum",
	.f32_out = 1,
	.accumulates = 1,
};
const struct rt_op rt_op_shard_gather = {
	.id = RT_OP_SHARD_GATHER,
	.name = "shard_gather",
	.f32_out = 1,
};
const struct rt_op rt_op_ranks_meet = {
	.id = RT_OP_RANKS_MEET,
	.name = "ranks_meet",
	.collective = RT_RANKS_MEET,
};
