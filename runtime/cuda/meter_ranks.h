/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_METER_RANKS_H
#define RT_CUDA_METER_RANKS_H
/* Measures how fast the devices of several ranks average a buffer. */
#include "runtime/cuda/cuda.h"
#include "runtime/transport/comm.h"

struct rt_reduce_meter;
/* Opens the rank's device and NCCL and allocates buffers for up to `bytes`. Collective. */
int rt_reduce_meter_open(struct rt_comm *c, size_t bytes, struct rt_reduce_meter **ret, struct gt_err *err);
void rt_reduce_meter_close(struct rt_reduce_meter *m);
GT_DEFINE_AUTO(rt_reduce_meter, rt_reduce_meter_close);
uint64_t rt_reduce_meter_free_bytes(const struct rt_reduce_meter *m); /* free device memory, lowest of all ranks */
const char *rt_reduce_meter_card(const struct rt_reduce_meter *m);
int rt_reduce_meter_nccl(const struct rt_reduce_meter *m);
/*
 * Takes n samples of `repeat` consecutive means over `bytes`, in place. ret_s[i] is the time of one mean on the slowest
 * rank, between two events on its device. *ret_wrong: number of elements over all ranks that were wrong after the first
 * mean. spoil: changes one element of rank 0.
 */
int rt_reduce_meter_run(struct rt_reduce_meter *m, size_t bytes, int repeat, bool spoil, int n, double *ret_s, double *ret_wrong,
			struct gt_err *err);
#endif
