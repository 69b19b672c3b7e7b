/* SPDX-License-Identifier: Apache-2.0 */
/* Subjects that are never written. gpuprobe's check judges each of them; the plan has its finding and its remedy. */
#include "probe/check/list.h"
#include "tune/knob/list.h"

#define ADVICE(ID, CHECK, EFFECT)                                                                                              \
	{ .id = ID, .check = &CHECK, .tag = 'C', .takes_effect = EFFECT, .hazard = "Reported, never written.", .unit = "",      \
	  .mechanism = "" }

const struct tn_knob tn_knob_shm = ADVICE("mem.shm", pr_check_shm, TN_NOW);
const struct tn_knob tn_knob_memlock = ADVICE("limits.memlock", pr_check_memlock, TN_NEW_PROCESS);
const struct tn_knob tn_knob_persistence = ADVICE("gpu.persistence", pr_check_persistence, TN_NOW);
const struct tn_knob tn_knob_acs = ADVICE("pcie.acs", pr_check_acs, TN_REBOOT);
const struct tn_knob tn_knob_iommu = ADVICE("boot.iommu", pr_check_iommu, TN_REBOOT);
const struct tn_knob tn_knob_gpu_node = ADVICE("gpu.node", pr_check_gpu_node, TN_REBOOT);
const struct tn_knob tn_knob_preempt = ADVICE("boot.kernel", pr_check_preempt_rt, TN_REBOOT);
