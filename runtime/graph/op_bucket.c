/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emitted by pass/bucket.c and run by ddp/reduce.c. bucket_start: starts the reduction of bucket attr.bucket over the
 * ranks. bucket_wait: waits for it. ranks_meet: waits until all ranks have sent their part of the updated parameters.
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
const struct rt_op rt_op_ranks_meet = {
	.id = RT_OP_RANKS_MEET,
	.name = "ranks_meet",
	.collective = RT_RANKS_MEET,
};
