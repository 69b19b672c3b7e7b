/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_NVML_SETTINGS_H
#define PR_NVML_SETTINGS_H
/*
 * Settings of NVIDIA GPUs as texts. gputune gives each a path, /nvml/ADDRESS/NAME (tune/model/nvml_settings.h). In a captured host
 * these paths are files.
 */
#include "lib/json.h"

/* NVML cannot read locked clocks, so gputune records what it set: /run/gputune/nvml/ADDRESS/NAME. The file vanishes with the
 * next boot, as do the locks. */
#define PR_NVML_RECORDS	 "/run/gputune"
#define PR_NVML_UNLOCKED "default" /* text of clocks without a record */

/*
 * Queries all settings of all GPUs in a child process. *ret, owned by the caller: {"code": NVML's code, "gpus": {ADDRESS: {NAME:
 * TEXT}}}. Clocks have the text PR_NVML_UNLOCKED. Returns -ETIMEDOUT if NVML does not respond, -EIO if the child crashes.
 */
int pr_nvml_settings(double timeout_s, json_t **ret);
#endif
