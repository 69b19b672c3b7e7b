/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_VISIBLE_H
#define GT_VISIBLE_H
/*
 * Parses CUDA_VISIBLE_DEVICES as CUDA does. Used by the launcher, the checks, the runtime's messages and launch
 * records. The rules and their sources:
 *
 *   not set: every GPU; empty: none                                      CUDA Programming Guide, 5.2.1.1
 *   0-based indices in nvidia-smi's numbering, in list order             the same
 *   GPU-UUID, or a prefix of it that is unique on the host               the same
 *   the first invalid entry ends the list: "0,2,-1,1" is 0 and 2         the same
 *   MIG-UUID (drivers from R470), MIG-GPU-UUID/GI/CI (before)            MIG User Guide, CUDA device enumeration
 *   CUDA sees at most one compute instance, and then no whole GPU        the same
 *   a duplicate GPU makes the whole list empty                           torch/cuda/__init__.py, _parse_visible_devices
 *   the first entry sets the kind for all: index, GPU- or MIG- name;
 *   another kind ends the list; letters after a number are ignored       the same
 */
#include "lib/util.h"

#define GT_VISIBLE_MAX	256

struct gt_gpu_name {
	const char *uuid; /* "GPU-8932f937-…"; NULL: unknown */
	int mig;	  /* partitioned into MIG instances: 1 yes, 0 no, -1 unknown */
};

struct gt_visible {
	bool set;
	size_t n; /* visible devices; meaningless if the variable is not set */
	struct gt_visible_device {
		int gpu; /* index of the host's GPU; -1: cannot be determined */
		bool mig;
	} v[GT_VISIBLE_MAX];
	char bad[64];	 /* the entry at which CUDA stops; "" if all are valid */
	const char *why; /* a clause that describes the error; NULL: none */
};
#define GT_GPUS_UNKNOWN SIZE_MAX /* number of GPUs is unknown: every index is accepted */
/* list NULL: not set. gpus: n GPUs in nvidia-smi's order, or NULL with GT_GPUS_UNKNOWN. */
void gt_visible_parse(const char *list, const struct gt_gpu_name *gpus, size_t n, struct gt_visible *ret);
#endif
