/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LIST_H
#define PR_LIST_H
/* Every check there is; list.c has them in causal order. */
#include "probe/check/check.h"

extern const struct pr_check pr_check_gpu_present, pr_check_preempt_rt, pr_check_nouveau, pr_check_module_built,
	pr_check_secure_boot, pr_check_driver_loaded, pr_check_device_nodes, pr_check_lib_versions, pr_check_nvml,
	pr_check_count, pr_check_toolkit, pr_check_gpu_node, pr_check_pcie_width, pr_check_persistence, pr_check_blas,
	pr_check_shm, pr_check_balancing, pr_check_governor, pr_check_quota, pr_check_vfio, pr_check_uvm, pr_check_libcuda,
	pr_check_wheels, pr_check_topology, pr_check_memory, pr_check_memlock, pr_check_cpu_features, pr_check_cuda_init;
#endif
