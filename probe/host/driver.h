/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DRIVER_H
#define PR_DRIVER_H
/* State of the NVIDIA driver on disk: the kernel module, its DKMS source, access to its device nodes, CUDA toolkits. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_driver {
	struct pr_str module_version; /* version of the loaded nvidia module */
	struct pr_str module_text;    /* text of /proc/driver/nvidia/version */
	struct pr_str params;	      /* text of /proc/driver/nvidia/params */
	bool open_module;	      /* the loaded module is the open flavour */
	struct pr_num module_file;    /* 1: /lib/modules of the running kernel contains an nvidia module */
	const char *module_path;      /* path of that file, NULL if there is none */
	struct pr_num headers;	      /* 1: the headers of the running kernel are installed, so that DKMS can build */
	struct pr_num dkms;	      /* 1: Debian's or NVIDIA's DKMS source is installed */
	struct pr_str dkms_source;    /* "nvidia-current/550.163.01" */
	const char *next_kernel;      /* release of an installed kernel newer than the running one; NULL: none */
	struct pr_num next_module;    /* 1: an nvidia module is built for it */
	struct pr_num device_node;    /* 1: this user can open /dev/nvidiactl */
	struct pr_num uvm_node;	      /* 1: this user can open /dev/nvidia-uvm; without it CUDA fails with error 999 */
	bool some_inaccessible;		      /* fewer GPUs can be opened than are on the bus, and it is unknown which ones */
	struct pr_num modprobe;	      /* 1: nvidia-modprobe, which creates device nodes on demand, is installed */
	bool run_file;		      /* the driver was installed by NVIDIA's .run file */
	struct gt_strv toolkits;      /* "/usr/local/cuda-13.0" */
};

void pr_discover_driver(struct gt_fsroot *fs, struct pr_host *h);
void pr_find_inaccessible_gpus(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI */
void pr_discover_blas(struct gt_fsroot *fs, struct pr_host *h);
void pr_driver_clear(struct pr_driver *d);
#endif
