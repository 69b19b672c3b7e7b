/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_VISIBLE_H
#define PR_VISIBLE_H
/* CUDA_VISIBLE_DEVICES on this host: lib/visible.h with the GPUs that CUDA can use, by PCI address like nvidia-smi. */
#include "lib/visible.h"
#include "probe/host/host.h"

/* fs: root in which UUIDs are read; NULL: UUIDs are unknown. v[].gpu is an index for pr_usable_gpu(). */
void pr_visible(struct gt_fsroot *fs, const struct pr_host *h, const char *list, struct gt_visible *ret);
/* Returns the nth GPU that CUDA can use, as counted by pr_usable_gpus(). NULL after the last. */
const struct pr_gpu *pr_usable_gpu(const struct pr_host *h, size_t nth);
/* Returns whether all GPUs are of one model. Otherwise CUDA's numbering differs from nvidia-smi, unless
 * CUDA_DEVICE_ORDER is PCI_BUS_ID. */
bool pr_one_model(const struct pr_host *h);
#endif
