/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_KNOB_LIST_H
#define TN_KNOB_LIST_H
#include "tune/model/tunable.h"

/* Every knob, in the order of writing. */
#define TN_KNOBS(KNOB) \
	KNOB(dirty_ratio) \
	KNOB(dirty_background_ratio) \
	KNOB(dirty_bytes) \
	KNOB(dirty_background_bytes) \
	KNOB(swappiness) \
	KNOB(zone_reclaim_mode) \
	KNOB(max_map_count) \
	KNOB(min_free_kbytes) \
	KNOB(compaction_proactiveness) \
	KNOB(overcommit_memory) \
	KNOB(nr_hugepages) \
	KNOB(numa_balancing) \
	KNOB(pid_max) \
	KNOB(shmmax) \
	KNOB(rt_runtime) \
	KNOB(nmi_watchdog) \
	KNOB(inotify_instances) \
	KNOB(inotify_watches) \
	KNOB(aio_max_nr) \
	KNOB(file_max) \
	KNOB(rmem_max) \
	KNOB(wmem_max) \
	KNOB(tcp_rmem) \
	KNOB(tcp_wmem) \
	KNOB(backlog) \
	KNOB(budget) \
	KNOB(arp_announce) \
	KNOB(arp_ignore) \
	KNOB(sunrpc) \
	KNOB(rmem_default) \
	KNOB(busy_read) \
	KNOB(tcp_window) \
	KNOB(tcp_timestamps) \
	KNOB(thp_enabled) \
	KNOB(thp_defrag) \
	KNOB(thp_shmem) \
	KNOB(ksm) \
	KNOB(scheduler) /* before other settings of its queue, because a change resets some of them */ \
	KNOB(read_ahead) \
	KNOB(platform_profile) /* resets preference and governor on some machines */ \
	KNOB(governor) \
	KNOB(epp) /* after the governor, which limits the allowed values */ \
	KNOB(min_perf) \
	KNOB(epb) \
	KNOB(boost) \
	KNOB(idle_latency) \
	KNOB(aspm) \
	KNOB(irq_affinity) \
	KNOB(persistence_mode) /* before the settings that it keeps */ \
	KNOB(power_limit) \
	KNOB(gpu_clocks) \
	KNOB(gpu_memory_clocks) \
	KNOB(application_clocks) \
	/* reported only */ \
	KNOB(shm) \
	KNOB(memlock) \
	KNOB(nofile) \
	KNOB(irq_balance) \
	KNOB(nic_rings) \
	KNOB(nic_queues) \
	KNOB(nic_coalescing) \
	KNOB(nic_mtu) \
	KNOB(nic_cloud) \
	KNOB(acs) \
	KNOB(read_request) \
	KNOB(relaxed_ordering) \
	KNOB(nvme_timeout) \
	KNOB(gpu_node) \
	KNOB(persistence) \
	KNOB(ecc) \
	KNOB(mig) \
	KNOB(driver_options) \
	KNOB(nccl_conf) \
	KNOB(preempt) \
	KNOB(isolcpus) \
	KNOB(idle) \
	KNOB(preemption) \
	KNOB(init_on_free) \
	KNOB(iommu)

#define TN_KNOB_DECLARE(NAME) extern const struct tn_tunable tn_tunable_##NAME;
TN_KNOBS(TN_KNOB_DECLARE)
#undef TN_KNOB_DECLARE

extern const struct tn_precondition tn_two_nodes; /* vm.c */

extern const struct tn_tunable *const tn_tunables[]; /* tunables in the order of writing; NULL-terminated */
const struct tn_tunable *tn_tunable_find(const char *id);
/* Returns "ID:INSTANCE" of the tunable whose file is k->resets, or NULL if no tunable has it. The caller frees it. */
char *tn_tunable_side_label(const struct tn_tunable *k, const char *instance);
#endif
