/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_NVML_WRITE_H
#define TN_NVML_WRITE_H
#include "lib/fsroot.h"

/* Sets an NVML path of the live host (tune/model/nvml_settings.h). -EPERM: not root of the host. -EOPNOTSUPP: the GPU lacks the
 * setting. -ETIMEDOUT: NVML does not respond; the setting may be changed or not. */
int tn_nvml_write(struct gt_fsroot *fs, const char *path, const char *value);
#endif
