/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the driver supports the GPU, by PCI id, so that it also works before the driver has ever been loaded. */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/distro.h"
#include "probe/check/list.h"
#include "probe/host/reading.h"
#include "probe/compat/compat.h"
#include "probe/check/driver_need.h"

/* Returns the version of the loaded driver, else of DKMS's source or the installed libraries. */
static const char *installed_driver(const struct pr_host *h)
{
	const struct pr_lib *l = pr_loaded_lib(h, "libcuda.so.1");
	const char *slash = h->driver.dkms_source.v ? strchr(h->driver.dkms_source.v, '/') : NULL;

	if (h->driver.module_version.v)
		return h->driver.module_version.v;
	if (slash)
		return slash + 1;
	return l && !strstr(l->path, "compat/") ? l->version : NULL;
}

/* Returns the first GPU that matches the rule. kind: from its PCI id. */
static const struct pr_gpu *find_gpu(const struct pr_context *c, bool (*rule)(const struct pr_gpu_kind *k, int branch),
				     int branch, struct pr_gpu_kind *kind)
{
	for (size_t i = 0; i < c->host->n_gpu; i++) {
		const struct pr_gpu *g = &c->host->gpu[i];

		if (pr_compat_gpu(c->fs, g->pci->device, kind, NULL) > 0 && !gt_streq(g->pci->driver.v, "vfio-pci") &&
		    rule(kind, branch))
			return g;
	}
	return NULL;
}

static bool is_legacy(const struct pr_gpu_kind *k, int branch)
{
	return branch > k->last_branch;
}

static bool is_too_new(const struct pr_gpu_kind *k, int branch)
{
	return branch < k->first_branch;
}

static bool is_open_only(const struct pr_gpu_kind *k, int branch)
{
	return k->open_only;
}

/* The open module needs a GPU with a GSP (Turing and later). */
static bool is_closed_only(const struct pr_gpu_kind *k, int branch)
{
	return k->arch < 75;
}

static const char *gpu_name(const struct pr_gpu *g, char buf[64])
{
	snprintf(buf, 64, "%s (10de:%04x)", g->pci->address, g->pci->device);
	return buf;
}

/*
 * Compares the installed driver with the branches that support the GPU. before true: returns whether the driver is older
 * than the first branch. before false: whether it is newer than the last one.
 */
static void judge_branch(const struct pr_context *c, struct pr_finding *f, bool before)
{
	const char *driver = installed_driver(c->host);
	const struct pr_gpu *g;
	struct pr_gpu_kind k;
	char name[64];

	if (pr_without_gpu(c, f))
		return;
	if (!driver) {
		pr_set(f, PR_SKIP, "no driver is installed");
		return;
	}
	g = find_gpu(c, before ? is_too_new : is_legacy, pr_branch_of(driver), &k);
	if (!g) {
		pr_set(f, PR_PASS, before ? "driver %s is new enough for every GPU" : "driver %s still supports every GPU", driver);
		return;
	}
	if (before)
		pr_set(f, PR_FAIL, "GPU %s has capability %d.%d and needs driver branch %d or newer; %s is installed",
		       gpu_name(g, name), k.arch / 10, k.arch % 10, k.first_branch, driver);
	else
		pr_set(f, PR_FAIL, "GPU %s has capability %d.%d; the last branch that supports it is %d, but %s is installed",
		       gpu_name(g, name), k.arch / 10, k.arch % 10, k.last_branch, driver);
	pr_remedy_driver(c, f);
}

static void legacy(const struct pr_context *c, struct pr_finding *f)
{
	judge_branch(c, f, false);
}
const struct pr_check pr_check_legacy = {
	.id = "driver.legacy-gpu",
	.title = "the driver no longer supports the GPU",
	.story = "Driver branches drop old GPUs: 470 is the last for Kepler, 580 for Maxwell, Pascal and Volta. A "
		 "newer driver loads and ignores the GPU. The PCI id identifies the GPU.",
	.messages =
		"NVRM: The NVIDIA GPU installed in this system is supported through the NVIDIA 470.xx Legacy drivers.",
	.run = legacy,
};

static void too_new(const struct pr_context *c, struct pr_finding *f)
{
	judge_branch(c, f, true);
}
const struct pr_check pr_check_too_new = {
	.id = "driver.new-gpu",
	.title = "the driver is too old for the GPU",
	.story = "A driver of a branch older than the GPU finds no device, and nvidia-smi prints \"No devices were "
		 "found\". "
		 "Debian 12 has branch 535 and Debian 13 branch 550: neither knows Blackwell (B200, RTX 5090), which "
		 "needs 570.",
	.messages = "No devices were found\nNVRM: The NVIDIA GPU is not supported by the driver release",
	.run = too_new,
};

static void open_required(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_gpu *g;
	struct pr_gpu_kind k;
	char name[64];

	if (pr_without_driver(c, f))
		return;
	g = find_gpu(c, h->driver.open_module ? is_closed_only : is_open_only, 0, &k);
	if (!h->driver.module_text.v) {
		pr_set(f, g ? PR_NOT_KNOWN : PR_SKIP,
		       "/proc/driver/nvidia/version is %s, so the flavour of the module is unknown",
		       pr_state_name(h->driver.module_text.state));
	} else if (g && h->driver.open_module) {
		pr_set(f, PR_FAIL, "GPU %s has capability %d.%d, older than Turing: the loaded open kernel module does not "
				   "support it", gpu_name(g, name), k.arch / 10, k.arch % 10);
		pr_remedy_driver(c, f);
	} else if (g) {
		pr_set(f, PR_FAIL, "only the open kernel module supports GPU %s, but the proprietary one is loaded",
		       gpu_name(g, name));
		pr_remedy_driver(c, f);
	} else {
		pr_set(f, PR_PASS, "the %s module supports the GPUs", h->driver.open_module ? "open" : "proprietary");
	}
}
static const char *const after_new[] = {"driver.new-gpu", NULL};
const struct pr_check pr_check_open_required = {
	.id = "driver.open-module",
	.title = "the GPU needs the other flavour of the kernel module",
	.after = after_new,
	.story = "NVIDIA provides its kernel module in two flavours. Grace Hopper, Blackwell and later GPUs need the "
		 "open one. GPUs older than Turing need the proprietary one. With the wrong flavour the GPU is on the bus, "
		 "but the module does not start it.",
	.messages = "NVRM: installed in this system requires use of the NVIDIA open kernel modules.",
	.run = open_required,
};

static const struct pr_kernel *find_kernel(const struct pr_host *h, const char *release)
{
	for (size_t i = 0; i < h->n_kernels; i++)
		if (!strcmp(h->kernels[i].release, release))
			return &h->kernels[i];
	return NULL;
}

/* Debian 13's 550.163.01 from backports (revision 4) builds up to Linux 6.17, by its changelog; the release's revision
 * 2 up to 6.15. */
static bool builds_by_backports(const struct pr_host *h, const struct pr_kernel *k)
{
	const struct pr_package *p = pr_find_package(h, "nvidia-kernel-dkms");

	p = p ? p : pr_find_package(h, "nvidia-open-kernel-dkms");
	return pr_is_debian(h) && gt_streq(h->distro.version_id.v, "13") && p &&
	       gt_starts_with(p->version, "550.163.01-") && pr_deb_version_cmp(p->version, "550.163.01-4~") < 0 &&
	       gt_version_cmp(k->release, "6.16") >= 0 && gt_version_cmp(k->release, "6.18") < 0;
}

/* The headers are installed and DKMS has failed, so another attempt would fail too. */
static void remedy_failed_build(const struct pr_host *h, const struct pr_kernel *k, struct pr_finding *f)
{
	const char *slash = strchr(h->driver.dkms_source.v ? h->driver.dkms_source.v : "", '/');
	bool backports = builds_by_backports(h, k);

	pr_remedy(f, "The end of the log has the reason:\n"
		     "  tail %1$s\n"
		     "%2$sIf driver %3$s is older than that kernel, keep the running one:\n"
		     "  @{remove-kernel %4$s}\n"
		     "  @{remove-kernel-note}",
		  k->build_log, backports ? "The driver's packaging in trixie-backports builds for kernels up to 6.17.\n" : "",
		  slash ? slash + 1 : "", k->release);
}

static void no_module(const struct pr_host *h, struct pr_finding *f)
{
	const struct pr_kernel *k = find_kernel(h, h->driver.next_kernel);
	const char *why = k && k->headers.v == 0 ? ": its headers are not installed"
			  : k && k->build_log    ? ": DKMS tried and failed"
						 : "";

	pr_set(f, PR_WARN, "kernel %s is installed and starts at the next boot, but no nvidia module is built for it%s",
	       h->driver.next_kernel, why);
	if (k && k->headers.v && k->build_log)
		remedy_failed_build(h, k, f);
	else
		pr_remedy(f, "  @{kernel-headers %1$s}\n  dkms autoinstall -k %1$s", h->driver.next_kernel);
}

static void next_kernel(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (pr_without_gpu(c, f))
		return;
	if (h->platform.driver_root) {
		pr_set(f, PR_SKIP, "the driver runs in a container, which builds the module for the running kernel");
	} else if (!h->driver.next_kernel) {
		pr_set(f, PR_PASS, "no newer kernel is installed");
	} else if (pr_or(h->driver.next_module, 0)) {
		pr_set(f, PR_PASS, "kernel %s, which starts at the next boot, has its nvidia module",
		       h->driver.next_kernel);
	} else if (h->driver.module_version.state != PR_PRESENT && !pr_or(h->driver.module_file, 0)) {
		pr_set(f, PR_SKIP, "the running kernel has no nvidia module either");
	} else {
		no_module(h, f);
	}
}
const struct pr_check pr_check_next_kernel = {
	.id = "driver.next-kernel",
	.title = "the next kernel to boot has no nvidia module",
	.story = "A newer kernel is installed and starts at the next boot. DKMS did not build the nvidia module for it, so "
		 "the GPUs are not usable after that boot. Possible causes are missing kernel headers, or a kernel that "
		 "is too new for the driver.",
	.messages = "modprobe: FATAL: Module nvidia-current not found in directory /lib/modules/",
	.run = next_kernel,
};

/* Returns a driver package with a pending upgrade; one on hold only if there is no other. NULL: none is pending. */
static const struct pr_package *pending_upgrade(const struct pr_host *h, bool *ret_any)
{
	const struct pr_package *found = NULL;

	*ret_any = false;
	for (size_t i = 0; i < h->n_package; i++) {
		if (!pr_is_driver_package(h->package[i].name))
			continue;
		*ret_any = true;
		if (h->package[i].candidate && (!found || (found->held && !h->package[i].held)))
			found = &h->package[i];
	}
	return found;
}

static void upgrade(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *module = h->driver.module_version.v,
		   *built = h->driver.dkms_source.v ? strchr(h->driver.dkms_source.v, '/') : NULL;
	const struct pr_package *p;
	const struct pr_lib *lib;
	bool any;

	if (pr_without_driver(c, f))
		return;
	p = pending_upgrade(h, &any);
	lib = pr_loaded_lib(h, "libnvidia-ml.so.1");
	if (built && lib && gt_streq(lib->version, built + 1) && strcmp(built + 1, module)) {
		pr_set(f, PR_SKIP, "the upgrade is already installed; see driver.lib-mismatch");
	} else if (built && strcmp(built + 1, module)) {
		pr_set(f, PR_WARN, "the loaded module is %s, but DKMS builds %s: the driver changes at the next boot",
		       module, built + 1);
		pr_remedy(f, "Reboot at a time of your choice, before something else does.");
	} else if (!any) {
		pr_set(f, PR_SKIP, "the driver is not from this distribution's packages");
	} else if (p && p->held) {
		pr_set(f, PR_PASS, "the package lists have %s %s (installed: %s, on hold)", p->name, p->candidate, p->version);
	} else if (p && pr_find_package(h, "unattended-upgrades")) {
		gt_autofree char *hold = pr_hold_line(h, p->version);

		pr_set(f, PR_WARN,
		       "unattended-upgrades may replace the driver in use: the package lists have %s %s (installed: %s). New "
		       "programs then fail until the module is reloaded",
		       p->name, p->candidate, p->version);
		pr_remedy(f, "Upgrade and reboot at a time of your choice%s%s",
			  hold ? "; until then hold all packages of this version:\n  " : "", hold ? hold : "");
	} else if (p) {
		pr_set(f, PR_PASS, "the package lists have %s %s (installed: %s); it is not installed automatically", p->name,
		       p->candidate, p->version);
	} else {
		pr_set(f, PR_PASS, "the package lists have no newer driver");
	}
}
const struct pr_check pr_check_upgrade = {
	.id = "driver.upgrade",
	.title = "a driver upgrade is pending",
	.after = (const char *const[]){"driver.loaded", NULL},
	.story = "An upgrade replaces the libraries at once and the loaded module only at the next boot. In between "
		 "every new program fails. unattended-upgrades does this at night. The check reads the package manager's "
		 "status and lists on disk and does not run the package manager.",
	.run = upgrade,
};

static void nvml_library(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_lib *any = pr_find_lib(h, "libnvidia-ml.so.1", 0);
	bool loaded = h->driver.module_version.state == PR_PRESENT;

	if (pr_without_gpu(c, f))
		return;
	if (pr_loaded_lib(h, "libnvidia-ml.so.1")) {
		pr_set(f, PR_PASS, "the loader finds libnvidia-ml.so.1");
	} else if (h->platform.driver_root) {
		pr_set(f, PR_SKIP,
		       "the driver runs in a container; its libraries are in " PR_DRIVER_ROOT ", for other containers");
	} else if (any) {
		gt_autofree char *dir = gt_dirname(any->path);

		pr_set(f, PR_FAIL, "%s exists, but the loader does not search %s", any->path, dir);
		pr_remedy(f, "  echo %s > /etc/ld.so.conf.d/nvidia.conf && ldconfig", dir);
	} else if (!loaded && !pr_or(h->driver.dkms, 0)) {
		pr_set(f, PR_SKIP, "no driver is installed");
	} else {
		char branch[PR_BRANCH_SUFFIX];

		pr_branch_suffix(h, branch);
		pr_set(f, PR_FAIL, "libnvidia-ml.so.1 is not on this %s",
		       h->container.state == PR_PRESENT ? "container's disk" : "host");
		if (h->container.state == PR_PRESENT)
			pr_remedy(f, "Start the container with  NVIDIA_DRIVER_CAPABILITIES=compute,utility");
		else
			pr_remedy(f, "Of the module's version%s%s:\n  @{libraries%s}",
				  loaded ? ", " : "", loaded ? h->driver.module_version.v : "", branch);
	}
}
static const char *const after_loaded[] = {"driver.loaded", "driver.device-nodes", NULL};
const struct pr_check pr_check_nvml_library = {
	.id = "driver.nvml-library",
	.title = "libnvidia-ml is missing",
	.after = after_loaded,
	.story = "nvidia-smi and all monitoring tools load libnvidia-ml.so.1. It has its own package, and a container "
		 "gets it only with the utility capability.",
	.messages = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.",
	.run = nvml_library,
};
