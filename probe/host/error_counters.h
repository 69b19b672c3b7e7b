/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ERROR_COUNTERS_H
#define PR_ERROR_COUNTERS_H
/* Counters of hardware errors that every user may read. They count from the start of the driver or of the host. */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/host/value.h"

struct pr_host;

/* A memory module with errors, or a memory controller that cannot distinguish its modules. */
struct pr_memory_errors {
	const char *label; /* "CPU_SrcID#0_MC#1_Chan#1_DIMM#0" */
	struct pr_num corrected, uncorrected;
};
/* A PCIe device with errors. */
struct pr_pcie_errors {
	const char *address;
	struct pr_num corrected, nonfatal, fatal;
};
struct pr_error_counters {
	struct pr_memory_errors *memory; /* modules whose counters are not zero */
	size_t n_memory;
	struct pr_num memory_s;		/* age of the counters of memory in seconds; absent: the host has none */
	struct pr_pcie_errors *pcie;	/* GPUs, network adapters, disks and the ports above them whose counters are not zero */
	size_t n_pcie;
	struct pr_num uptime_s;		/* age of the counters of PCIe */
};

void pr_discover_error_counters(struct gt_fsroot *fs, struct pr_host *h); /* runs after PCI */
void pr_error_counters_clear(struct pr_error_counters *c);
json_t *pr_error_counters_json(const struct pr_error_counters *c);
#endif
