/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_FIRMWARE_H
#define PR_FIRMWARE_H
/* The firmware of the GPU system processor (GSP), which the driver loads from disk. */
#include "lib/fsroot.h"
#include "probe/host/value.h"

struct pr_host;

struct pr_gsp {
	struct pr_num firmware;	   /* 1: firmware of the module's version is on disk; 0: the module is configured not to use it */
	const char *version;	   /* version of the loaded module; NULL: unknown */
	const char *other_version; /* version of firmware on disk that does not match; NULL: none */
};

void pr_discover_firmware(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI and the driver */
#endif
