/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FABRIC_H
#define PR_FABRIC_H
/* Parts of the driver that connect GPUs with each other, with network cards and with host memory. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_fabric {
	size_t n_switch;	  /* number of NVSwitches on the bus */
	struct pr_num manager;	  /* 1: the process of nvidia-fabricmanager exists */
	struct pr_num peermem;	  /* 1: nvidia_peermem is loaded */
	struct pr_num hmm;	  /* 1: nvidia_uvm uses the kernel's HMM */
	struct pr_num char_links; /* 1: /dev/char/195:255 exists; systemd's device policy needs it to find the nodes */
};

void pr_discover_fabric(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI and the driver */
void pr_discover_iommu(struct gt_fsroot *fs, struct pr_host *h);  /* runs after PCI and the kernel */
#endif
