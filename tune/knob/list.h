/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KNOB_LIST_H
#define TN_KNOB_LIST_H
#include "tune/knob.h"

/* vm.c */
extern const struct tn_knob tn_knob_dirty_ratio, tn_knob_dirty_background_ratio, tn_knob_dirty_bytes,
	tn_knob_dirty_background_bytes, tn_knob_swappiness, tn_knob_numa_balancing, tn_knob_zone_reclaim_mode,
	tn_knob_max_map_count, tn_knob_overcommit_memory;
/* net.c */
extern const struct tn_knob tn_knob_rmem_max, tn_knob_wmem_max;
/* sysfs.c */
extern const struct tn_knob tn_knob_thp_enabled, tn_knob_thp_defrag, tn_knob_read_ahead, tn_knob_scheduler,
	tn_knob_governor;
/* run_cpu.c */
extern const struct tn_knob tn_knob_affinity, tn_knob_mempolicy;
/* run_omp.c */
extern const struct tn_knob tn_knob_omp_threads, tn_knob_omp_bind, tn_knob_omp_spin;
/* run_gpu.c */
extern const struct tn_knob tn_knob_cuda_order, tn_knob_cuda_segments, tn_knob_nccl_ifname, tn_knob_leftovers;
/* run_lib.c */
extern const struct tn_knob tn_knob_blas, tn_knob_allocator, tn_knob_malloc, tn_knob_omp_runtime;
#endif
