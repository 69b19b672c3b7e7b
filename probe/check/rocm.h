/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_ROCM_H
#define PR_ROCM_H
/* Which PyTorch wheels for ROCm run on the AMD GPUs of a host. */
#include "probe/check/check.h"
#include "probe/compat/compat.h"

/* Returns the first AMD GPU that KFD lists here, and its architecture ("gfx942"); NULL: none. */
const struct pr_amd_gpu *pr_amd_with_gfx(const struct pr_host *h);
const char *pr_first_gfx(const struct pr_host *h);

/* Whether the ROCm wheels of a PyTorch release contain code for an architecture, in the order of enum pr_answer. */
enum pr_rocm_code { PR_ROCM_YES, PR_ROCM_NO, PR_ROCM_UNKNOWN };
enum pr_rocm_code pr_rocm_code(struct gt_fsroot *fs, const char *torch, const char *gfx);
/* Returns the newest PyTorch release with code for the architecture, and its newest ROCm release in *ret_rocm; NULL:
 * none is known. The caller frees both. */
char *pr_newest_rocm_torch(struct gt_fsroot *fs, const char *gfx, char **ret_rocm);
#endif
