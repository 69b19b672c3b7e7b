/* SPDX-License-Identifier: Apache-2.0 */
/* Under WSL the driver belongs to Windows. Its libraries for Linux programs are in /usr/lib/wsl/lib. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

#define WSL_LIB "/usr/lib/wsl/lib"

static const struct pr_lib *find_windows_lib(const struct pr_host *h, const char *soname)
{
	const struct pr_lib *l;

	for (size_t i = 0; (l = pr_find_lib(h, soname, i)); i++)
		if (gt_starts_with(l->path, WSL_LIB "/") || gt_starts_with(l->real, WSL_LIB "/"))
			return l;
	return NULL;
}

static void wsl(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *windows_lib = find_windows_lib(h, "libcuda.so.1"), *loaded = pr_loaded_lib(h, "libcuda.so.1");

	if (!gt_streq(h->virt.v, "wsl")) {
		pr_set(f, PR_SKIP, "not WSL");
	} else if (h->container.state == PR_PRESENT) {
		pr_set(f, PR_SKIP, "a container under WSL gets its libraries from its runtime");
	} else if (!windows_lib) {
		pr_set(f, PR_SKIP, "Windows provides this WSL with no NVIDIA driver: " WSL_LIB " has no libcuda.so.1%s",
		       pr_has(h->platform.dxg) ? "" : ", and /dev/dxg does not exist");
	} else if (loaded && strcmp(loaded->real, windows_lib->real)) {
		pr_set(f, PR_FAIL,
		       "programs load %s of a Linux driver instead of Windows' %s: it finds no device here",
		       loaded->path, windows_lib->path);
		pr_remedy(f, "WSL uses the driver of Windows, so remove the Linux driver:\n"
			     "  @{wsl-remove-driver}; ldconfig");
	} else if (!loaded) {
		pr_set(f, PR_FAIL, "%s exists, but the loader does not search " WSL_LIB, windows_lib->path);
		pr_remedy(f, "  echo " WSL_LIB " > /etc/ld.so.conf.d/ld.wsl.conf && ldconfig");
	} else if (!pr_has(h->platform.dxg)) {
		pr_set(f, PR_FAIL,
		       "Windows' libcuda exists, but /dev/dxg does not: WSL 1, or its GPU support is disabled");
		pr_remedy(
			f,
			"In Windows:\n  wsl --set-version DISTRIBUTION 2\nand no gpuSupport=false in .wslconfig; then\n"
			"  wsl --shutdown");
	} else if (h->nvml.answer == PR_NVML_ERROR || h->nvml.answer == PR_NVML_TIMEOUT) {
		pr_set(f, PR_FAIL, "the Windows driver does not respond: %s",
		       h->nvml.text ? h->nvml.text : "no text");
		pr_remedy(f, "In Windows, with its newest NVIDIA driver:\n  wsl --update\n  wsl --shutdown");
	} else {
		pr_set(f, PR_PASS, "programs load Windows' libcuda");
	}
}
const struct pr_check pr_check_wsl = {
	.id = "wsl.driver",
	.title = "programs under WSL do not load the libcuda of Windows",
	.story = "WSL 2 reaches the GPU through /dev/dxg. The Windows driver provides libcuda in /usr/lib/wsl/lib. There is "
		 "no nvidia module and no PCI device. A Linux driver in WSL, often a dependency of a CUDA package, installs "
		 "a second libcuda. Programs load this one, and it finds no device.",
	.messages = "libcuda.so.1: file exists: unknown\nGPU access blocked by the operating system\nFailed to "
		    "initialize NVML: GPU "
		    "access blocked by the operating system",
	.run = wsl,
};
