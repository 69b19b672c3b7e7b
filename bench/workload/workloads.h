/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_WORKLOADS_H
#define BN_WORKLOADS_H
#include "bench/workload/workload.h"

extern const struct bn_workload bn_workload_null;
extern const struct bn_workload bn_workload_mem_bw;
extern const struct bn_workload bn_workload_mem_matrix;
extern const struct bn_workload bn_workload_mem_latency;
extern const struct bn_workload bn_workload_alloc;
extern const struct bn_workload bn_workload_fault;
extern const struct bn_workload bn_workload_wake;
extern const struct bn_workload bn_workload_barrier;
extern const struct bn_workload bn_workload_spawn;
extern const struct bn_workload bn_workload_file_read;
extern const struct bn_workload bn_workload_file_write;
extern const struct bn_workload bn_workload_data_load;
extern const struct bn_workload bn_workload_tcp;
extern const struct bn_workload bn_workload_allreduce;
extern const struct bn_workload bn_workload_mpi;
extern const struct bn_workload bn_workload_train_gpt;
extern const struct bn_workload bn_workload_train_resnet;
extern const struct bn_workload bn_workload_train_mlp;
extern const struct bn_workload bn_workload_train_ddp;
extern const struct bn_workload bn_workload_train_gpu;
extern const struct bn_workload bn_workload_train_gpu_gpt2;
extern const struct bn_workload bn_workload_train_gpu_resnet;
extern const struct bn_workload bn_workload_train_gpu_mlp;
extern const struct bn_workload bn_workload_gpu_copy;
extern const struct bn_workload bn_workload_gpu_matrix;
extern const struct bn_workload bn_workload_gpu_feed;
extern const struct bn_workload bn_workload_gpu_launch;
extern const struct bn_workload bn_workload_gpu_gemm;
extern const struct bn_workload bn_workload_gpu_allreduce;
extern const struct bn_workload bn_workload_cmd;
extern const struct bn_workload bn_workload_sim;

/* Returns NULL, or the reason why no CUDA device can be used. */
const char *bn_no_cuda(struct gt_fsroot *fs);
#endif
