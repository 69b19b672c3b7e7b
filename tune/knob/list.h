/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KNOB_LIST_H
#define TN_KNOB_LIST_H
#include "tune/model/knob.h"

/* vm.c */
extern const struct tn_knob tn_knob_dirty_ratio, tn_knob_dirty_background_ratio, tn_knob_dirty_bytes,
	tn_knob_dirty_background_bytes, tn_knob_swappiness, tn_knob_numa_balancing, tn_knob_zone_reclaim_mode,
	tn_knob_max_map_count, tn_knob_min_free_kbytes;
/* kernel.c */
extern const struct tn_knob tn_knob_pid_max, tn_knob_inotify_instances, tn_knob_inotify_watches, tn_knob_aio_max_nr,
	tn_knob_file_max;
/* net.c */
extern const struct tn_knob tn_knob_rmem_max, tn_knob_wmem_max, tn_knob_tcp_rmem, tn_knob_tcp_wmem, tn_knob_backlog,
	tn_knob_budget, tn_knob_arp_announce, tn_knob_arp_ignore, tn_knob_sunrpc;
/* sysfs.c */
extern const struct tn_knob tn_knob_thp_enabled, tn_knob_thp_defrag, tn_knob_ksm, tn_knob_read_ahead,
	tn_knob_scheduler;
/* cpu.c */
extern const struct tn_knob tn_knob_governor, tn_knob_epp, tn_knob_min_perf, tn_knob_boost, tn_knob_platform_profile,
	tn_knob_aspm, tn_knob_epb, tn_knob_idle_latency;
/* advice.c */
extern const struct tn_knob tn_knob_shm, tn_knob_memlock, tn_knob_persistence, tn_knob_acs, tn_knob_iommu,
	tn_knob_gpu_node, tn_knob_preempt, tn_knob_overcommit_memory, tn_knob_nr_hugepages, tn_knob_shmmax, tn_knob_rt_runtime,
	tn_knob_nmi_watchdog, tn_knob_rmem_default, tn_knob_busy_read, tn_knob_tcp_timestamps, tn_knob_thp_shmem,
	tn_knob_nofile, tn_knob_irq_balance, tn_knob_nic_rings, tn_knob_nic_queues, tn_knob_nic_mtu, tn_knob_read_request,
	tn_knob_nvme_timeout, tn_knob_driver_options, tn_knob_nccl_conf, tn_knob_isolcpus, tn_knob_idle, tn_knob_preemption,
	tn_knob_init_on_free;
/* card.c */
extern const struct tn_knob tn_knob_irq_affinity;

const struct tn_knob *tn_knob_find(const char *id);
/* Returns "ID:INSTANCE" of the tunable whose file is k->resets, or NULL if no tunable has it. The caller frees it. */
char *tn_knob_side_label(const struct tn_knob *k, const char *instance);
#endif
