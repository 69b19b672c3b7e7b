/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_HOLDERS_H
#define PR_HOLDERS_H
/* The processes that hold a GPU: open contexts as NVML or KFD list them, else open device files. */
#include "lib/fsroot.h"
#include "lib/json.h"
#include "probe/holder/holder.h"
#include "probe/host/value.h"

struct pr_host;
struct pr_pci;

struct pr_held_gpu {
	const struct pr_pci *pci;
	struct pr_num memory_used_bytes, compute_percent; /* compute_percent: over the last sampling period of the driver */
	const char *source;	   /* "NVML", "KFD and open files" or "open files"; NULL: nothing was readable */
	bool complete;		   /* every process that holds the GPU is in the list */
	struct pr_holder *holder;
	size_t n;
};

struct pr_holders {
	struct pr_held_gpu *gpu; /* of all makers, without those reserved for virtual machines */
	size_t n;
	char *note; /* reason why some list is incomplete; NULL: none is */
};

/* Takes "processes", "memory_used_bytes" and "compute_percent" from NVML's answer about a GPU. */
void pr_take_use(struct pr_host *h, const struct pr_pci *d, const json_t *answer);
void pr_discover_holders(struct gt_fsroot *fs, struct pr_host *h); /* runs after NVML */
void pr_holders_clear(struct pr_holders *h);
/* Returns the holders as member "gpu_holders" of gpuprobe/1. */
json_t *pr_holders_json(const struct pr_holders *h); /* member "gpu_holders" of gpuprobe/1 */
/* Returns the same document as the fact "gpu_holders", without names of users; NULL if there is no GPU. The caller frees it. */
char *pr_holders_fact(const struct pr_host *h);
#endif
