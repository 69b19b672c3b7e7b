/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_VISIBLE_H
#define PR_VISIBLE_H
/* CUDA_VISIBLE_DEVICES on this host: lib/visible.h with the GPUs that CUDA can use, by PCI address as nvidia-smi has them. */
#include "lib/visible.h"
#include "probe/host/host.h"

/* fs: where UUIDs are looked up; NULL: they are not known. v[].gpu counts the GPUs of pr_usable_gpu(). */
void pr_visible(struct gt_fsroot *fs, const struct pr_host *h, const char *list, struct gt_visible *ret);
/* GPUs that CUDA can use, as pr_usable_gpus() counts them. NULL beyond the last. */
const struct pr_gpu *pr_usable_gpu(const struct pr_host *h, size_t nth);
/* Are they all of one model? Else CUDA numbers them otherwise than nvidia-smi, unless CUDA_DEVICE_ORDER is PCI_BUS_ID. */
bool pr_one_model(const struct pr_host *h);
#endif
