/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LAUNCH_SETTINGS_H
#define TN_LAUNCH_SETTINGS_H
/* The settings of `gputune run`; tune/launch/list.c lists them in the order in which they are prepared. */
#include "tune/launch/run.h"
#include "tune/model/knob.h"

/* run_cpu.c */
extern const struct tn_knob tn_knob_affinity, tn_knob_mempolicy, tn_knob_files;
/* run_omp.c */
extern const struct tn_knob tn_knob_omp_threads, tn_knob_omp_bind, tn_knob_omp_spin;
/* run_gpu.c */
extern const struct tn_knob tn_knob_cuda_order, tn_knob_cuda_segments, tn_knob_nccl_ifname, tn_knob_leftovers;
/* run_lib.c */
extern const struct tn_knob tn_knob_blas, tn_knob_allocator, tn_knob_malloc, tn_knob_omp_runtime;
/* run_kernels.c */
extern const struct tn_knob tn_knob_kernels;
#endif
