/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NODES_H
#define PR_NODES_H
/* The NVIDIA driver's device nodes in /dev. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

/* A node, its device number, and the current major number for devices of its kind. */
struct pr_devnode {
	const char *path, *kind; /* "/dev/nvidia-uvm", "nvidia-uvm" as in /proc/devices */
	unsigned major, minor;
	struct pr_num now; /* absent: the kernel has no devices of that kind now */
};

struct pr_device_nodes {
	struct pr_devnode *node; /* none if /proc/devices is not readable */
	size_t n_node;
};

void pr_discover_nodes(struct gt_fsroot *fs, struct pr_host *h); /* runs after the driver */
void pr_device_nodes_clear(struct pr_device_nodes *n);
#endif
