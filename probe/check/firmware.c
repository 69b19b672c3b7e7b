/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the firmware of the GPU's own processor (GSP). The module cannot start a GPU without firmware of exactly its
 * version. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/check/driver_need.h"

/* Returns the newest capability, to detect a GSP (Turing and later); 0: unknown for all GPUs. */
static int newest_arch(const struct pr_context *c)
{
	int newest = 0;

	for (size_t i = 0; i < c->host->n_gpu; i++)
		newest = GT_MAX(newest, pr_arch_of(c, &c->host->gpu[i]));
	return newest;
}

/* Returns whether the firmware is mandatory: for the open module, and for Hopper and later. With the proprietary
 * module, GPUs before Hopper also work without the GSP. */
static bool is_needed(const struct pr_context *c)
{
	const struct pr_host *h = c->host;

	return h->driver.open_module || newest_arch(c) >= 90 ||
	       (h->driver.dkms_source.v && strstr(h->driver.dkms_source.v, "open"));
}

/* The firmware is installed from the same source as the driver. */
static void remedy_firmware(const struct pr_host *h, struct pr_finding *f)
{
	char branch[PR_BRANCH_SUFFIX];

	pr_branch_suffix(h, branch);
	if (h->driver.run_file)
		pr_remedy(f,
			  "Install the driver again by NVIDIA's file of that version, which brings it:\n"
			  "  sh NVIDIA-Linux-%s-%s.run\nor take Debian's driver instead (nvidia-uninstall; "
			  "gpuprobe can)",
			  h->kernel.arch.v ? h->kernel.arch.v : "x86_64", h->gsp.version);
	else
		pr_remedy(f,
			  "  @{gsp-firmware%s}\n(non-free-firmware; of the driver's version, from "
			  "where the "
			  "driver is from), then\n"
			  "  modprobe -r %snvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia\nor reboot",
			  branch, pr_has(h->fabric.peermem) ? "nvidia_peermem " : "");
}

static void firmware(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *version = h->gsp.version;
	int arch = newest_arch(c);

	if (pr_without_gpu(c, f))
		return;
	if (!version) {
		pr_set(f, PR_SKIP,
		       "the kernel's firmware directories are not visible here, or there is no driver");
	} else if (arch && arch < 75) {
		pr_set(f, PR_SKIP, "no GPU here has a processor with firmware");
	} else if (pr_branch_of(version) < 510) {
		pr_set(f, PR_SKIP, "driver %s does not use it", version);
	} else if (pr_has(h->gsp.firmware)) {
		pr_set(f, PR_PASS,
		       h->gsp.firmware.v ? "the firmware of driver %s is installed"
				       : "driver %s is configured not to use it (NVreg_EnableGpuFirmware=0)",
		       version);
	} else if (!is_needed(c)) {
		pr_set(f, PR_PASS,
		       "the firmware of driver %s is not installed; the proprietary module does not need it for these GPUs",
		       version);
	} else {
		pr_set(f, pr_all_respond(h) ? PR_WARN : PR_FAIL, "/lib/firmware/nvidia/%s has no gsp_*.bin%s%s: %s",
		       version, h->gsp.other_version ? ", only version " : "",
		       h->gsp.other_version ? h->gsp.other_version : "",
		       pr_all_respond(h) ? "the GPUs run, but the module cannot start them again"
				     : "the module cannot start a GPU without it");
		remedy_firmware(h, f);
	}
}
static const char *const after_loaded[] = {"driver.module-built", "driver.nouveau", NULL};
const struct pr_check pr_check_firmware = {
	.id = "driver.firmware",
	.title = "the GSP firmware of the driver is missing",
	.after = after_loaded,
	.story = "Since Turing a processor on the GPU (GSP) runs a part of the driver. The module loads its firmware from "
		 "/lib/firmware/nvidia/VERSION/gsp_*.bin when it starts a GPU. The version must be exactly that of the "
		 "module. The open module, Hopper and Blackwell require it. On Debian the firmware is in the package "
		 "firmware-nvidia-gsp; NVIDIA's .run file contains it. If only the module or only the firmware is upgraded, "
		 "the GPU does not start.",
	.messages =
		"nvidia 0000:01:00.0: Direct firmware load for nvidia/595.71.05/gsp_ga10x.bin failed with error -2\n"
		"NVRM: RmFetchGspRmImages: No firmware image found",
	.run = firmware,
};
