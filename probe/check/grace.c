/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs on one module with NVIDIA's Grace processor (GH200, GB200). The processor reaches the GPU's memory by NVLink-C2C, and
 * the kernel manages this memory as a NUMA node without CPUs. Sources: NVIDIA's Grace Performance Tuning Guide, "Operating
 * System Settings"; CUDA Programming Guide, "Unified and System Memory" (ATS); NVML's field values and addressing modes.
 */
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"

#define THP_OF_64K (INT64_C(512) << 20) /* size of a transparent huge page if pages have 64 KiB */
#define THP_OF_4K  (INT64_C(2) << 20)

static bool is_superchip(const struct pr_gpu *g)
{
	static const unsigned devices[] = { 0x2342, 0x2348, 0x2941, 0x31c2 }; /* GH200, GH200 144 GB, GB200, GB300 */

	for (size_t i = 0; i < GT_ARRAY_SIZE(devices); i++)
		if (g->pci->device == devices[i])
			return true;
	return false;
}

static size_t count_superchips(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_gpu; i++)
		n += is_superchip(&h->gpu[i]);
	return gt_streq(h->kernel.arch.v, "aarch64") ? n : 0;
}

static size_t count_memory_nodes(const struct pr_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n_node; i++)
		n += !gt_set_count(&h->node[i].cpus) && pr_or(h->node[i].mem_bytes, 0) > 0;
	return n;
}

bool pr_gpu_memory_is_node(const struct pr_host *h)
{
	return count_superchips(h) && count_memory_nodes(h);
}

static bool no_superchip(const struct pr_context *c, struct pr_finding *f)
{
	if (count_superchips(c->host))
		return false;
	pr_set(f, PR_SKIP, "no GPU on a module with a Grace processor");
	return true;
}

static void page_size(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (no_superchip(c, f))
		return;
	if (!pr_has(h->mem.thp_bytes)) {
		pr_set(f, PR_NOT_KNOWN, "the size of pages is unknown: /sys/kernel/mm/transparent_hugepage/hpage_pmd_size is %s",
		       pr_state_name(h->mem.thp_bytes.state));
	} else if (h->mem.thp_bytes.v == THP_OF_4K) {
		pr_set(f, PR_WARN, "the kernel has pages of 4 KiB; NVIDIA recommends 64 KiB for this processor");
		pr_remedy(f, "Install a kernel with pages of 64 KiB. Huge pages then have 512 MiB instead of 2 MiB:\n  "
				"@{kernel-64k}; reboot");
	} else if (h->mem.thp_bytes.v == THP_OF_64K && gt_streq(h->mem.thp_enabled.v, "always")) {
		pr_set(f, PR_WARN, "transparent huge pages of 512 MiB are on for all programs");
		pr_remedy(f, "Small programs then occupy 512 MiB at a time. Limit them to programs that ask for them:\n"
			     "  echo madvise > /sys/kernel/mm/transparent_hugepage/enabled\nAt every boot:\n"
			     "  @{kernel-add 50-thp transparent_hugepage=madvise}");
	} else {
		pr_set(f, h->mem.thp_bytes.v == THP_OF_64K ? PR_PASS : PR_NOT_KNOWN, "huge pages have %ld MiB",
		       h->mem.thp_bytes.v >> 20);
	}
}
const struct pr_check pr_check_grace_pages = {
	.id = "grace.page-size",
	.title = "the page size does not suit a Grace processor",
	.story = "With pages of 64 KiB there are fewer page faults and TLB misses, also for accesses of the GPU to the processor's "
		 "memory. Transparent huge pages then have 512 MiB, too much for most programs.",
	.run = page_size,
};

static void gpu_memory(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t chips = count_superchips(h), nodes = count_memory_nodes(h);

	if (no_superchip(c, f))
		return;
	if (h->driver.module_version.state != PR_PRESENT) {
		pr_set(f, PR_SKIP, "no driver is loaded");
		return;
	}
	if (nodes >= chips)
		pr_set(f, PR_PASS, "the memory of each GPU is a NUMA node without CPUs");
	else
		pr_set(f, PR_NOT_KNOWN, "%zu GPUs, but %zu NUMA nodes for their memory: the driver manages the memory itself "
				"(CDMM), or "
					"it failed to add it", chips, nodes);
}
const struct pr_check pr_check_grace_memory = {
	.id = "grace.gpu-memory",
	.title = "the memory of a GPU is not a NUMA node",
	.after = (const char *const[]){ "driver.loaded", NULL },
	.story = "On GH200 and GB200 the driver adds the GPU's memory to the kernel as a NUMA node without CPUs. Programs can then "
		 "allocate it with malloc() and numactl, also by mistake: interleaving over all nodes uses the GPU's memory. From "
		 "driver 580 on, the driver can keep the memory for itself (NVreg_CoherentGPUMemoryMode=driver).",
	.run = gpu_memory,
};

static void arguments(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *cmdline = h->kernel.cmdline.v;

	if (no_superchip(c, f))
		return;
	if (!cmdline) {
		pr_set(f, PR_NOT_KNOWN, "the kernel command line is %s", pr_state_name(h->kernel.cmdline.state));
	} else if (pr_or(h->numa_balancing, 0)) {
		pr_set(f, PR_WARN, "automatic NUMA balancing is on: its page faults slow down accesses of the GPU to the "
				"processor's "
				   "memory");
		pr_remedy(f, "  sysctl -w kernel.numa_balancing=0\nAt every boot:\n  @{kernel-add 50-grace "
				"numa_balancing=disable}");
	} else if (!gt_word_in(cmdline, " ", "init_on_alloc=0")) {
		pr_set(f, PR_WARN, "the kernel command line has no init_on_alloc=0: the kernel may clear each page twice");
		pr_remedy(f, "Kernel memory is then not cleared before use, which some sites require:\n"
			     "  @{kernel-add 50-grace init_on_alloc=0}; reboot");
	} else {
		pr_set(f, PR_PASS, "init_on_alloc=0 is set, and NUMA balancing is off");
	}
}
const struct pr_check pr_check_grace_arguments = {
	.id = "grace.arguments",
	.title = "the kernel arguments do not suit a Grace processor",
	.story = "NVIDIA's guides for GH200 and GB200 set init_on_alloc=0 and numa_balancing=disable. NUMA balancing unmaps pages "
		 "to observe their use, and each access of the GPU to such a page is a fault. With init_on_alloc the kernel clears "
		 "pages that the driver clears again.",
	.run = arguments,
};

/* Returns the first usable GPU for which the state of its NVLink-C2C is unknown, or of which a link is down. */
static const struct pr_gpu *find_c2c(const struct pr_host *h, bool unknown)
{
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];

		if (g->inaccessible || !is_superchip(g))
			continue;
		if (unknown ? !pr_has(g->c2c_links_down) : pr_or(g->c2c_links_down, 0) > 0)
			return g;
	}
	return NULL;
}

static void c2c(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_gpu *g = find_c2c(h, false);

	if (no_superchip(c, f))
		return;
	if (h->nvml.answer != PR_NVML_OK) {
		pr_set(f, PR_SKIP, "NVML does not respond");
	} else if (g) {
		pr_set(f, PR_WARN, "%d of %d NVLink-C2C links between the processor and GPU %s are down", (int)g->c2c_links_down.v,
		       (int)g->c2c_links.v, g->pci->address);
		pr_remedy(f, "Links that are down after a power cycle are a fault of the module. State and errors of each link:\n"
			     "  nvidia-smi c2c -s\n  nvidia-smi c2c -e");
	} else if ((g = find_c2c(h, true))) {
		pr_set(f, PR_NOT_KNOWN, "NVML does not report the NVLink-C2C links of GPU %s", g->pci->address);
	} else {
		pr_set(f, PR_PASS, "all NVLink-C2C links between processors and GPUs are active");
	}
}
const struct pr_check pr_check_grace_c2c = {
	.id = "grace.c2c",
	.title = "an NVLink-C2C link between processor and GPU is down",
	.after = (const char *const[]){ "nvml.answers", NULL },
	.story = "The Grace processor and the GPU exchange their data over NVLink-C2C. With a link "
		 "down, copies to the host and accesses of the GPU to the processor's memory are slower.",
	.run = c2c,
};

#define ATS 2 /* NVML_DEVICE_ADDRESSING_MODE_ATS */

static void ats(const struct pr_context *c, struct pr_finding *f)
{
	static const char *const names[] = { "none", "HMM" };
	const struct pr_host *h = c->host;
	size_t n_ats = 0, n = 0;

	if (no_superchip(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];
		int64_t mode = pr_or(g->addressing_mode, ATS);

		n += is_superchip(g) && !g->inaccessible;
		n_ats += is_superchip(g) && pr_has(g->addressing_mode) && mode == ATS;
		if (!is_superchip(g) || mode == ATS)
			continue;
		/* without nodes for the GPUs' memory, the driver may be configured for that */
		pr_set(f, pr_gpu_memory_is_node(h) ? PR_WARN : PR_NOT_KNOWN, "GPU %s does not use the page tables of the processor "
		       "(ATS): NVML reports the addressing mode %s", g->pci->address,
		       mode >= 0 && mode < (int64_t)GT_ARRAY_SIZE(names) ? names[mode] : "of an unknown number");
		pr_remedy(f, "The kernel log may have the reason:\n  dmesg | grep -i -e smmu -e ats -e nvrm");
		return;
	}
	if (n_ats && n_ats < n)
		pr_set(f, PR_NOT_KNOWN, "NVML reports the addressing mode of %zu of %zu GPUs", n_ats, n);
	else
		pr_set(f, n_ats ? PR_PASS : PR_SKIP, n_ats ? "GPUs use the page tables of the processor (ATS)" :
							     "NVML does not report the addressing mode");
}
const struct pr_check pr_check_grace_ats = {
	.id = "grace.ats",
	.title = "a GPU does not use the page tables of its Grace processor",
	.after = (const char *const[]){ "nvml.answers", NULL },
	.story = "With Address Translation Services (ATS), GPU and Grace processor share page tables, and kernels can use any "
		 "memory of the process, such as that of malloc(). Without them, the driver copies pages on each first access, or "
		 "such accesses fail.",
	.run = ats,
};
