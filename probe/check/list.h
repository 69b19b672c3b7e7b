/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_LIST_H
#define PR_LIST_H
/* Every check there is; list.c has them in causal order. */
#include "probe/check/check.h"

extern const struct pr_check pr_check_gpu_present, pr_check_preempt_rt, pr_check_nouveau, pr_check_module_built,
	pr_check_secure_boot, pr_check_driver_loaded, pr_check_device_nodes, pr_check_device_numbers,
	pr_check_firmware, pr_check_wsl, pr_check_lib_versions, pr_check_nvml,
	pr_check_count, pr_check_toolkit, pr_check_gpu_node, pr_check_pcie_width, pr_check_persistence, pr_check_blas,
	pr_check_shm, pr_check_balancing, pr_check_governor, pr_check_quota, pr_check_vfio, pr_check_uvm, pr_check_upgrade,
	pr_check_libcuda, pr_check_wheels, pr_check_topology, pr_check_memory, pr_check_memlock, pr_check_cpu_features,
	pr_check_cuda_init, pr_check_data, pr_check_acs, pr_check_bar1, pr_check_compute_mode,
	pr_check_container_devices, pr_check_container_lost, pr_check_cudnn, pr_check_ecc, pr_check_fabric,
	pr_check_forward, pr_check_glibc, pr_check_gsp, pr_check_hmm, pr_check_host_compiler, pr_check_init,
	pr_check_iommu, pr_check_legacy, pr_check_libraries, pr_check_lost, pr_check_mig, pr_check_nccl,
	pr_check_next_kernel, pr_check_nvlink, pr_check_nvml_library, pr_check_nvswitch, pr_check_open_required,
	pr_check_p2p, pr_check_xid,
	pr_check_peermem, pr_check_ptx, pr_check_require, pr_check_reset, pr_check_runtime, pr_check_throttle,
	pr_check_blas_kernels, pr_check_too_new, pr_check_toolkit_glibc, pr_check_torch_arch, pr_check_python_driver,
	pr_check_visible, pr_check_log_gpu, pr_check_log_network, pr_check_log_disk, pr_check_log_pcie,
	pr_check_log_hardware, pr_check_log_oom,
	pr_check_log_stall, pr_check_log_filesystem, pr_check_log_thermal;
/* settings.c */
extern const struct pr_check pr_check_overcommit, pr_check_hugepages, pr_check_thp_shmem, pr_check_shmmax, pr_check_rt_runtime,
	pr_check_nmi_watchdog, pr_check_rmem_default, pr_check_busy_read, pr_check_tcp_timestamps;
/* boot.c, leftovers.c, nic.c */
extern const struct pr_check pr_check_isolcpus, pr_check_idle, pr_check_preempt, pr_check_init_on_free, pr_check_nofile,
	pr_check_driver_options, pr_check_nccl_conf, pr_check_nvme_timeout, pr_check_irq_balance, pr_check_nic_rings,
	pr_check_nic_queues, pr_check_nic_mtu, pr_check_read_request;
#endif
