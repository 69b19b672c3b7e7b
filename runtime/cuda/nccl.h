/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_NCCL_H
#define RT_CUDA_NCCL_H
/*
 * Collectives over the ranks of a group, with one device each, by NCCL. The library is found like the others
 * (vendor.h).
 *
 * No call waits for another rank forever. The communicator is non-blocking if NCCL supports it (2.14;
 * NCCL_COMM_BLOCKING=1 disables it). Code that waits for the device calls rt_nccl_watch() repeatedly.
 */
#include "runtime/cuda/driver.h"
#include "runtime/runtime.h"
#include "runtime/transport/comm.h"

struct rt_nccl;
/* -ENOENT, -ENOSYS: no usable NCCL; the message gives the reason. */
int rt_nccl_probe(struct gt_err *err);
/* Collective over the group. dev must outlive it. -ENOENT: no library. -ENOSYS: the library is too old; the message
 * gives its version. */
int rt_nccl_open(const struct rt_cuda *dev, struct rt_comm *group, struct rt_nccl **ret, struct gt_err *err);
/*
 * Opens a communicator of two ranks for each direction between neighbours of the group: ret[0] from the previous rank, ret[1] to
 * it, ret[2] to the next rank, ret[3] from it; NULL at the ends. Each has its own stream, so a message does not wait for one
 * in the other direction. Collective over the group.
 */
int rt_nccl_open_neighbours(const struct rt_cuda *dev, struct rt_comm *group, struct rt_nccl *ret[4], struct gt_err *err);
/* Call it after all graphs with captured collectives are destroyed, because NCCL waits for them. */
void rt_nccl_close(struct rt_nccl *n);
/* Ends collectives that wait on the device. Afterwards only destroying the graphs and closing are allowed. Returns at
 * once. */
void rt_nccl_abort(struct rt_nccl *n);
int rt_nccl_version(const struct rt_nccl *n); /* 22809 is 2.28.9 */
/*
 * Checks the ranks of these communicators after waited_s seconds of waiting. -ECONNRESET: a rank ended. -ETIMEDOUT: a rank
 * did not arrive (rt_comm_set_timeout). -EIO: NCCL failed. The message names the rank if it is known. On an error the
 * communicators are aborted, so that collectives on the device end. count: at least 1.
 */
int rt_nccl_watch(struct rt_nccl *const *n, int count, double waited_s, struct gt_err *err);
struct rt_comm *rt_nccl_group(const struct rt_nccl *n);

/* These calls only enqueue and may be captured. */
/* out (count) = mean over the ranks of x (count), device floats; may be in place. */
int rt_nccl_mean(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, cu_stream stream, struct gt_err *err);
/* Sends `bytes` at x + i*bytes to rank i; out + i*bytes receives the data from rank i. Not in place. */
int rt_nccl_all_to_all(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err);
/* out + i*bytes receives the `bytes` of rank i. In place if x is the own part of out. */
int rt_nccl_all_gather(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err);
/* out (count) = sum over the ranks of x (count), with the same bits in all ranks; may be in place. type: f32, bf16, f16. */
int rt_nccl_sum(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, enum rt_dtype type, cu_stream stream, struct gt_err *err);
/* The same for one double in place. */
int rt_nccl_sum_double(struct rt_nccl *n, cu_ptr x, cu_stream stream, struct gt_err *err);
/* Send `bytes` at x to the other rank of two, or receive them. */
int rt_nccl_send(struct rt_nccl *n, cu_ptr x, size_t bytes, cu_stream stream, struct gt_err *err);
int rt_nccl_receive(struct rt_nccl *n, cu_ptr out, size_t bytes, cu_stream stream, struct gt_err *err);
/* out receives the `bytes` at x of rank `peer`, which makes the same call. Not in place. */
int rt_nccl_swap(struct rt_nccl *n, cu_ptr out, cu_ptr x, size_t bytes, int peer, cu_stream stream, struct gt_err *err);
/* out (count) = the own block of the sum over the ranks of x (ranks*count). */
int rt_nccl_reduce_scatter(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, enum rt_dtype type, cu_stream stream,
			   struct gt_err *err);
#endif
