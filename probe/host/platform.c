/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs that are not on a PCI bus or whose driver belongs to another system: WSL, Jetson, a node with a driver container. */
#include <stdlib.h>
#include <string.h>
#include "probe/host/reading.h"

/*
 * Detects NVIDIA's own processors, which contain the GPU, in the device tree's list
 * "nvidia,p3737-0000\\0nvidia,tegra234\\0".
 */
static void find_tegra(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *compatible = NULL;
	struct pr_str model = pr_read_str(h, fs, "/proc/device-tree/model"),
		      release = pr_read_str(h, fs, "/etc/nv_tegra_release");
	size_t len = 0;
	const char *chip = gt_fs_read(fs, "/proc/device-tree/compatible", &compatible, &len) < 0
				   ? NULL : memmem(compatible, len, "nvidia,tegra", strlen("nvidia,tegra"));
	bool found = chip;

	/* a container shows only the device nodes */
	found |= gt_fs_exists(fs, "/dev/nvhost-ctrl-gpu") || gt_fs_exists(fs, "/dev/nvgpu/igpu0/ctrl");
	if (!found)
		return;
	h->tegra.board = model.v && *model.v ? model : pr_text(h, "an NVIDIA Jetson");
	h->tegra.chip = chip ? atoi(chip + strlen("nvidia,tegra")) : 0; /* gt_fs_read() terminates the text with NUL */
	h->tegra.release = release.v; /* "# R36 (release), REVISION: 4.3, …" */
}

/* Detects Kubernetes' GPU operator: the driver runs in a container, with its files for other containers below this
 * directory. */
static bool has_driver_root(struct gt_fsroot *fs)
{
	static const char *const dirs[] = {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++) {
		gt_autofree char *path = gt_xasprintf(PR_DRIVER_ROOT "/%s/libnvidia-ml.so.1", dirs[i]);

		if (gt_fs_exists(fs, path))
			return true;
	}
	return false;
}

void pr_discover_platform(struct gt_fsroot *fs, struct pr_host *h)
{
	h->tegra.board.state = PR_ABSENT;
	if (gt_streq(h->kernel.arch.v, "aarch64"))
		find_tegra(fs, h);
	h->platform.windows_driver = gt_streq(h->virt.v, "wsl") && gt_fs_exists(fs, "/usr/lib/wsl/lib/libcuda.so.1");
	h->platform.dxg = gt_fs_exists(fs, "/dev/dxg") ? pr_value(1) : (struct pr_num){PR_ABSENT, 0};
	h->platform.driver_root = h->container.state != PR_PRESENT && has_driver_root(fs);
}
