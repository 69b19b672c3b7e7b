/* SPDX-License-Identifier: Apache-2.0 */
/* Obstacles on the paths between GPUs, network cards and memory. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "probe/check/check.h"
#include "lib/parse.h"
#include "probe/check/list.h"

static bool is_virtual(const struct pr_host *h)
{
	return h->virt.state == PR_PRESENT;
}

/* Reads the control words of the switch ports. They are conclusive, but only root can read them. */
static void acs_words(const struct pr_host *h, struct pr_finding *f)
{
	const struct gt_strv *on = &h->iommu.acs_redirect;
	gt_auto_buf ports = {0}, now = {0}, words = {0};

	if (!on->n) {
		pr_set(f, PR_PASS, "none of the %d switch ports above GPUs and network cards redirects", (int)h->iommu.acs_ports.v);
		return;
	}
	gt_buf_puts(&words, "pci=disable_acs_redir=");
	for (size_t i = 0; i < on->n && i < 8; i++) {
		gt_buf_printf(&ports, "%s%s", i ? ", " : "", on->v[i]);
		/* a mask that clears source validation and the three redirections */
		gt_buf_printf(&now, "  setpci -s %s ECAP_ACS+6.w=0:1d\n", on->v[i]);
		gt_buf_printf(&words, "%s%s", i ? ";" : "", on->v[i]);
	}
	pr_set(f, PR_WARN, "%zu of %d switch ports redirect: ACS of %s%s sends packets between GPUs and network cards up to "
			   "the root complex and back",
	       on->n, (int)h->iommu.acs_ports.v, ports.s, on->n > 8 ? " and more" : "");
	pr_remedy(f, "Virtual machines that are given devices need ACS. Only on other hosts, as root until the next boot:\n%s"
		     "At every boot:\n  @{kernel-add 50-acs %s}; reboot", now.s, words.s);
}

static void acs(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const char *cmdline = h->kernel.cmdline.v ? h->kernel.cmdline.v : "";

	if (!pr_amd_usable(h) && pr_without_gpu(c, f))
		return;
	if (is_virtual(h)) {
		pr_set(f, PR_SKIP, "the host of this virtual machine controls it");
	} else if (pr_has(h->iommu.acs_ports)) {
		acs_words(h, f);
	} else if (!h->iommu.split && h->iommu.acs_ports.state == PR_UNREADABLE && !pr_or(h->iommu.on, 0)) {
		pr_set(f, PR_SKIP, "only root can read the control words of the switch ports");
	} else if (!h->iommu.split) {
		pr_set(f, PR_PASS, "%s",
		       pr_or(h->iommu.on, 0) ? "no two devices below one switch are isolated from each other"
					     : "no redirection is known without an IOMMU");
	} else if (strstr(cmdline, "disable_acs_redir") || strstr(cmdline, "config_acs")) {
		pr_set(f, PR_PASS, "devices below one switch have separate groups, and the command line sets ACS");
	} else {
		pr_set(f, PR_WARN,
		       "%zu pair%s of a GPU and a network card below one PCIe switch in separate IOMMU groups: ACS sends their "
		       "packets to the root complex and back",
		       h->iommu.split, h->iommu.split == 1 ? "" : "s");
		pr_remedy(f, "Virtual machines that are given devices need ACS. Only on other hosts, switch ACS off in the "
			     "firmware, or for each switch port. As root, gpuprobe reads the ports and prints these commands:\n"
			     "  sudo gpuprobe");
	}
}
const struct pr_check pr_check_acs = {
	.id = "pcie.acs",
	.title = "ACS redirects traffic between GPUs to the root complex",
	.story = "ACS sends packets between the ports of a PCIe switch through the root complex, so that an IOMMU can check "
		 "them. Peer-to-peer copies are then slow or hang. As root, gpuprobe reads the ACS settings of the switch "
		 "ports. For other users, it only checks whether the devices below one switch have separate IOMMU groups.",
	.messages = "HINT: In many cases this error occurs when ACS is enabled\nNCCL WARN NET/IB : Got completion from "
		    "peer with "
		    "status=IBV_WC_RETRY_EXC_ERR",
	.run = acs,
};

static void iommu_remedy(const struct pr_host *h, struct pr_finding *f)
{
	const char *cmdline = h->kernel.cmdline.v ? h->kernel.cmdline.v : "";

	if (strstr(cmdline, "iommu=pt") || strstr(cmdline, "iommu.passthrough=1")) {
		pr_remedy(f, "The command line requests it already. The kernel log has the reason:\n"
			     "  dmesg | grep -i -e iommu -e dmar");
		return;
	}
	pr_remedy(f, "With iommu=pt the IOMMU does not protect memory from the devices of the host itself:\n"
		     "  @{kernel-add 50-iommu iommu=pt}; reboot");
}

static void iommu(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (!pr_amd_usable(h) && pr_without_gpu(c, f))
		return;
	if (is_virtual(h)) {
		pr_set(f, PR_SKIP, "the host of this virtual machine controls it");
	} else if (!gt_streq(h->kernel.arch.v, "x86_64")) {
		pr_set(f, PR_SKIP, "the best IOMMU setting is known for x86-64 only");
	} else if (!pr_or(h->iommu.on, 0)) {
		pr_set(f, PR_PASS, "there is no IOMMU");
	} else if (pr_or(h->iommu.passthrough, 0)) {
		pr_set(f, PR_PASS, "the IOMMU passes the host's own devices through");
	} else if (pr_usable_gpus(h) + h->amd.n < 2 && !h->rdma.n) {
		pr_set(f, PR_PASS, "the IOMMU translates, which does not affect a single GPU without RDMA");
	} else {
		pr_set(f, PR_WARN,
		       "the IOMMU translates every access of the host's own devices: copies between GPUs are slow, wrong or hang");
		iommu_remedy(h, f);
	}
}
const struct pr_check pr_check_iommu = {
	.id = "pcie.iommu",
	.title = "the IOMMU translates accesses of the host's own devices",
	.story = "On bare metal a translating IOMMU slows direct copies between two GPUs. With iommu=pt, accesses of "
		 "the host's own devices are not translated, and devices of virtual machines stay isolated.",
	.messages = "Missing \"iommu=pt\" from kernel command line which can lead to system instablity or hang!\n"
		    "P2P returns wrong data\nNCCL hangs at the first all-reduce\nP2P access is possible but the copied "
		    "data differs",
	.run = iommu,
};

static void bar1(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t n_checked = 0;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		const struct pr_gpu *g = &h->gpu[i];
		int64_t window = pr_or(g->bar1_bytes, pr_or(g->pci->bar1_bytes, 0));
		char small[32], whole[32];

		if (!window || !pr_has(g->memory_bytes))
			continue;
		n_checked++;
		/* workstation GPUs have 256 MiB unless the firmware resizes it; this slows down GPUs with 16 GiB and more */
		if (window >= g->memory_bytes.v / 2 || g->memory_bytes.v < INT64_C(15) << 30)
			continue;
		gt_format_bytes(small, sizeof(small), (uint64_t)window);
		gt_format_bytes(whole, sizeof(whole), (uint64_t)g->memory_bytes.v);
		pr_set(f, PR_WARN,
		       "other devices access GPU %s through a window of %s to its %s: peer copies and GPUDirect are limited "
		       "or impossible",
		       g->pci->address, small, whole);
		pr_remedy(f, "Enable \"Above 4G decoding\" and \"Resizable BAR\" in the firmware");
		return;
	}
	pr_set(f, n_checked ? PR_PASS : PR_SKIP,
	       n_checked ? "other devices can access all memory of each GPU" : "the size of the memory window is unknown");
}
const struct pr_check pr_check_bar1 = {
	.id = "gpu.bar1",
	.title = "BAR1 covers only a part of the GPU's memory",
	.story = "Other devices reach a GPU's memory through its BAR1. If the firmware maps only 256 MiB of it, "
		 "GPUDirect RDMA "
		 "and peer-to-peer copies work on a small part or not at all.",
	.messages = "BAR 1: no space for\nBAR 1: failed to assign\nNVRM: This PCI I/O region assigned to your NVIDIA "
		    "device is invalid",
	.run = bar1,
};

static void p2p(const struct pr_context *c, struct pr_finding *f)
{
	static const char *const why[] = {[1] = "the chipset does not support it",
					  [2] = "the GPUs do not support it",
					  [3] = "the way goes through the I/O hub",
					  [4] = "it is switched off by a registry key",
					  [5] = "it is not supported"};
	const struct pr_host *h = c->host;
	int64_t r = pr_or(h->nvml.p2p_status, 0);

	if (pr_without_gpu(c, f))
		return;
	if (!pr_has(h->nvml.p2p_status))
		pr_set(f, PR_SKIP, pr_usable_gpus(h) < 2 ? "one GPU" : "NVML does not report it");
	else if (!r)
		pr_set(f, PR_PASS, "every GPU can read the memory of every other");
	else
		pr_set(f, PR_PASS,
		       "not every GPU can read the memory of every other (%s): NCCL uses host memory, as it must with such GPUs",
		       r < (int64_t)GT_ARRAY_SIZE(why) && r > 0 ? why[r] : "NVML gives no reason");
}
const struct pr_check pr_check_p2p = {
	.id = "gpu.p2p",
	.title = "GPUs cannot copy directly to each other",
	.after = (const char *const[]){"nvml.answers", NULL},
	.story = "GeForce GPUs have no peer-to-peer over PCIe, and some chipsets do not support it. NCCL uses shared "
		 "memory instead. This is no fault, and NCCL_P2P_DISABLE=1 changes nothing.",
	.messages = "P2P/CNS/chipset not supported\nP2P is disabled between connected GPUs\nPeer access is not "
		    "supported between "
		    "these two devices",
	.run = p2p,
};
