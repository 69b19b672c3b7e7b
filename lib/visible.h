/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_VISIBLE_H
#define GT_VISIBLE_H
/*
 * How CUDA reads CUDA_VISIBLE_DEVICES: for the launcher, the checks, the runtime's sentences and what is recorded beside a
 * launch. The rules, and who says so:
 *
 *   not set: every GPU; empty: none                                      CUDA Programming Guide, 5.2.1.1
 *   0-based indices as nvidia-smi has them, in the order of the list     the same
 *   GPU-UUID, or as much of its beginning as no other GPU has            the same
 *   the first entry that is no GPU ends the list: "0,2,-1,1" is 0 and 2  the same
 *   MIG-UUID (drivers from R470), MIG-GPU-UUID/GI/CI (before)            MIG User Guide, CUDA device enumeration
 *   one compute instance is all that CUDA sees, and no whole GPU then    the same
 *   a GPU that is named twice leaves none at all                         torch/cuda/__init__.py, _parse_visible_devices
 *   the first entry says whether indices, GPU- or MIG- names follow;
 *   another kind ends the list; after a number letters do not count      the same
 */
#include "lib/util.h"

#define GT_VISIBLE_MAX	256

struct gt_gpu_name {
	const char *uuid; /* "GPU-8932f937-…"; NULL: not known */
	int mig;	  /* cut into instances: 1 yes, 0 no, -1 not known */
};

struct gt_visible {
	bool set;
	size_t n; /* visible devices; of no meaning where the variable is not set */
	struct gt_visible_device {
		int gpu; /* which of the host's; -1: cannot be told from what is known */
		bool mig;
	} v[GT_VISIBLE_MAX];
	char bad[64];	 /* the entry at which CUDA stops; "" where it takes them all */
	const char *why; /* a clause, what is wrong with it; NULL */
};
#define GT_GPUS_UNKNOWN SIZE_MAX /* how many there are is not known: every index is taken */
/* list NULL: not set. gpus (n), in the order of nvidia-smi, or NULL with GT_GPUS_UNKNOWN. */
void gt_visible_parse(const char *list, const struct gt_gpu_name *gpus, size_t n, struct gt_visible *ret);
#endif
