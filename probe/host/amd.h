/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_AMD_H
#define PR_AMD_H
/*
 * GPUs of AMD, as amdgpu and its compute part (KFD) report them in sysfs. Sources: the kernel's
 * Documentation/gpu/amdgpu and drivers/gpu/drm/amd (amdkfd/kfd_topology.c, amdgpu/amdgpu_ras.c).
 */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/host/value.h"

struct pr_host;
struct pr_pci;

struct pr_amd_gpu {
	const struct pr_pci *pci;
	struct pr_str gfx;	 /* "gfx942"; absent: not in KFD's topology; unreadable: this container may not use the GPU */
	struct pr_num nodes;	 /* number of KFD's nodes; more than one if the GPU is partitioned */
	struct pr_num xgmi_links; /* number of other GPUs that XGMI links lead to */
	struct pr_str hive;	 /* XGMI hive, a decimal number; "0": none */
	struct pr_num vram_bytes;
	/* RAS counters since amdgpu was loaded; absent: the GPU has no RAS */
	struct pr_num uncorrected, corrected;
	struct pr_num bad_pages, pending_pages, failed_pages; /* retired pages; retired at the next reset; could not be retired */
	struct pr_str compute_partition, memory_partition;    /* "SPX" and "NPS1" */
	struct pr_num power_cap_uw, power_default_uw;
	struct pr_num render_access; /* 1: this user may open the render node; else the reason */
};

/* A node of KFD's topology: a GPU or a partition of one. */
struct pr_kfd_node {
	int64_t gpu_id; /* as in the names of kfd/proc */
	const struct pr_amd_gpu *gpu;
};

struct pr_amd {
	struct pr_amd_gpu *gpu;
	size_t n;
	struct pr_kfd_node *kfd;
	size_t n_kfd;
	enum pr_state topology;	     /* state of KFD's topology */
	size_t hidden;		     /* nodes that this container may not read */
	struct pr_num kfd_access;    /* 1: this user may open /dev/kfd; else the reason */
	struct pr_str driver;	     /* version of an amdgpu outside the kernel: "6.8.5"; absent: the kernel's own */
	struct pr_str rocm;	     /* version of /opt/rocm: "6.2.0-66" */
};

void pr_discover_amd(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI */
void pr_amd_clear(struct pr_amd *a);
/* Returns the AMD GPU at this PCI device, NULL if it is none. */
const struct pr_amd_gpu *pr_amd_gpu_at(const struct pr_host *h, const struct pr_pci *d);
/* Returns whether KFD lists an AMD GPU that this process may use. */
bool pr_amd_usable(const struct pr_host *h);
/* Adds the readings of the GPU to its entry in "other_gpus". */
void pr_amd_gpu_json(const struct pr_amd_gpu *g, json_t *entry);
json_t *pr_amd_json(const struct pr_amd *a);
#endif
