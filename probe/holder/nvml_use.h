/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NVML_USE_H
#define PR_NVML_USE_H
/* NVML's calls about the current use of a GPU. Call these functions in a child process, because with a hung driver they
 * never return. */
#include <stddef.h>
#include "lib/dl.h"
#include "lib/json.h"

/* nvmlProcessInfo_t of the versions 2 and 3 */
struct pr_nvml_process {
	unsigned pid;
	unsigned long long memory_bytes; /* all bits set: not available */
	unsigned gpu_instance, compute_instance;
};
struct pr_nvml_use_memory {
	unsigned long long total, free, used;
};
struct pr_nvml_use_percent {
	unsigned gpu, memory;
};

/* All functions may be missing in an old library. */
struct pr_nvml_use {
	int (*memory)(void *dev, struct pr_nvml_use_memory *ret);
	int (*percent)(void *dev, struct pr_nvml_use_percent *ret);
	/* the processes that compute, draw, and compute through MPS; *n: size of the list, then its length */
	int (*compute)(void *dev, unsigned *n, struct pr_nvml_process *list);
	int (*graphics)(void *dev, unsigned *n, struct pr_nvml_process *list);
	int (*mps)(void *dev, unsigned *n, struct pr_nvml_process *list);
};
#define PR_NVML_LIST(type, member, sym) \
	{ .name = #sym "_v3", .fallback = #sym "_v2", .offset = offsetof(struct type, member), .optional = true }
/* Entries of a table for gt_dl_open(). use: the member of the type that has this struct. */
#define PR_NVML_USE_SYMS(type, use)                                                   \
	GT_DLSYM_OPT(type, use.memory, nvmlDeviceGetMemoryInfo),                      \
	GT_DLSYM_OPT(type, use.percent, nvmlDeviceGetUtilizationRates),               \
	PR_NVML_LIST(type, use.compute, nvmlDeviceGetComputeRunningProcesses),        \
	PR_NVML_LIST(type, use.graphics, nvmlDeviceGetGraphicsRunningProcesses),      \
	PR_NVML_LIST(type, use.mps, nvmlDeviceGetMPSComputeRunningProcesses)

/* Adds "processes": [{"pid", "memory_bytes"}]. Adds nothing if NVML does not list them. */
void pr_nvml_add_processes(const struct pr_nvml_use *u, void *dev, json_t *d);
/* Adds "processes", then "memory_used_bytes" and "compute_percent". */
void pr_nvml_add_use(const struct pr_nvml_use *u, void *dev, json_t *d);
/* Returns whether the answer may describe the moment in which a process ends: a listed process does not exist, or memory is
 * in use without a process. Only in the first PID namespace, where each process has its NVML number. */
bool pr_nvml_use_is_doubtful(const json_t *d);
#endif
