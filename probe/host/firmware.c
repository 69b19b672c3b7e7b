/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the firmware of the GPU System Processor (GSP), which GPUs have since Turing. The module requests
 * nvidia/VERSION/gsp_*.bin of exactly its own version from the kernel, which searches several directories.
 */
#include <ctype.h>
#include <string.h>
#include "probe/host/reading.h"

static bool has_firmware(struct gt_fsroot *fs, const char *dir)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);

		/* gsp_tu10x.bin, gsp_ga10x.bin, before branch 530 gsp.bin; some distributions compress them */
		if (gt_starts_with(names.v[i], "gsp") && strstr(names.v[i], ".bin") && gt_fs_exists(fs, path))
			return true;
	}
	return false;
}

/* Returns another version whose firmware is on disk; NULL: none. */
static const char *other_version(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, "/lib/firmware/nvidia", &names);
	for (size_t i = names.n; i-- > 0;) {
		gt_autofree char *dir = gt_xasprintf("/lib/firmware/nvidia/%s", names.v[i]);

		if (isdigit((unsigned char)*names.v[i]) && strchr(names.v[i], '.') && has_firmware(fs, dir))
			return pr_keep(h, names.v[i]);
	}
	return NULL;
}

/* Returns whether the module does not use the firmware ("EnableGpuFirmware: 0"). */
static bool switched_off(struct gt_fsroot *fs)
{
	gt_autofree char *text = NULL;
	const char *at = gt_fs_read_prefix(fs, "/proc/driver/nvidia/params", 16384, &text, NULL) < 0
				 ? NULL
				 : strstr(text, "EnableGpuFirmware:");

	return at && at[strlen("EnableGpuFirmware:") + strspn(at + strlen("EnableGpuFirmware:"), " ")] == '0';
}

/* Skipped without /lib/firmware, and in a container: the kernel does not search the container's files. */
void pr_discover_firmware(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *release = h->kernel.release.v ? h->kernel.release.v : "",
		   *built = h->driver.dkms_source.v ? strchr(h->driver.dkms_source.v, '/') : NULL,
		   *version = h->driver.module_version.v ? h->driver.module_version.v
			      : built                    ? built + 1
							 : NULL;
	struct pr_str extra = pr_read_str(h, fs, "/sys/module/firmware_class/parameters/path");
	/* the last directory is not a standard one: the GPU operator's driver container adds it to the kernel's search
	 * path */
	char *dirs[] = {gt_xstrdup(extra.v && *extra.v == '/' ? extra.v : ""),
			gt_xasprintf("/lib/firmware/updates/%s", release),
			gt_xstrdup("/lib/firmware/updates"),
			gt_xasprintf("/lib/firmware/%s", release),
			gt_xstrdup("/lib/firmware"),
			gt_xstrdup(PR_DRIVER_ROOT "/lib/firmware")};

	if (version && h->n_gpu && h->container.state != PR_PRESENT && gt_fs_exists(fs, "/lib/firmware")) {
		h->gsp.version = version;
		h->gsp.firmware.state = PR_ABSENT;
		for (size_t i = 0; i < GT_ARRAY_SIZE(dirs) && !pr_has(h->gsp.firmware); i++) {
			gt_autofree char *dir = gt_xasprintf("%s/nvidia/%s", dirs[i], version);

			if (*dirs[i] && has_firmware(fs, dir))
				h->gsp.firmware = pr_value(1);
		}
		if (!pr_has(h->gsp.firmware) && switched_off(fs))
			h->gsp.firmware = pr_value(0);
		if (h->gsp.firmware.state == PR_ABSENT)
			h->gsp.other_version = other_version(fs, h);
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++)
		free(dirs[i]);
}
