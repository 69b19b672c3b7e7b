/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FABRIC_H
#define PR_FABRIC_H
/* Parts of the driver that connect GPUs with each other, with network cards and with host memory. */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/host/value.h"

struct pr_host;

/* Options of the kernel's configuration that DMA-BUF between GPUs and network cards depends on. */
enum pr_dmabuf_option { PR_DMA_SHARED_BUFFER, PR_DMABUF_MOVE_NOTIFY, PR_PCI_P2PDMA, PR_INFINIBAND_USER_MEM,
		PR_INFINIBAND_ON_DEMAND_PAGING, PR_DMABUF_OPTIONS };
extern const char *const pr_dmabuf_option_names[PR_DMABUF_OPTIONS]; /* "CONFIG_DMA_SHARED_BUFFER" */

/* How network cards can access the memory of GPUs. Read on hosts with an RDMA device and a GPU. */
struct pr_gpudirect {
	struct pr_num ofed;	 /* 1: the RDMA drivers are those of MLNX_OFED or DOCA-OFED */
	struct pr_num amd_peers; /* 1: amdkfd is registered with the RDMA drivers (peer memory) */
	enum pr_state config;	 /* state of the kernel's configuration; unknown: not read */
	struct pr_num option[PR_DMABUF_OPTIONS]; /* 1 set, 0 not set; absent: not in the configuration */
};

struct pr_fabric {
	size_t n_switch;	  /* number of NVSwitches on the bus */
	struct pr_num manager;	  /* 1: the process of nvidia-fabricmanager exists */
	struct pr_num peermem;	  /* 1: nvidia_peermem is loaded */
	struct pr_num hmm;	  /* 1: nvidia_uvm uses the kernel's HMM */
	struct pr_gpudirect gpudirect;
	struct pr_num char_links; /* 1: /dev/char/195:255 exists; systemd's device policy needs it to find the nodes */
};

void pr_discover_fabric(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI and the driver */
void pr_discover_gpudirect(struct gt_fsroot *fs, struct pr_host *h); /* runs after the devices */
/* Returns the options as the fact "kernel_config"; NULL if they were not read. The caller frees it. */
char *pr_kernel_config_fact(const struct pr_host *h);
json_t *pr_gpudirect_json(const struct pr_gpudirect *g);
void pr_discover_iommu(struct gt_fsroot *fs, struct pr_host *h);  /* runs after PCI and the kernel */
#endif
