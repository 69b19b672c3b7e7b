/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs of AMD: from amdgpu and KFD to errors, links and partitions. Sources: the kernel's Documentation/gpu/amdgpu, AMD's
 * system optimisation guides for MI200 and MI300, RCCL's warnings at its start (src/init.cc).
 */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"

static bool no_amd_gpu(const struct pr_context *c, struct pr_finding *f)
{
	if (c->host->amd.n)
		return false;
	pr_set(f, PR_SKIP, "no AMD GPU");
	return true;
}

static bool is_instinct(const struct pr_amd_gpu *g)
{
	return gt_streq(g->gfx.v, "gfx90a") || gt_streq(g->gfx.v, "gfx942") || gt_streq(g->gfx.v, "gfx950");
}

bool pr_has_instinct(const struct pr_host *h)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (is_instinct(&h->amd.gpu[i]))
			return true;
	return false;
}

/* ---- driver --------------------------------------------------------------------------------------------------- */

/* Returns the first GPU without amdgpu; NULL: none. */
static const struct pr_amd_gpu *without_driver(const struct pr_host *h)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (!gt_streq(h->amd.gpu[i].pci->driver.v, "amdgpu"))
			return &h->amd.gpu[i];
	return NULL;
}

static const struct pr_amd_gpu *with_gfx_state(const struct pr_host *h, enum pr_state state)
{
	for (size_t i = 0; i < h->amd.n; i++)
		if (h->amd.gpu[i].gfx.state == state)
			return &h->amd.gpu[i];
	return NULL;
}

static void driver(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_amd_gpu *bare, *absent = with_gfx_state(h, PR_ABSENT);
	bool container = h->container.state == PR_PRESENT;

	if (no_amd_gpu(c, f))
		return;
	bare = without_driver(h);
	if (bare) {
		pr_set(f, PR_FAIL, "GPU %s of AMD has no driver: amdgpu does not drive it", bare->pci->address);
		pr_remedy(f, "%sLoad the driver. If it fails, the kernel log has the reason:\n"
			     "  modprobe amdgpu; dmesg | grep -i amdgpu",
			  container ? "On the machine that runs this container: " : "");
	} else if (h->amd.topology == PR_ABSENT && h->amd.gpu[0].vram_bytes.state == PR_ABSENT) {
		pr_set(f, PR_NOT_KNOWN, "no reading of amdgpu or KFD exists here: an old capture, or an old driver");
	} else if (h->amd.topology == PR_ABSENT && !container) {
		pr_set(f, PR_FAIL, "amdgpu drives the GPUs of AMD, but KFD, its part for computing, does not exist");
		pr_remedy(f, "The kernel needs CONFIG_HSA_AMD. The kernel log has the reason:\n  dmesg | grep -i -e kfd -e amdgpu");
	} else if (h->amd.topology != PR_PRESENT) {
		pr_set(f, PR_NOT_KNOWN, "KFD's list of GPUs is %s here", pr_state_name(h->amd.topology));
	} else if (absent) {
		pr_set(f, PR_FAIL, "amdgpu drives GPU %s, but KFD does not list it, so ROCm cannot use it", absent->pci->address);
		pr_remedy(f, "The kernel log has the reason:\n  dmesg | grep -i -e kfd -e %s", absent->pci->address);
	} else if (!pr_amd_usable(h)) {
		pr_set(f, PR_NOT_KNOWN, "this container may not read any AMD GPU");
	} else {
		pr_set(f, PR_PASS, "amdgpu%s%s drives every AMD GPU, and KFD lists %s", h->amd.driver.v ? " " : "",
		       h->amd.driver.v ? h->amd.driver.v : "", h->amd.hidden ? "those that this container may use" : "all");
	}
}
const struct pr_check pr_check_amd_driver = {
	.id = "amd.driver",
	.title = "an AMD GPU has no driver or is unknown to KFD",
	.story = "ROCm uses a GPU through the kernel module amdgpu and its part KFD, which lists the GPUs in "
		 "/sys/class/kfd. A GPU that amdgpu could not start is missing there.",
	.messages = "amdgpu: probe of 0000:03:00.0 failed with error\nkfd kfd: amdgpu: skipped device, PCI rejects atomics\n"
		    "ROCk module is NOT loaded, possibly no GPU devices",
	.run = driver,
};

/* ---- access --------------------------------------------------------------------------------------------------- */

static void access_remedy(const struct pr_host *h, struct pr_finding *f)
{
	if (h->container.state == PR_PRESENT)
		pr_remedy(f, "Start the container with the devices and their group:\n"
			     "  docker run --device /dev/kfd --device /dev/dri --group-add video --group-add render IMAGE");
	else
		pr_remedy(f, "Add the user to the groups of the devices, then log in again:\n"
			     "  sudo usermod -aG video,render $USER");
}

static void access_nodes(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (no_amd_gpu(c, f))
		return;
	if (!pr_amd_usable(h)) {
		pr_set(f, PR_SKIP, "KFD lists no AMD GPU here");
		return;
	}
	if (!pr_has(h->amd.kfd_access)) {
		pr_set(f, PR_FAIL, "/dev/kfd is %s for this user: ROCm finds no GPU", pr_state_name(h->amd.kfd_access.state));
		access_remedy(h, f);
		return;
	}
	for (size_t i = 0; i < h->amd.n; i++) {
		const struct pr_amd_gpu *g = &h->amd.gpu[i];

		if (!g->gfx.v || pr_has(g->render_access))
			continue;
		pr_set(f, PR_FAIL, "the render node of GPU %s in /dev/dri is %s for this user", g->pci->address,
		       pr_state_name(g->render_access.state));
		access_remedy(h, f);
		return;
	}
	pr_set(f, PR_PASS, "this user may open /dev/kfd and the render nodes");
}
static const char *const after_driver[] = { "amd.driver", NULL };
const struct pr_check pr_check_amd_access = {
	.id = "amd.access",
	.title = "/dev/kfd or a render node cannot be opened",
	.after = after_driver,
	.story = "A program opens /dev/kfd and the GPU's render node in /dev/dri. They belong to the groups render or video. A "
		 "user outside these groups, or a container without the devices, finds no GPU.",
	.messages = "Unable to open /dev/kfd read-write: Permission denied\nUnable to open /dev/kfd read-write: No such file or "
		    "directory\nhsa api call failure at: rocminfo.cc",
	.run = access_nodes,
};

/* ---- variables ------------------------------------------------------------------------------------------------ */

/* Returns the number of devices of ROCm. Each partition is one. */
static size_t n_devices(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->amd.n; i++)
		n += (size_t)pr_or(h->amd.gpu[i].nodes, 0);
	return n;
}

/* Returns how many devices a list of indices leaves. *ret_bad: the entry that ends the list, NULL if all are valid. A
 * list with names instead of indices is not judged: returns n. */
static size_t count_left(const char *list, size_t n, char *bad, size_t size)
{
	size_t left = 0;

	*bad = '\0';
	gt_each_word(word, list, ",") {
		uint64_t v;

		if (gt_starts_with(word, "GPU-"))
			return n;
		if (gt_parse_u64(word, &v) || v >= n) {
			snprintf(bad, size, "%s", word);
			break;
		}
		left++;
	}
	return left;
}

static void visible(const struct pr_context *c, struct pr_finding *f)
{
	static const char *const names[] = { "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES" };
	const struct pr_host *h = c->host;
	size_t n = n_devices(h);
	char bad[64];

	if (no_amd_gpu(c, f))
		return;
	if (!n) {
		pr_set(f, PR_SKIP, "KFD lists no AMD GPU here");
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++) {
		const char *list = pr_getenv(h, names[i]);
		size_t left = list ? count_left(list, n, bad, sizeof(bad)) : n;

		if (list && (!left || *bad)) {
			pr_set(f, left ? PR_WARN : PR_FAIL, "%s=%s leaves %zu of %zu devices%s%s%s", names[i], list, left, n,
			       *bad ? ": " : "", bad, *bad ? " is no device here" : "");
			pr_remedy(f, "  unset %s\nor set it to numbers from 0 to %zu", names[i], n - 1);
			return;
		}
		n = left; /* a later variable counts only the devices that an earlier one leaves */
	}
	pr_set(f, PR_PASS, "the environment leaves %zu of %zu devices visible", n, n_devices(h));
}
const struct pr_check pr_check_amd_visible = {
	.id = "amd.visible",
	.title = "a variable hides AMD GPUs",
	.after = after_driver,
	.story = "ROCR_VISIBLE_DEVICES selects GPUs for all of ROCm. HIP_VISIBLE_DEVICES, and on AMD also "
		 "CUDA_VISIBLE_DEVICES, then select among these. An invalid entry hides all GPUs after it.",
	.messages = "RuntimeError: No HIP GPUs are available\nhipErrorNoDevice\nno ROCm-capable device is detected",
	.run = visible,
};

/* ---- memory errors -------------------------------------------------------------------------------------------- */

static void ras(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t known = 0, unread = 0;
	int64_t corrected = 0;

	if (no_amd_gpu(c, f))
		return;
	for (size_t i = 0; i < h->amd.n; i++) {
		const struct pr_amd_gpu *g = &h->amd.gpu[i];

		known += pr_has(g->uncorrected);
		unread += g->uncorrected.state == PR_UNREADABLE || g->uncorrected.state == PR_BROKEN;
		corrected += pr_or(g->corrected, 0);
		if (pr_or(g->failed_pages, 0) > 0) {
			pr_set(f, PR_FAIL, "GPU %s could not retire faulty memory (%d page%s)", g->pci->address,
			       (int)g->failed_pages.v, g->failed_pages.v == 1 ? "" : "s");
			pr_remedy(f, "Take the host out of service, and reboot it. If it recurs, have the GPU replaced.");
			return;
		}
		if (pr_or(g->uncorrected, 0) > 0 || pr_or(g->pending_pages, 0) > 0) {
			pr_set(f, PR_WARN,
			       "GPU %s had uncorrected errors since amdgpu was loaded: %ld (memory pages retired: %ld, at the next "
			       "reset: %ld)",
			       g->pci->address, pr_or(g->uncorrected, 0), pr_or(g->bad_pages, 0), pr_or(g->pending_pages, 0));
			pr_remedy(f, "Results since then may be wrong. End all programs that use a GPU, then reset it or reboot. "
				     "The errors of each block, and the log:\n  grep . /sys/bus/pci/devices/%s/ras/*_err_count\n"
				     "  dmesg | grep -i -e %s -e ras", g->pci->address, g->pci->address);
			return;
		}
	}
	if (unread)
		pr_set(f, PR_NOT_KNOWN, "the error counters of %zu AMD GPU%s cannot be read", unread, unread == 1 ? "" : "s");
	else if (!known)
		pr_set(f, PR_SKIP, "these AMD GPUs have no error counters (RAS)");
	else
		pr_set(f, PR_PASS, "no AMD GPU had an uncorrected error since amdgpu was loaded (%ld corrected)", corrected);
}
const struct pr_check pr_check_amd_ras = {
	.id = "amd.ras",
	.title = "an AMD GPU had uncorrected errors",
	.after = after_driver,
	.story = "Instinct GPUs count corrected and uncorrected errors of each block (RAS), from the start of amdgpu. amdgpu "
		 "retires faulty pages of memory, some only at the next reset. If it cannot retire a page, programs can "
		 "still get it.",
	.messages = "amdgpu: uncorrectable hardware errors detected in umc block\nHW Exception by GPU node",
	.run = ras,
};

/* ---- XGMI ----------------------------------------------------------------------------------------------------- */

static void xgmi(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	int64_t most = 0;
	bool instinct = pr_has_instinct(h);

	if (no_amd_gpu(c, f))
		return;
	for (size_t i = 0; i < h->amd.n; i++)
		most = GT_MAX(most, pr_or(h->amd.gpu[i].xgmi_links, 0));
	if (h->amd.n < 2) {
		pr_set(f, PR_SKIP, "one AMD GPU");
		return;
	}
	if (h->amd.hidden || !pr_amd_usable(h)) {
		pr_set(f, PR_SKIP, "%s", h->amd.hidden ? "this container may read only some of the AMD GPUs" :
							 "KFD lists no AMD GPU here");
		return;
	}
	for (size_t i = 0; i < h->amd.n; i++) {
		const struct pr_amd_gpu *g = &h->amd.gpu[i], *first = &h->amd.gpu[0];

		if (!g->gfx.v)
			continue;
		if (!pr_has(g->xgmi_links)) {
			pr_set(f, PR_NOT_KNOWN, "the links of GPU %s cannot be read", g->pci->address);
			return;
		}
		if (g->xgmi_links.v < most && g->pci->device == first->pci->device) {
			pr_set(f, PR_WARN, "GPU %s has XGMI links to %d GPUs, others of the same model to %d", g->pci->address,
			       (int)g->xgmi_links.v, (int)most);
			pr_remedy(f, "RCCL uses PCIe or host memory instead. Reboot; if it recurs, have the GPU's board checked:\n"
				     "  rocm-smi --showtopo; dmesg | grep -i xgmi");
			return;
		}
	}
	if (!most && instinct)
		pr_set(f, PR_NOT_KNOWN, "no XGMI link between the GPUs: normal for PCIe cards without a bridge, a fault on a board "
					"of MI200, MI300 or newer");
	else
		pr_set(f, PR_PASS, most ? "each AMD GPU has XGMI links to %d others" : "these AMD GPUs have no XGMI links",
		       (int)most);
}
const struct pr_check pr_check_amd_xgmi = {
	.id = "amd.xgmi",
	.title = "an AMD GPU has fewer XGMI links than others",
	.after = after_driver,
	.story = "On a board of eight MI300X, XGMI links connect each GPU to the seven others. A GPU that lost a link communicates "
		 "over PCIe, and all ranks wait for it.",
	.messages = "XGMI: Failed to initialize\namdgpu: failed to add device to xgmi hive",
	.run = xgmi,
};

/* ---- partitions ----------------------------------------------------------------------------------------------- */

static const char *text_of(struct pr_str s)
{
	return s.v ? s.v : "?";
}

static bool same_partition(const struct pr_amd_gpu *a, const struct pr_amd_gpu *b)
{
	return !strcmp(text_of(a->compute_partition), text_of(b->compute_partition)) &&
	       !strcmp(text_of(a->memory_partition), text_of(b->memory_partition));
}

static void partition(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_amd_gpu *first = h->amd.n ? &h->amd.gpu[0] : NULL;

	if (no_amd_gpu(c, f))
		return;
	for (size_t i = 1; i < h->amd.n; i++) {
		const struct pr_amd_gpu *g = &h->amd.gpu[i];

		if (g->pci->device != first->pci->device || same_partition(g, first))
			continue;
		pr_set(f, PR_WARN, "GPU %s is in mode %s/%s, but GPU %s is in %s/%s: devices have different sizes",
		       g->pci->address, text_of(g->compute_partition), text_of(g->memory_partition), first->pci->address,
		       text_of(first->compute_partition), text_of(first->memory_partition));
		pr_remedy(f, "End all programs that use a GPU, then set one mode for all. SPX is the whole GPU as one device:\n"
			     "  amd-smi set --compute-partition SPX");
		return;
	}
	if (!first->compute_partition.v || !*first->compute_partition.v)
		pr_set(f, first->compute_partition.state == PR_ABSENT ? PR_SKIP : PR_NOT_KNOWN,
		       first->compute_partition.state == PR_ABSENT ? "these AMD GPUs have no partition modes" :
								     "the partition mode cannot be read");
	else
		pr_set(f, PR_PASS, "every AMD GPU is in partition mode %s/%s", first->compute_partition.v,
		       text_of(first->memory_partition));
}
const struct pr_check pr_check_amd_partition = {
	.id = "amd.partition",
	.title = "AMD GPUs are in different partition modes",
	.after = after_driver,
	.story = "An MI300X is one device (SPX) or up to eight (CPX), and its memory one or four parts (NPS1, NPS4). With "
		 "different modes on one host, ranks get devices of different size.",
	.run = partition,
};

/* ---- power ---------------------------------------------------------------------------------------------------- */

static void power(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_amd_gpu *first = NULL, *below = NULL;
	size_t unread = 0;

	if (no_amd_gpu(c, f))
		return;
	for (size_t i = 0; i < h->amd.n; i++) {
		const struct pr_amd_gpu *g = &h->amd.gpu[i];

		unread += g->power_cap_uw.state == PR_UNREADABLE || g->power_cap_uw.state == PR_BROKEN;
		if (!pr_has(g->power_cap_uw))
			continue;
		first = first ? first : g;
		below = g->power_cap_uw.v < pr_or(g->power_default_uw, 0) ? g : below;
		if (g->pci->device == first->pci->device && g->power_cap_uw.v != first->power_cap_uw.v) {
			pr_set(f, PR_WARN, "the power limits of equal GPUs differ: %d W for %s, %d W for %s",
			       (int)(first->power_cap_uw.v / 1000000), first->pci->address, (int)(g->power_cap_uw.v / 1000000),
			       g->pci->address);
			pr_remedy(f, "All ranks wait for the slowest GPU. If power and cooling allow it, reset the limits:\n"
				     "  rocm-smi --resetpoweroverdrive --autorespond y");
			return;
		}
	}
	if (below)
		pr_set(f, PR_PASS, "the power of equal GPUs is limited to the same %d W; the default is %d W",
		       (int)(below->power_cap_uw.v / 1000000), (int)(below->power_default_uw.v / 1000000));
	else if (first)
		pr_set(f, PR_PASS, "no AMD GPU has a power limit below its default");
	else
		pr_set(f, unread ? PR_NOT_KNOWN : PR_SKIP, "%s",
		       unread ? "the power limit cannot be read" : "no AMD GPU reports a power limit");
}
const struct pr_check pr_check_amd_power = {
	.id = "amd.power-cap",
	.title = "equal AMD GPUs have different power limits",
	.after = after_driver,
	.story = "A GPU with a lower power limit lowers its clocks under load, and the ranks on other GPUs wait for it. The same "
		 "limit for all GPUs is a choice of the site.",
	.run = power,
};
