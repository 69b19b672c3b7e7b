/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RT_CUDA_METER_RANKS_H
#define RT_CUDA_METER_RANKS_H
/* How fast the devices of several ranks average what they hold. */
#include "runtime/cuda/cuda.h"
#include "runtime/transport/comm.h"

struct rt_reduce_meter;
/* Collective: the rank's device, NCCL, and memory for up to `bytes` on each. */
int rt_reduce_meter_open(struct rt_comm *c, size_t bytes, struct rt_reduce_meter **ret, struct gt_err *err);
void rt_reduce_meter_close(struct rt_reduce_meter *m);
GT_DEFINE_AUTO(rt_reduce_meter, rt_reduce_meter_close);
uint64_t rt_reduce_meter_free_bytes(const struct rt_reduce_meter *m); /* of the card's memory, least of all ranks */
const char *rt_reduce_meter_card(const struct rt_reduce_meter *m);
int rt_reduce_meter_nccl(const struct rt_reduce_meter *m);
/*
 * n samples of `repeat` means in a row over `bytes` in place: ret_s[i] the seconds of one on the slowest rank, between two events
 * on its card. *ret_wrong: elements, over all ranks, that were not the mean after the first. spoil: one of rank 0 is changed.
 */
int rt_reduce_meter_run(struct rt_reduce_meter *m, size_t bytes, int repeat, bool spoil, int n, double *ret_s, double *ret_wrong,
			struct gt_err *err);
#endif
