/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subjects that gputune never changes. For each of them the plan shows the finding and the remedy of a check of
 * gpuprobe.
 */
#include "probe/check/list.h"
#include "tune/knob/list.h"

#define ADVICE(ID, CHECK, EFFECT)                                                                                              \
	{ .id = ID, .check = &CHECK, .tag = 'C', .takes_effect = EFFECT, .hazard = "gputune only reports this setting.",         \
	  .unit = "", .mechanism = "" }

const struct tn_tunable tn_tunable_shm = ADVICE("mem.shm", pr_check_shm, TN_NOW);
const struct tn_tunable tn_tunable_memlock = ADVICE("limits.memlock", pr_check_memlock, TN_NEW_PROCESS);
const struct tn_tunable tn_tunable_persistence = ADVICE("gpu.persistence", pr_check_persistence, TN_NOW);
const struct tn_tunable tn_tunable_ecc = ADVICE("gpu.ecc_mode", pr_check_ecc_mode, TN_REBOOT);
const struct tn_tunable tn_tunable_mig = ADVICE("gpu.mig", pr_check_mig, TN_NOW);
const struct tn_tunable tn_tunable_acs = ADVICE("pcie.acs", pr_check_acs, TN_REBOOT);
const struct tn_tunable tn_tunable_iommu = ADVICE("boot.iommu", pr_check_iommu, TN_REBOOT);
const struct tn_tunable tn_tunable_gpu_node = ADVICE("gpu.node", pr_check_gpu_node, TN_REBOOT);
const struct tn_tunable tn_tunable_preempt = ADVICE("boot.kernel", pr_check_preempt_rt, TN_REBOOT);
const struct tn_tunable tn_tunable_overcommit_memory = ADVICE("vm.overcommit_memory", pr_check_overcommit, TN_NOW);
const struct tn_tunable tn_tunable_nr_hugepages = ADVICE("vm.nr_hugepages", pr_check_hugepages, TN_NOW);
const struct tn_tunable tn_tunable_shmmax = ADVICE("kernel.shmmax", pr_check_shmmax, TN_NOW);
const struct tn_tunable tn_tunable_rt_runtime = ADVICE("kernel.sched_rt_runtime_us", pr_check_rt_runtime, TN_NOW);
const struct tn_tunable tn_tunable_nmi_watchdog = ADVICE("kernel.nmi_watchdog", pr_check_nmi_watchdog, TN_NOW);
const struct tn_tunable tn_tunable_rmem_default = ADVICE("net.core.rmem_default", pr_check_rmem_default, TN_NOW);
const struct tn_tunable tn_tunable_busy_read = ADVICE("net.core.busy_read", pr_check_busy_read, TN_NOW);
const struct tn_tunable tn_tunable_tcp_window = ADVICE("net.ipv4.tcp_window_scaling", pr_check_tcp_window, TN_NOW);
const struct tn_tunable tn_tunable_tcp_timestamps = ADVICE("net.ipv4.tcp_timestamps", pr_check_tcp_timestamps, TN_NOW);
const struct tn_tunable tn_tunable_thp_shmem = ADVICE("thp.shmem", pr_check_thp_shmem, TN_NOW);
const struct tn_tunable tn_tunable_nofile = ADVICE("limits.nofile", pr_check_nofile, TN_NEW_PROCESS);
const struct tn_tunable tn_tunable_irq_balance = ADVICE("irq.balance", pr_check_irq_balance, TN_NOW);
const struct tn_tunable tn_tunable_nic_rings = ADVICE("nic.rings", pr_check_nic_rings, TN_NOW);
const struct tn_tunable tn_tunable_nic_queues = ADVICE("nic.queues", pr_check_nic_queues, TN_NOW);
const struct tn_tunable tn_tunable_nic_coalescing = ADVICE("nic.coalescing", pr_check_nic_coalescing, TN_NOW);
const struct tn_tunable tn_tunable_nic_mtu = ADVICE("nic.mtu", pr_check_nic_mtu, TN_NOW);
const struct tn_tunable tn_tunable_nic_cloud = ADVICE("nic.cloud", pr_check_nic_cloud, TN_REBOOT);
const struct tn_tunable tn_tunable_read_request = ADVICE("pcie.read_request", pr_check_read_request, TN_NOW);
const struct tn_tunable tn_tunable_relaxed_ordering = ADVICE("pcie.relaxed_order", pr_check_relaxed_ordering, TN_NOW);
const struct tn_tunable tn_tunable_nvme_timeout = ADVICE("nvme.io_timeout", pr_check_nvme_timeout, TN_REBOOT);
const struct tn_tunable tn_tunable_driver_options = ADVICE("gpu.driver_options", pr_check_driver_options, TN_REBOOT);
const struct tn_tunable tn_tunable_nccl_conf = ADVICE("nccl.conf", pr_check_nccl_conf, TN_NEW_PROCESS);
const struct tn_tunable tn_tunable_isolcpus = ADVICE("boot.isolcpus", pr_check_isolcpus, TN_REBOOT);
const struct tn_tunable tn_tunable_idle = ADVICE("boot.idle", pr_check_idle, TN_REBOOT);
const struct tn_tunable tn_tunable_preemption = ADVICE("boot.preempt", pr_check_preempt, TN_REBOOT);
const struct tn_tunable tn_tunable_init_on_free = ADVICE("boot.init_on_free", pr_check_init_on_free, TN_REBOOT);
