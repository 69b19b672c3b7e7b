/* SPDX-License-Identifier: Apache-2.0 */
/* Checks from the GPU on the bus to a working driver. Each can explain the later ones. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/compat/compat.h"
#include "probe/check/driver_need.h"

static const char *release(const struct pr_host *h)
{
	return h->kernel.release.v ? h->kernel.release.v : "(unknown)";
}

static bool loaded(const struct pr_host *h)
{
	return h->driver.module_version.state == PR_PRESENT;
}

char *pr_step_text(const json_t *step)
{
	gt_auto_buf b = {0};

	if (step)
		gt_buf_printf(&b, "%s:", gt_json_get_str(step, "why", ""));
	for (const char *at = gt_json_get_str(step, "lines", NULL); at; at = gt_next_line(at))
		gt_buf_printf(&b, "\n  %.*s", (int)strcspn(at, "\n"), at);
	return b.len ? gt_buf_take(&b) : gt_xstrdup("");
}

static void remedy_step(struct pr_finding *f, const json_t *step)
{
	gt_autofree char *text = pr_step_text(step);

	if (step)
		pr_remedy(f, "%s", text);
}

void pr_remedy_driver(const struct pr_context *c, struct pr_finding *f)
{
	struct pr_driver_need n;
	gt_auto_json *step = NULL;

	pr_driver_need(c, NULL, 0, &n);
	step = pr_driver_step(c, &n);
	remedy_step(f, step);
	pr_driver_need_clear(&n);
}

bool pr_remedy_wheel_upgrade(const struct pr_context *c, struct pr_finding *f, const struct pr_wheel *now)
{
	struct pr_driver_need n;
	gt_auto_json *step = NULL;

	pr_driver_need(c, NULL, 0, &n);
	step = pr_wheel_upgrade_step(c, &n, now);
	remedy_step(f, step);
	pr_driver_need_clear(&n);
	return step;
}

/* Reports the GPUs of a host without one of NVIDIA. Only those of AMD are examined further. */
static void other_present(const struct pr_host *h, struct pr_finding *f)
{
	const struct pr_pci *other = NULL, *d;
	size_t n = 0;

	for (size_t i = 0; (d = pr_other_gpu(h, i)); i++) {
		if (pr_amd_gpu_at(h, d))
			continue;
		other = other ? other : d;
		n++;
	}
	if (!n) {
		pr_set(f, PR_PASS, "%zu AMD GPU%s on the PCI bus", h->amd.n, h->amd.n > 1 ? "s" : "");
		return;
	}
	pr_set(f, PR_NOT_KNOWN, "no NVIDIA GPU, but %zu GPU%s of %s (the first is %s, driver %s), which gpuprobe does not examine",
	       n, n > 1 ? "s" : "", pr_gpu_maker(other), other->address, other->driver.v ? other->driver.v : "none");
	pr_remedy(f, "Look at %s with its maker's tools:  xpu-smi discovery, or hl-smi for Gaudi", n > 1 ? "them" : "it");
}

static void gpu_present(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (h->n_gpu) {
		pr_set(f, PR_PASS, "%zu NVIDIA GPU%s on the PCI bus", h->n_gpu, h->n_gpu > 1 ? "s" : "");
	} else if (pr_windows_gpus(h)) {
		pr_set(f, PR_PASS, "NVML reports %d GPU%s; under WSL no GPU is on a PCI bus, so most checks do not apply",
		       (int)h->nvml.count.v, h->nvml.count.v > 1 ? "s" : "");
	} else if (h->tegra.board.v) {
		pr_set(f, PR_PASS, "%s has its GPU in the processor, not on a PCI bus, so most checks do not apply",
		       h->tegra.board.v);
	} else if (h->pci_unreadable) {
		pr_set(f, PR_NOT_KNOWN, "the PCI bus cannot be read; it is unknown whether there is an NVIDIA GPU");
	} else if (c->require_gpu && !pr_amd_usable(h)) {
		pr_set(f, PR_FAIL, "no NVIDIA GPU on the PCI bus, but one is required");
		pr_remedy(f, "Check that the GPU is seated and powered, that the VM has it passed through, and that it is "
			     "listed by: lspci -d 10de:");
		if (gt_streq(h->virt.v, "wsl"))
			pr_remedy(f, "Install NVIDIA's driver in Windows, not here, then in Windows:\n  wsl --update\n "
				     " wsl --shutdown");
	} else if (pr_other_gpu(h, 0)) {
		other_present(h, f);
	} else {
		pr_set(f, PR_SKIP, "no NVIDIA GPU on the PCI bus; training runs on the CPUs");
	}
}
const struct pr_check pr_check_gpu_present = {
	.id = "gpu.present",
	.title = "no GPU that is examined on the PCI bus",
	.story = "The kernel lists an NVIDIA GPU on the PCI bus (vendor 10de, class 03). All other checks of the "
		 "NVIDIA stack depend on this. A host without a GPU can train on CPUs; with --require-gpu it is a failure. "
		 "GPUs of AMD have checks of their own (amd.*). GPUs of Intel are detected by vendor, class and driver, but not "
		 "examined: the result for such a host is unknown.",
	.run = gpu_present,
};

static void preempt_rt(const struct pr_context *c, struct pr_finding *f)
{
	if (!c->host->kernel.preempt_rt && !c->host->kernel.version.v) {
		pr_set(f, PR_NOT_KNOWN, "the kernel release is %s", pr_state_name(c->host->kernel.version.state));
		return;
	}
	if (!c->host->kernel.preempt_rt) {
		pr_set(f, PR_PASS, "kernel %s is not a PREEMPT_RT kernel", release(c->host));
		return;
	}
	pr_set(f, c->host->n_gpu ? PR_FAIL : PR_WARN,
	       "kernel %s is a PREEMPT_RT kernel: %straining loses throughput", release(c->host),
	       c->host->n_gpu ? "the NVIDIA module does not build for it, and " : "");
	/*
	 * GRUB starts the real-time kernel first if both have one version, and a package name without a version would
	 * install others with it
	 */
	pr_remedy(f,
		  "Install the ordinary kernel, and choose it in GRUB's menu (Advanced options), which starts the "
		  "real-time one first:\n"
		  "  @{standard-kernel}; reboot\n"
		  "Then remove the real-time kernel, each version of it:\n"
		  "  @{remove-rt-kernel}");
}
const struct pr_check pr_check_preempt_rt = {
	.id = "kernel.preempt-rt",
	.title = "a real-time kernel is running",
	.story = "NVIDIA's module cannot be built for a PREEMPT_RT kernel, and Debian's DKMS packages skip such kernels. "
		 "Such a kernel therefore has no nvidia module. A real-time kernel limits latency at the cost of "
		 "throughput, so it is not suitable for training.",
	.messages = "dkms: skipped by BUILD_EXCLUSIVE\nThe kernel you are installing for is a PREEMPT_RT kernel!\nFailed "
		    "PREEMPT_RT sanity check. Bailing out!",
	.run = preempt_rt,
};

/* If a driver is installed, the remedy blacklists nouveau, also in the initial RAM disk. Otherwise it installs a driver. */
static void remedy_nouveau(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (!pr_or(h->driver.dkms, 0) && !pr_or(h->driver.module_file, 0)) {
		pr_remedy_driver(c, f); /* every driver package blacklists nouveau */
		return;
	}
	pr_remedy(f, "A driver is installed. Block nouveau, also in the initial RAM disk:\n"
		     "  modprobe -c | grep -qx 'blacklist nouveau' || echo 'blacklist nouveau' > /etc/modprobe.d/nouveau.conf\n"
		     "  @{initramfs}; reboot");
}

static void nouveau(const struct pr_context *c, struct pr_finding *f)
{
	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < c->host->n_gpu; i++)
		if (gt_streq(c->host->gpu[i].pci->driver.v, "nouveau")) {
			pr_set(f, PR_FAIL, "nouveau is bound to %s, so the NVIDIA module cannot use the GPU",
			       c->host->gpu[i].pci->address);
			remedy_nouveau(c, f);
			return;
		}
	pr_set(f, PR_PASS, "nouveau is bound to no GPU");
}
static const char *const after_rt[] = { "kernel.preempt-rt", NULL };
const struct pr_check pr_check_nouveau = {
	.id = "driver.nouveau",
	.title = "nouveau drives an NVIDIA GPU",
	.after = after_rt,
	.story = "The free nouveau driver binds NVIDIA GPUs early in the boot and cannot compute with CUDA. While it is bound to "
		 "a GPU, the nvidia module finds no device.",
	.messages = "NVRM: The NVIDIA probe routine was not called for 1 device(s).",
	.run = nouveau,
};

static void vfio(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t given = 0;

	for (size_t i = 0; i < h->n_gpu; i++)
		given += gt_streq(h->gpu[i].pci->driver.v, "vfio-pci");
	if (!h->n_gpu)
		pr_set(f, PR_SKIP, "no NVIDIA GPU on this host");
	else if (!given)
		pr_set(f, PR_PASS, "no GPU is reserved for virtual machines");
	else if (given < h->n_gpu)
		pr_set(f, PR_PASS, "%zu of %zu GPUs are reserved for virtual machines (vfio-pci)", given, h->n_gpu);
	else {
		pr_set(f, PR_WARN, "vfio-pci is bound to every GPU: all are reserved for virtual machines and unusable on "
				   "the host");
		pr_remedy(f, "If that is not meant:  grep -rn vfio /etc/modprobe.d /etc/default/grub\nremove the GPU's "
			     "id there, then\n"
			     "  @{initramfs}\n  @{grub}; reboot");
	}
}
const struct pr_check pr_check_vfio = {
	.id = "driver.vfio",
	.title = "all GPUs are reserved for virtual machines",
	.story = "A GPU bound to vfio-pci is passed through to a virtual machine, and the nvidia module of this host cannot "
		 "use it. This is intended on a host of virtual machines. On any other host, it is a setting that was left "
		 "behind.",
	.run = vfio,
};

static void module_built(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (loaded(h)) {
		pr_set(f, PR_PASS, "the nvidia module is loaded");
	} else if (h->container.state == PR_PRESENT || h->driver.module_file.state == PR_UNKNOWN) {
		pr_set(f, PR_SKIP, "the modules of kernel %s are not visible here", release(h));
	} else if (pr_or(h->driver.module_file, 0)) {
		pr_set(f, PR_PASS, "an nvidia module is built for kernel %s", release(h));
	} else {
		const char *source = h->driver.dkms_source.v ? h->driver.dkms_source.v : "";
		bool headers = pr_or(h->driver.headers, 0), dkms = pr_or(h->driver.dkms, 0);

		pr_set(f, PR_FAIL, "no nvidia module is built for the running kernel %s%s", release(h),
		       !dkms	? "; no driver package is installed" :
		       !headers ? "; its headers are missing, so DKMS could not build it" :
				  "; DKMS has the source but has not built it");
		if (!dkms)
			pr_remedy_driver(c, f);
		else
			pr_remedy(f,
				  "  @{kernel-headers %s}\n  dkms autoinstall -k %s\n  modprobe nvidia\n"
				  "If it does not build, the reason is in:  /var/lib/dkms/%s/build/make.log\n"
				  "If the archive has the headers of this kernel no longer, take the newest of both:\n"
				  "  @{newest-kernel}; reboot",
				  release(h), release(h), source);
	}
}
static const char *const after_bus[] = { "kernel.preempt-rt", "driver.nouveau", NULL };
const struct pr_check pr_check_module_built = {
	.id = "driver.module-built",
	.title = "no nvidia module for the running kernel",
	.after = after_bus,
	.story = "Debian builds the module on the host by DKMS, once per kernel, and needs that kernel's headers. After a "
		 "kernel upgrade without headers the old kernel still works and the new one has no module.",
	.messages = "modprobe: FATAL: Module nvidia-current not found in directory /lib/modules/6.1.0-41-amd64\nmodprobe: FATAL: "
		    "Module nvidia not found in directory /lib/modules/6.1.0-41-amd64",
	.run = module_built,
};

static void driver_loaded(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (loaded(h)) {
		pr_set(f, PR_PASS, "nvidia %s", h->driver.module_version.v);
	} else if (h->driver.module_version.state == PR_ABSENT && h->container.state == PR_PRESENT) {
		pr_set(f, PR_FAIL, "the nvidia kernel module is not loaded on the machine that runs this container");
		pr_remedy(f, "Run gpuprobe on that machine: a container uses its host's kernel module");
	} else if (h->driver.module_version.state == PR_ABSENT) {
		pr_set(f, PR_FAIL, "the nvidia kernel module is not loaded");
		pr_remedy(f, "  modprobe nvidia\nand if that fails, read why in: journalctl -k -b | grep -i nvidia");
	} else {
		pr_set(f, PR_NOT_KNOWN, "the state of the nvidia module is %s",
		       pr_state_name(h->driver.module_version.state));
	}
}
static const char *const after_secure[] = { "kernel.preempt-rt", "driver.nouveau", "driver.module-built",
					    "driver.secure-boot", NULL };
const struct pr_check pr_check_driver_loaded = {
	.id = "driver.loaded",
	.title = "the nvidia module is not loaded",
	.after = after_secure,
	.story = "This is common on a new or freshly upgraded host. An earlier check reports the reason if gpuprobe finds "
		 "it in the files of the host.",
	.messages = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
		    "NVIDIA driver is installed and running.",
	.run = driver_loaded,
};

static const char *const after_loaded[] = { "driver.loaded", NULL };

static void lib_versions(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *l = pr_loaded_lib(h, "libnvidia-ml.so.1");
	gt_autofree char *hold = NULL;

	if (pr_without_gpu(c, f))
		return;
	if (!loaded(h)) {
		pr_set(f, PR_SKIP, "the module is not loaded, so there is nothing to compare");
	} else if (!l) {
		pr_set(f, PR_SKIP, "the loader finds no libnvidia-ml.so.1");
	} else if (!l->version) {
		pr_set(f, PR_NOT_KNOWN, "the file name of %s contains no version", l->path);
	} else if (!strcmp(l->version, h->driver.module_version.v)) {
		pr_set(f, PR_PASS, "the kernel module and libnvidia-ml have the same version, %s", l->version);
	} else {
		hold = pr_hold_line(h, l->version);
		pr_set(f, PR_FAIL,
		       "loaded driver %s, libraries %s: the driver was upgraded while its old kernel module stayed loaded (%s)",
		       h->driver.module_version.v, l->version, l->path);
		if (h->container.state == PR_PRESENT)
			pr_remedy(f, "The driver of the machine that runs this container was upgraded. Restart the "
				     "container. If that does not help, run gpuprobe on that machine.");
		else
			pr_remedy(f, "Stop all programs that use the GPU and reload the module, or reboot:\n"
				     "  systemctl stop nvidia-persistenced\n"
				     "  modprobe -r %snvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia%s%s",
				  pr_has(h->fabric.peermem) ? "nvidia_peermem " : "",
				  hold ? "\nTo prevent unattended upgrades, hold all packages of that version:\n  " : "",
				  hold ? hold : "");
	}
}
const struct pr_check pr_check_lib_versions = {
	.id = "driver.lib-mismatch",
	.title = "driver and libraries have different versions",
	.after = after_loaded,
	.story = "The kernel module, libnvidia-ml and libcuda must have exactly the same version. An upgrade replaces the "
		 "files at once, but the old module stays loaded until a reload or reboot. gpuprobe compares the versions "
		 "in files and does not call the driver.",
	.messages = "Failed to initialize NVML: Driver/library version mismatch\nNVRM: API mismatch: the client has the version",
	.run = lib_versions,
};

static void nvml(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char branch[PR_BRANCH_SUFFIX];

	if (pr_without_gpu(c, f))
		return;
	if (h->nvml.answer == PR_NVML_NO_LIBRARY && h->platform.driver_root) {
		pr_set(f, PR_SKIP, "query the driver in its container:  chroot " PR_DRIVER_ROOT " nvidia-smi");
		return;
	}
	switch (h->nvml.answer) {
	case PR_NVML_OK:
		pr_set(f, PR_PASS, "NVML responds: driver %s", h->nvml.driver.v ? h->nvml.driver.v : "?");
		break;
	case PR_NVML_NO_LIBRARY:
		pr_branch_suffix(h, branch);
		pr_set(f, PR_FAIL, "libnvidia-ml.so.1 cannot be loaded");
		if (h->container.state == PR_PRESENT)
			pr_remedy(f, "Start the container with the variable NVIDIA_DRIVER_CAPABILITIES=compute,utility");
		else
			pr_remedy(f, "Install the libraries of the module's version%s%s:\n"
				     "  @{nvml%s}",
				  loaded(h) ? ", " : "", loaded(h) ? h->driver.module_version.v : "", branch);
		break;
	case PR_NVML_TIMEOUT:
		pr_set(f, PR_FAIL, "%s: the driver or a GPU hangs", h->nvml.text ? h->nvml.text : "NVML hangs");
		pr_remedy(f, "The kernel log may have the reason:\n  journalctl -k -b | grep -iE 'nvrm|xid'\nThen reboot: a driver "
			     "that hangs cannot reset a GPU.");
		break;
	case PR_NVML_ERROR:
		pr_set(f, PR_FAIL, "NVML fails with error %d (%s)", h->nvml.code,
		       h->nvml.text ? h->nvml.text : "no text");
		pr_remedy(f, "The kernel log may have the reason:\n  journalctl -k -b | grep -iE 'nvrm|xid'");
		break;
	case PR_NVML_NOT_ASKED:
		pr_set(f, PR_NOT_KNOWN, "NVML was not queried");
	}
}
static const char *const after_libs[] = { "driver.loaded",	"container.devices",   "driver.device-nodes",
					  "driver.lib-mismatch", "driver.nvml-library", "container.lost-gpu",
					  "gpu.lost",		"gpu.gsp",	       NULL };
const struct pr_check pr_check_nvml = {
	.id = "nvml.answers",
	.title = "NVML does not respond",
	.after = after_libs,
	.story = "NVML is the management library of the driver. gpuprobe calls it in a child process with a time "
		 "limit, because the call may never return if a GPU has fallen off the bus.",
	.messages = "NVIDIA-SMI has failed\nFailed to initialize NVML",
	.run = nvml,
};

static void count(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t gpus = pr_bus_gpus(h), usable = pr_usable_gpus(h);
	const char *where = h->container.state == PR_PRESENT ? "container" : "job";

	if (pr_without_gpu(c, f))
		return;
	if (!pr_has(h->nvml.count)) {
		pr_set(f, PR_SKIP, "NVML reported no count");
	} else if (h->nvml.count.v == (int64_t)gpus) {
		pr_set(f, PR_PASS, gpus == 1 ? "the driver manages the GPU on the bus" :
					       "the driver manages all %zu GPUs on the bus", gpus);
	} else if (h->nvml.count.v > 0 && (h->container.state == PR_PRESENT || h->driver.some_inaccessible ||
						  (usable < gpus && h->nvml.count.v == (int64_t)usable))) {
		pr_set(f, PR_PASS, "this %s has access to %d of the %zu GPUs on the bus", where, (int)h->nvml.count.v, gpus);
	} else {
		pr_set(f, PR_FAIL, "%zu GPU%s on the PCI bus, but NVML reports %d", gpus, gpus > 1 ? "s" : "",
		       (int)h->nvml.count.v);
		pr_remedy(f, "Look for the one that failed:  journalctl -k -b | grep -iE 'nvrm|xid|fallen off'\n"
			     "A reboot brings back a GPU that fell off the bus; if it falls off again, have it replaced.");
	}
}
static const char *const after_nvml[] = { "driver.legacy-gpu", "driver.new-gpu", "driver.open-module", "gpu.lost",
					  "gpu.start",	       "nvml.answers",	 NULL };
const struct pr_check pr_check_count = {
	.id = "gpu.count",
	.title = "NVML reports fewer GPUs than the PCI bus",
	.after = after_nvml,
	.story = "A GPU that fell off the bus or did not start still has its PCI device. Frameworks then train on "
		 "fewer GPUs without a message.",
	.messages = "NVRM: Xid 79, GPU has fallen off the bus.\nNVRM: rm_init_adapter failed",
	.run = count,
};
