/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_NCCL_H
#define RT_CUDA_NCCL_H
/* Means over the ranks of a group, one device each, by NCCL; found as the other libraries are (vendor.h). */
#include "runtime/comm/comm.h"
#include "runtime/cuda/driver.h"

struct rt_nccl;
/* Collective over the group. -ENOENT: no library; -ENOSYS: one too old; the sentence says which. */
int rt_nccl_open(struct rt_comm *group, struct rt_nccl **ret, struct gt_err *err);
void rt_nccl_close(struct rt_nccl *n);
int rt_nccl_version(const struct rt_nccl *n); /* 22809 is 2.28.9 */
/* out (count) = mean over the ranks of x (count), floats on the device; may be in place, may be captured. */
int rt_nccl_mean(struct rt_nccl *n, cu_ptr out, cu_ptr x, int64_t count, cu_stream stream, struct gt_err *err);
#endif
