/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_NVML_SETTINGS_H
#define TN_NVML_SETTINGS_H
/*
 * Settings of NVIDIA GPUs. They have no kernel file, so they get paths: /nvml/ADDRESS/NAME, with the PCI address of the GPU.
 * On a live host, NVML serves these paths in a child process with a time limit, because its calls never return if a GPU hangs. In
 * a root that is not live they are ordinary files.
 *
 * NVML API reference, "Device Queries" and "Device Commands": https://docs.nvidia.com/deploy/nvml-api/
 */
#include "lib/fsroot.h"
#include "probe/nvml/settings.h"

/* nvmlReturn_t */
enum {
	TN_NVML_INVALID_ARGUMENT = 2,
	TN_NVML_NOT_SUPPORTED = 3,
	TN_NVML_NO_PERMISSION = 4,
	TN_NVML_NOT_FOUND = 6,
	TN_NVML_DRIVER_NOT_LOADED = 9,
	TN_NVML_LIBRARY_NOT_FOUND = 12,
	TN_NVML_GPU_IS_LOST = 15,
};
/* Returns 0 or the negative errno of an NVML code. */
int tn_nvml_errno(int code);

#define TN_NVML_TIMEOUT_S 10 /* seconds, like the default of gpuprobe */

bool tn_is_nvml_path(const char *path);
/* Returns whether the path is one of locked clocks, which NVML cannot read. */
bool tn_nvml_is_clocks(const char *path);
/* Reads the first line of a kernel file, or of an NVML path. -ENOENT: the GPU lacks the setting. -ETIMEDOUT: NVML does not
 * respond. The caller frees *ret. */
int tn_setting_read(struct gt_fsroot *fs, const char *path, char **ret);
/* Returns the text of a negative errno from a read or a write of the path. */
const char *tn_setting_error(const char *path, int r);
/* Makes the next read query NVML again. */
void tn_nvml_forget(void);

/* Parses "400" or "287.500", in watts. Returns -EINVAL. */
int tn_nvml_parse_watts(const char *text, unsigned *ret_mw);
/* Parses "1200-1500" or "2619/1980". Returns -EINVAL. */
int tn_nvml_parse_two(const char *text, char separator, unsigned *ret_a, unsigned *ret_b);
#endif
