/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_PLATFORM_H
#define PR_PLATFORM_H
/* Platforms whose GPU is not on a PCI bus (Tegra, WSL) or whose driver belongs to another system (Kubernetes' GPU operator). */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

#define PR_TEGRA_THOR 264 /* first chip with the CUDA of Arm servers (JetPack 7: SBSA, CUDA 13) */
struct pr_tegra {
	struct pr_str board; /* "NVIDIA Jetson AGX Orin Developer Kit"; absent: not a Tegra processor */
	int chip;	     /* 234: Orin, 264: Thor; 0: unknown or not a Tegra */
	const char *release; /* first line of /etc/nv_tegra_release, NULL if there is none */
};

#define PR_DRIVER_ROOT "/run/nvidia/driver" /* the GPU operator's driver files for other containers */
struct pr_platform {
	bool windows_driver; /* WSL: Windows provides a libcuda, even if no program loads it */
	struct pr_num dxg;   /* 1: /dev/dxg exists, the interface of WSL to the GPU of Windows */
	bool driver_root;    /* the driver runs in a container of Kubernetes' GPU operator */
};

void pr_discover_platform(struct gt_fsroot *fs, struct pr_host *h);
#endif
