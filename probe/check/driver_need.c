/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/check/distro.h"
#include "probe/check/driver_need.h"
#include "probe/check/rocm.h"
#include "probe/host/reading.h"

static json_t *step(const struct pr_host *h, const char *why, char *lines)
{
	gt_autofree char *text = pr_for_distro(h, lines, "", "# ");
	json_t *o = json_pack("{s:o, s:o}", "why", gt_json_str(why), "lines", gt_json_str(text));

	free(lines);
	return o;
}

/* ---- driver ---------------------------------------------------------------------------------------------------------- */

void pr_driver_need_clear(struct pr_driver_need *n)
{
	free(n->version);
	free(n->cuda_driver);
	free(n->packages);
	free(n->why);
	*n = (struct pr_driver_need){0};
}

/* Returns the requirements common to all GPUs. Returns false if one of them is not in the table. */
static bool common_kind(const struct pr_context *c, unsigned device, struct pr_gpu_kind *ret)
{
	*ret = (struct pr_gpu_kind){.last_branch = 999};
	if (device)
		return pr_compat_gpu(c->fs, device, ret, NULL) > 0;
	for (size_t i = 0; i < c->host->n_gpu; i++) {
		struct pr_gpu_kind k;

		if (gt_streq(c->host->gpu[i].pci->driver.v, "vfio-pci"))
			continue;
		if (pr_compat_gpu(c->fs, c->host->gpu[i].pci->device, &k, NULL) <= 0)
			return false;
		ret->arch = ret->arch ? GT_MIN(ret->arch, k.arch) : k.arch;
		ret->first_branch = GT_MAX(ret->first_branch, k.first_branch);
		ret->last_branch = GT_MIN(ret->last_branch, k.last_branch);
		ret->open_only |= k.open_only;
	}
	return true;
}

static bool within(const char *driver, const struct pr_gpu_kind *k)
{
	return driver && pr_branch_of(driver) >= k->first_branch && pr_branch_of(driver) <= k->last_branch;
}

/* Returns the newest legacy branch in Debian that supports the GPUs; 0: none. */
static int legacy_branch(const struct pr_context *c, const struct pr_gpu_kind *k)
{
	gt_autofree char *list = NULL;
	int best = 0;

	if (!c->host->distro.version_id.v ||
	    pr_compat_get(c->fs, &pr_debian_legacy, c->host->distro.version_id.v, &list, NULL) <= 0)
		return 0;
	gt_each_word(b, list, ",")
		if (within(b, k) && pr_branch_of(b) > best)
			best = pr_branch_of(b);
	return best;
}

/* The driver's metapackage would install a display and no libcuda. Without libnvidia-…-cfg1 the daemon would install
 * Debian's main branch. */
char *pr_legacy_packages(int branch)
{
	return gt_xasprintf("nvidia-tesla-%1$d-kernel-dkms libnvidia-tesla-%1$d-cuda1 libnvidia-tesla-%1$d-ml1 "
			    "nvidia-tesla-%1$d-smi libnvidia-tesla-%1$d-cfg1 nvidia-modprobe nvidia-persistenced", branch);
}

void pr_branch_suffix(const struct pr_host *h, char ret[PR_BRANCH_SUFFIX])
{
	const char *source = h->driver.dkms_source.v;
	int digits = 0;

	if (source && gt_starts_with(source, "nvidia-tesla-"))
		digits = (int)strspn(source + 13, "0123456789");
	snprintf(ret, PR_BRANCH_SUFFIX, digits && digits < 5 ? "-legacy %.*s" : "", digits, source ? source + 13 : "");
}

char *pr_hold_line(const struct pr_host *h, const char *version)
{
	const char *colon = strchr(version, ':'), *upstream = colon ? colon + 1 : version;
	int n = (int)strspn(upstream, "0123456789.");

	for (size_t i = 0; n && i < h->n_package; i++) { /* an empty prefix would match every package */
		const char *epoch = strchr(h->package[i].version, ':'), *has = epoch ? epoch + 1 : h->package[i].version;

		if (pr_is_driver_package(h->package[i].name) && !strncmp(has, upstream, (size_t)n))
			return gt_xasprintf("@{hold %.*s}", n, upstream);
	}
	return NULL;
}

static void older_branch(const struct pr_context *c, struct pr_driver_need *n)
{
	int legacy = legacy_branch(c, &n->kind);

	if (legacy) {
		n->state = PR_DRIVER_LEGACY;
		n->version = gt_xasprintf("%d", legacy);
		n->packages = pr_legacy_packages(legacy);
		n->why = gt_xasprintf("this GPU is supported up to branch %d, and Debian %s also packages branch %d",
				      n->kind.last_branch, c->host->distro.version_id.v, legacy);
		return;
	}
	n->state = n->kind.last_branch >= 580 ? PR_DRIVER_NVIDIA : PR_DRIVER_NONE;
	n->why = gt_xasprintf("this GPU is supported up to branch %d, and Debian %s packages only newer branches",
			      n->kind.last_branch, c->host->distro.version_id.v ? c->host->distro.version_id.v : "");
}

/* Returns true if the GPUs need both flavours: the open module supports Turing and later only. */
static bool both_flavours(const struct pr_gpu_kind *k)
{
	return k->open_only && k->arch < 75;
}

/* Finds the package source of the driver, ignoring what is installed. */
static void packaged_need(const struct pr_context *c, const char *packaged, struct pr_driver_need *n)
{
	const struct pr_host *h = c->host;
	gt_autofree char *debian = packaged ? gt_xstrdup(packaged) : NULL;
	const char *release = h->distro.version_id.v ? h->distro.version_id.v : "?";

	if (!debian && pr_is_debian(h) && h->distro.version_id.v)
		pr_compat_get(c->fs, &pr_debian_driver, release, &debian, NULL);
	if (n->known && n->kind.first_branch > n->kind.last_branch) {
		n->state = PR_DRIVER_NONE;
		n->why = gt_xasprintf("one GPU needs branch %d or newer and another is supported up to branch %d: no "
				      "driver supports both",
				      n->kind.first_branch, n->kind.last_branch);
	} else if (n->known && both_flavours(&n->kind)) {
		n->state = PR_DRIVER_NONE;
		n->why = gt_xstrdup("one GPU needs the open kernel module and another the proprietary one: no driver supports "
				    "both");
	} else if (n->known && within(debian, &n->kind)) {
		n->state = PR_DRIVER_DEBIAN;
		n->packages = gt_xstrdup(n->kind.open_only ? PR_DEBIAN_OPEN " " PR_DEBIAN_DRIVER :
							     PR_DEBIAN_MODULE " " PR_DEBIAN_DRIVER);
		n->why = gt_xasprintf("Debian %s packages driver %s, which supports this GPU", release, debian);
		n->version = gt_take(debian);
	} else if (n->known && debian && pr_branch_of(debian) > n->kind.last_branch) {
		older_branch(c, n);
	} else {
		n->state = PR_DRIVER_NVIDIA;
		n->why = gt_xstrdup(!n->known ? "this GPU is not in gpuprobe's table: it may be newer" :
				    debian    ? "Debian's driver is older than this GPU" :
				    pr_family(h) ? "NVIDIA's repository has a driver for this distribution" :
						   "gpuprobe does not know this distribution's driver");
	}
}

/* Returns whether the driver is from Debian's packages, not NVIDIA's. NVIDIA's DKMS source has the plain name "nvidia"
 * and another branch. */
static bool is_debians(const struct pr_host *h, struct gt_fsroot *fs, const char *driver)
{
	gt_autofree char *own = NULL;

	if (h->driver.dkms_source.v && gt_starts_with(h->driver.dkms_source.v, "nvidia/"))
		return false;
	if (h->driver.dkms_source.v && gt_starts_with(h->driver.dkms_source.v, "nvidia-tesla-"))
		return true;
	if (!pr_is_debian(h))
		return false;
	return !h->distro.version_id.v ||
	       pr_compat_get(fs, &pr_debian_driver, h->distro.version_id.v, &own, NULL) <= 0 ||
	       pr_branch_of(own) == pr_branch_of(driver);
}

/*
 * Handles a suitable driver that is installed but not loaded. For Debian's packages keeps the package list, because some
 * packages may be missing.
 */
static void find_unloaded(const struct pr_context *c, struct pr_driver_need *n)
{
	const char *source = c->host->driver.dkms_source.v, *slash = source ? strchr(source, '/') : NULL;

	if (!n->known || !slash || !within(slash + 1, &n->kind))
		return;
	if ((n->state != PR_DRIVER_DEBIAN && n->state != PR_DRIVER_LEGACY) || !is_debians(c->host, c->fs, slash + 1)) {
		free(n->packages);
		n->packages = NULL;
	}
	n->state = PR_DRIVER_UNLOADED;
	free(n->version);
	n->version = gt_xstrdup(slash + 1);
	free(n->why);
	n->why = gt_xasprintf("driver %s, which supports this GPU, is installed but not loaded", n->version);
}

bool pr_flavour_fits(const struct pr_host *h, const struct pr_gpu_kind *k)
{
	return !h->driver.module_text.v || (h->driver.open_module ? k->arch >= 75 : !k->open_only);
}

static void find_state(const struct pr_context *c, const char *packaged, unsigned device, struct pr_driver_need *n)
{
	const struct pr_host *h = c->host;
	const char *loaded = h->driver.module_version.v;

	*n = (struct pr_driver_need){0};
	if (!device && pr_windows_gpus(h) && h->nvml.driver.v) {
		n->state = PR_DRIVER_OK; /* under WSL the driver belongs to Windows, and this system needs none */
		n->version = gt_xstrdup(h->nvml.driver.v);
		n->why = gt_xasprintf("the Windows driver %s responds", n->version);
		return;
	}
	if (!device && h->platform.windows_driver) {
		n->state = PR_DRIVER_UNLOADED;
		n->why = gt_xstrdup("the Windows driver is installed, but programs cannot access it");
		return;
	}
	if (!device && !pr_usable_gpus(h)) {
		n->state = PR_DRIVER_NO_GPU;
		n->why = gt_xstrdup("no NVIDIA GPU that this host may use");
		return;
	}
	n->known = common_kind(c, device, &n->kind);
	if (!device && loaded && (!n->known || (within(loaded, &n->kind) && !both_flavours(&n->kind)))) {
		bool open = h->driver.open_module, fits = !n->known || pr_flavour_fits(h, &n->kind);

		n->state = fits ? PR_DRIVER_OK : PR_DRIVER_FLAVOUR;
		n->version = gt_xstrdup(loaded);
		n->why = fits ? gt_xasprintf("driver %s is loaded", loaded) :
				gt_xasprintf("driver %s supports this GPU with its %s kernel module, and the %s one is "
					     "loaded", loaded,
					     open ? "proprietary" : "open", open ? "open" : "proprietary");
		return;
	}
	packaged_need(c, packaged, n);
	if (!device && !loaded)
		find_unloaded(c, n);
}

void pr_driver_need(const struct pr_context *c, const char *packaged, unsigned device, struct pr_driver_need *n)
{
	const char *cuda_version;

	find_state(c, packaged, device, n);
	cuda_version = n->state == PR_DRIVER_OK ? pr_effective_driver(c) : n->version;
	n->cuda_driver = cuda_version ? gt_xstrdup(cuda_version) : NULL;
}

/* Returns the lines that add Debian's components for the driver (non-free-firmware exists since Debian 12). They edit the
 * existing sources: apt refuses a second entry of a repository with another Signed-By. */
static char *components_lines(const struct pr_host *h)
{
	bool firmware = !h->distro.version_id.v || gt_version_cmp(h->distro.version_id.v, "12") >= 0;

	if (!h->distro.codename.v)
		return gt_xstrdup("# add contrib, non-free and non-free-firmware to apt's sources; gputune provision plan prints "
				  "the lines\n");
	return gt_xasprintf("# adds the components contrib and non-free to Debian's sources\n"
			    "sed -i.bak -E '/^(deb .* %s|Components:)/s/ main\\b.*/ main contrib non-free%s/' \\\n"
			    "  $(ls /etc/apt/sources.list /etc/apt/sources.list.d/debian.sources 2>/dev/null)\n"
			    "apt update\n",
			    h->distro.codename.v, firmware ? " non-free-firmware" : "");
}

/* Returns the action that installs NVIDIA's driver. The open module needs a GPU with a GSP (Turing and later). */
static char *nvidia_driver(const struct pr_driver_need *n)
{
	if (!n->known || n->kind.arch >= 75)
		return gt_xstrdup("@{driver-open}\n");
	return gt_xasprintf("@{driver-%s %d}\n", n->kind.last_branch >= 580 ? "proprietary" : "branch", n->kind.last_branch);
}

/* Returns commands that replace the installed flavour. Debian's alternative "nvidia" prefers the proprietary one while
 * both are installed. */
static char *flavour_lines(const struct pr_context *c, const struct pr_driver_need *n)
{
	const struct pr_host *h = c->host;
	bool open = h->driver.open_module;

	if (h->driver.run_file)
		return gt_xasprintf("sh NVIDIA-Linux-%s-%s.run -m=kernel%s\nreboot", h->kernel.arch.v ? h->kernel.arch.v : "x86_64",
				    n->version, open ? "" : "-open");
	if (!is_debians(h, c->fs, n->version))
		return open ? gt_xasprintf("@{driver-proprietary-instead %d}\nreboot", n->kind.last_branch) :
			      gt_xstrdup("@{driver-open-instead}\nreboot");
	return gt_xstrdup(open ? "apt install nvidia-kernel-dkms nvidia-open-kernel-dkms- nvidia-open-kernel-support-\nreboot" :
				 "# contrib in apt's sources\n"
				 "apt install nvidia-open-kernel-dkms nvidia-kernel-dkms- nvidia-kernel-support-\nreboot");
}

/* Returns whether the driver was installed outside the package manager of this system. */
static bool is_external(const struct pr_host *h)
{
	return gt_streq(h->virt.v, "wsl") || h->container.state == PR_PRESENT;
}

#define LONGEST_LINE 88

/* Formats a list of packages as command lines with continuations. */
static char *fold(const char *packages)
{
	struct gt_buf b = {0};
	size_t column = 0, n;

	for (const char *at = packages; *at; at += n + strspn(at + n, " ")) {
		bool fits;

		n = strcspn(at, " ");
		fits = column + 1 + n <= LONGEST_LINE;
		gt_buf_printf(&b, "%s%.*s", !column ? "" : fits ? " " : " \\\n  ", (int)n, at);
		column = column && fits ? column + 1 + n : n;
	}
	return gt_buf_take(&b);
}

json_t *pr_driver_step(const struct pr_context *c, const struct pr_driver_need *n)
{
	const char *release = c->host->kernel.release.v ? c->host->kernel.release.v : pr_deb_arch(c->host);
	bool unloaded_in_wsl = n->state == PR_DRIVER_UNLOADED && c->host->platform.windows_driver;
	bool secure = pr_or(c->host->secure_boot.on, 0) && !pr_or(c->host->secure_boot.shim_off, 0);
	/* otherwise the next boot rejects the module that DKMS builds */
	const char *enrol = secure ? "# Secure Boot is on: a blue screen asks for the password at the reboot\n"
				     "@{mokutil} && mokutil --import /var/lib/dkms/mok.pub\n"
				   : "";
	gt_autofree char *nvidia = nvidia_driver(n), *choose = NULL, *packages = NULL, *components = components_lines(c->host);

	if (n->state != PR_DRIVER_NO_GPU && n->state != PR_DRIVER_OK && !unloaded_in_wsl && is_external(c->host))
		return step(c->host, "the driver is installed outside this system", gt_xstrdup("@{driver-open}"));
	switch (n->state) {
	case PR_DRIVER_NO_GPU:
	case PR_DRIVER_OK:
		return NULL;
	case PR_DRIVER_UNLOADED:
		return step(c->host, n->why, gt_xstrdup("gpuprobe   # shows why"));
	case PR_DRIVER_FLAVOUR:
		return step(c->host, n->why, flavour_lines(c, n));
	case PR_DRIVER_DEBIAN:
	case PR_DRIVER_LEGACY:
		/* if both drivers are installed, update-glx leaves the newest one selected */
		choose = n->state == PR_DRIVER_LEGACY && pr_find_package(c->host, "nvidia-alternative") ?
				 gt_xasprintf("update-glx --set nvidia /usr/lib/nvidia/tesla-%s\n", n->version) : gt_xstrdup("");
		packages = fold(n->packages);
		return step(c->host, n->why,
			    gt_xasprintf(
				    "%sapt install --no-install-recommends linux-headers-%s \\\n  %s\n%s%sreboot", components,
				    release, packages, choose, enrol));
	case PR_DRIVER_NVIDIA:
		return step(c->host, n->why, gt_xasprintf("%s%sreboot", nvidia, enrol));
	case PR_DRIVER_NONE:
		break;
	}
	return step(c->host, n->why, gt_xstrdup("# no package supports it: remove the GPU, or train on the CPU"));
}

/* ---- wheels ---------------------------------------------------------------------------------------------------------- */

#define VENV "python3 -m venv venv && . venv/bin/activate\n"

static char *wheel_lines(const char *torch, const char *cuda)
{
	gt_autofree char *tag = pr_cuda_tag(cuda);

	return gt_xasprintf(VENV "pip install 'torch==%s.*' --index-url https://download.pytorch.org/whl/%s", torch, tag);
}

static int arch_of(const struct pr_context *c, const struct pr_driver_need *n)
{
	return n->known ? n->kind.arch : c->host->n_gpu ? pr_arch_of(c, &c->host->gpu[0]) : 0;
}

static struct pr_wheel_query query(const struct pr_context *c, const struct pr_driver_need *n, const char *driver)
{
	return (struct pr_wheel_query){ .machine = c->host->kernel.arch.v, .driver = driver, .python = c->host->python,
					.arch = arch_of(c, n) };
}

json_t *pr_driver_upgrade_step(const struct pr_context *c, const struct pr_driver_need *n, const char *least, const char *why)
{
	struct pr_driver_need up = {.known = n->known, .kind = n->kind};
	gt_auto_json *source = NULL;

	if (!n->cuda_driver || gt_version_cmp(n->cuda_driver, least) >= 0 ||
	    (n->known && pr_branch_of(least) > n->kind.last_branch))
		return NULL;
	packaged_need(c, NULL, &up);
	if (up.version && gt_version_cmp(up.version, least) < 0)
		up.state = PR_DRIVER_NVIDIA;
	if (up.state != PR_DRIVER_NONE || is_external(c->host))
		source = pr_driver_step(c, &up);
	pr_driver_need_clear(&up);
	return source ? step(c->host, why, gt_xstrdup(gt_json_get_str(source, "lines", ""))) : NULL;
}

#define LAST_FOR_OLD_GLIBC "2.6"

const char *pr_torch_glibc(const char *release)
{
	return gt_version_cmp(release, LAST_FOR_OLD_GLIBC) > 0 ? "2.28" : "2.17";
}

static bool glibc_fits(const struct pr_host *h, const char *torch)
{
	return !h->glibc.v || gt_version_cmp(h->glibc.v, pr_torch_glibc(torch)) >= 0;
}

json_t *pr_wheel_upgrade_step(const struct pr_context *c, const struct pr_driver_need *n, const struct pr_wheel *now)
{
	gt_autofree char *most = gt_xasprintf("%d.999", n->known ? n->kind.last_branch : 999), *least = NULL, *why = NULL;
	struct pr_wheel_query q = query(c, n, most);
	struct pr_wheel best;

	if (!n->cuda_driver || pr_compat_wheel(c->fs, &q, &best, NULL) <= 0 || !glibc_fits(c->host, best.torch) ||
	    (!strcmp(best.torch, now->torch) && !strcmp(best.cuda, now->cuda)) ||
	    pr_compat_min_driver(c->fs, best.cuda, &least, NULL) <= 0)
		return NULL;
	why = strcmp(now->torch, "0") ?
		      gt_xasprintf("only if PyTorch %s with CUDA %s is needed: driver %s or newer", best.torch, best.cuda, least) :
		      gt_xasprintf("driver %s supports no PyTorch with CUDA for this GPU; %s or newer supports %s with CUDA %s",
				   n->cuda_driver, least, best.torch, best.cuda);
	return pr_driver_upgrade_step(c, n, least, why);
}

int pr_wheel_steps(const struct pr_context *c, const struct pr_driver_need *n, bool upgrade, json_t *steps, struct gt_err *err)
{
	const char *driver = n->cuda_driver;
	gt_autofree char *why = NULL, *tag = NULL;
	struct pr_span span = {"", ""};
	struct pr_wheel_query q;
	struct pr_wheel w;
	char *lines;
	json_t *up;
	int r;

	if (n->state == PR_DRIVER_NO_GPU && c->host->tegra.chip >= PR_TEGRA_THOR) {
		why = gt_xasprintf("%s: since JetPack 7, PyTorch's own wheels with CUDA 13 support its GPU",
				   c->host->tegra.board.v);
		json_array_append_new(steps, step(c->host, why, gt_xstrdup(VENV "pip install torch --index-url "
								       "https://download.pytorch.org/whl/cu130")));
		return 0;
	}
	if (n->state == PR_DRIVER_NO_GPU && c->host->tegra.board.v) {
		why = gt_xasprintf("%s: PyTorch's own wheels do not support its GPU",
				   c->host->tegra.board.v);
		json_array_append_new(
			steps, step(c->host, why, gt_xstrdup("# take the wheel that NVIDIA makes for this JetPack: \"Installing "
						    "PyTorch for Jetson Platform\"\n"
						    "head -n 1 /etc/nv_tegra_release   # says which")));
		return 0;
	}
	if (n->state == PR_DRIVER_NO_GPU && pr_other_gpu(c->host, 0)) {
		bool amd = !strcmp(pr_gpu_maker(pr_other_gpu(c->host, 0)), "AMD");
		const char *gfx = pr_first_gfx(c->host);
		gt_autofree char *rocm = NULL, *torch = gfx ? pr_newest_rocm_torch(c->fs, gfx, &rocm) : NULL;

		if (torch) {
			why = gt_xasprintf("PyTorch %s with ROCm %s is the newest known to contain code for the AMD GPUs (%s)",
					   torch, rocm, gfx);
			json_array_append_new(steps, step(c->host, why, gt_xasprintf(VENV "pip install 'torch==%s.*' --index-url "
							  "https://download.pytorch.org/whl/rocm%s", torch, rocm)));
			return 0;
		}
		why = gt_xasprintf("a GPU of %s: gpuprobe does not know which PyTorch supports it",
				   pr_gpu_maker(pr_other_gpu(c->host, 0)));
		json_array_append_new(steps, step(c->host, why, gt_xasprintf("# https://pytorch.org/get-started/locally has the "
									     "command for %s", amd ? "ROCm" : "XPU")));
		return 0;
	}
	if (n->state == PR_DRIVER_NO_GPU) {
		json_array_append_new(steps, step(c->host, "no NVIDIA GPU: the wheel for CPUs, without the gigabyte of CUDA",
						  gt_xstrdup(VENV "pip install torch --index-url "
							     "https://download.pytorch.org/whl/cpu\n@{debian-torch}")));
		return 0;
	}
	if (!driver)
		return 0;
	q = query(c, n, driver);
	r = pr_compat_wheel(c->fs, &q, &w, err);
	if (r > 0 && !glibc_fits(c->host, w.torch)) {
		q.release = LAST_FOR_OLD_GLIBC;
		r = pr_compat_wheel(c->fs, &q, &w, err);
	}
	if (r < 0)
		return r;
	if (r && !glibc_fits(c->host, w.torch)) {
		why = gt_xasprintf("PyTorch %s needs glibc %s, and this host has %s", w.torch, pr_torch_glibc(w.torch),
				   c->host->glibc.v);
		json_array_append_new(steps, step(c->host, why, gt_xstrdup("# train in a container of a newer release")));
		return 0;
	}
	if (r && w.other_python) {
		pr_compat_python(c->fs, "torch", w.torch, &span, NULL);
		tag = pr_cuda_tag(w.cuda);
		why = gt_xasprintf("PyTorch %s with CUDA %s is the newest that driver %s and this GPU support; for this host's "
				   "Python %s it has no wheels, but for %s to %s", w.torch, w.cuda, driver, q.python, span.first,
				   span.last);
		lines = gt_xasprintf("uv venv --python %s venv && . venv/bin/activate\n"
				     "uv pip install 'torch==%s.*' --index-url https://download.pytorch.org/whl/%s", span.last,
				     w.torch, tag);
		json_array_append_new(steps, step(c->host, why, lines));
	} else if (r) {
		why = gt_xasprintf("PyTorch %s with CUDA %s is the newest%s%s that driver %s and this GPU support", w.torch, w.cuda,
				   q.python ? " for Python " : "", q.python ? q.python : "", driver);
		json_array_append_new(steps, step(c->host, why, wheel_lines(w.torch, w.cuda)));
	}
	up = upgrade ? pr_wheel_upgrade_step(c, n, &w) : NULL;
	if (up)
		json_array_append_new(steps, up);
	return 0;
}
