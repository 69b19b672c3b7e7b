/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_NCCL_H
#define RT_CUDA_NCCL_H
/*
 * Collectives over the ranks of a group, one device each, by NCCL; found as the other libraries are (vendor.h).
 *
 * No call waits for another rank without an end: the communicator does not block where NCCL can do so (2.14; NCCL_COMM_BLOCKING=1
 * takes it back), and who waits for the device looks round with rt_nccl_watch().
 */
#include "runtime/cuda/driver.h"
#include "runtime/transport/comm.h"

struct rt_nccl;
/* -ENOENT, -ENOSYS: there is no NCCL that could be used; the sentence says why. */
int rt_nccl_probe(struct gt_err *err);
/* Collective over the group; dev outlives it. -ENOENT: no library; -ENOSYS: one too old; the sentence says which. */
int rt_nccl_open(const struct rt_cuda *dev, struct rt_comm *group, struct rt_nccl **ret, struct gt_err *err);
/* Behind all graphs that have captured its collectives: NCCL waits for their end. */
void rt_nccl_close(struct rt_nccl *n);
/* What waits on the device ends; nothing but destroying the graphs and closing is left. Returns at once. */
void rt_nccl_abort(struct rt_nccl *n);
int rt_nccl_version(const struct rt_nccl *n); /* 22809 is 2.28.9 */
/*
 * Is all well after waiting for so many seconds? -ECONNRESET: a rank died; -ETIMEDOUT: one did not come (rt_comm_set_timeout);
 * -EIO: NCCL itself failed; the sentence names the rank. The communicator is aborted then, so that what waits on the device ends.
 */
int rt_nccl_watch(struct rt_nccl *n, double waited_s, struct gt_err *err);

/* All are enqueued, and may be captured. */
/* out (count) = mean over the ranks of x (count), floats on the device; may be in place. */
int rt_nccl_mean(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, cu_stream stream, struct gt_err *err);
/* Rank i gets `bytes` at x + i*bytes; out + i*bytes is what it had for us. Not in place. */
int rt_nccl_all_to_all(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err);
/* out + i*bytes is the `bytes` of rank i. In place: x is our own part of out. */
int rt_nccl_all_gather(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err);
#endif
