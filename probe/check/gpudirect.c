/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUDirect RDMA: network cards access the memory of GPUs, through a peer memory module or by DMA-BUF. Sources:
 * "GPUDirect RDMA Prerequisites" in the documentation of NVIDIA's GPU Operator; nvidia-peermem.c and nv-dmabuf.c of
 * NVIDIA/open-gpu-kernel-modules; net_ib/gdr.cc, graph/paths.cc and "NCCL_NET_GDR_LEVEL" of NCCL 2.30; misc/rocmwrap.cc and
 * transport/net_ib of RCCL; Linux: mlx5_ib_reg_user_mr_dmabuf(), which needs on-demand paging, and the commits
 * 66f4817b5712 (efa, 5.16) and d2225b838cca (irdma, 6.3).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/check/check.h"
#include "probe/check/list.h"
#include "probe/topo/topo.h"

static const char *const after_loaded[] = { "driver.loaded", NULL };

/* What is known about a requirement. */
enum known { MISSING, UNCLEAR, MET };

static const struct pr_pci *find_pci(const struct pr_host *h, const char *address)
{
	for (size_t i = 0; *address && i < h->n_pci; i++)
		if (!strcmp(h->pci[i].address, address))
			return &h->pci[i];
	return NULL;
}

/* Returns the index of the next RDMA device on PCI from i on, or the number of devices. Others are software (rxe, siw). */
static size_t next_card(const struct pr_host *h, size_t i)
{
	while (i < h->rdma.n && !find_pci(h, h->rdma_pci.v[i]))
		i++;
	return i;
}

/* NVIDIA supports GPUDirect RDMA on data center and professional GPUs, not on GeForce and GB10 (DGX Spark; forum posts
 * 348787 and 352051). */
static bool excluded(const char *name)
{
	return strstr(name, "GeForce") || gt_ends_with(name, "GB10");
}

/* Returns whether a GPU has GPUDirect RDMA. */
static enum known model(const struct pr_host *h)
{
	enum known best = MISSING;

	for (size_t i = 0; i < h->n_gpu; i++)
		if (!h->gpu[i].inaccessible)
			best = GT_MAX(best, !h->gpu[i].name.v ? UNCLEAR : excluded(h->gpu[i].name.v) ? MISSING : MET);
	return best;
}

/* ---- DMA-BUF --------------------------------------------------------------------------------------------------- */

/* Sets the reason unless the option is set. */
static enum known option(const struct pr_host *h, enum pr_dmabuf_option o, char *why, size_t size)
{
	const struct pr_gpudirect *g = &h->fabric.gpudirect;

	if (g->config != PR_PRESENT)
		snprintf(why, size, "the configuration of the kernel is %s (/boot/config-%s or /proc/config.gz)",
			 pr_state_name(g->config), h->kernel.release.v ? h->kernel.release.v : "*");
	else if (!pr_has(g->option[o]))
		snprintf(why, size, "the configuration of the kernel does not contain %s", pr_dmabuf_option_names[o]);
	else
		snprintf(why, size, "the kernel was built without %s", pr_dmabuf_option_names[o]);
	return pr_or(g->option[o], 0) ? MET : pr_has(g->option[o]) ? MISSING : UNCLEAR;
}

/* Compares the running kernel. Distributions with the release "elN" add new RDMA code to old kernels. */
static enum known since(const struct pr_host *h, const char *version, char *why, size_t size)
{
	const char *release = h->kernel.release.v;

	if (!release) {
		snprintf(why, size, "the version of the kernel is unknown");
		return UNCLEAR;
	}
	if (gt_version_cmp(release, version) >= 0)
		return MET;
	snprintf(why, size, "Linux %s or newer is needed, and %s runs", version, release);
	return strstr(release, ".el") ? UNCLEAR : MISSING;
}

/* Returns whether the driver of a network card registers memory by DMA-BUF. */
static enum known card(const struct pr_host *h, size_t rdma, char *why, size_t size)
{
	const struct pr_pci *d = find_pci(h, h->rdma_pci.v[rdma]);
	const char *driver = d->driver.v ? d->driver.v : "";
	enum known k;

	if (!strcmp(driver, "mlx5_core"))
		return option(h, pr_has(h->fabric.gpudirect.ofed) ? PR_DMA_SHARED_BUFFER : PR_INFINIBAND_ON_DEMAND_PAGING, why,
			      size);
	if (strcmp(driver, "efa") && strcmp(driver, "irdma") && strcmp(driver, "ice") && strcmp(driver, "i40e")) {
		snprintf(why, size, "it is not known whether %s%sthe driver of %s%s registers memory by DMA-BUF", driver,
			 *driver ? ", " : "", h->rdma.v[rdma], *driver ? "," : "");
		return UNCLEAR;
	}
	k = since(h, strcmp(driver, "efa") ? "6.3" : "5.16", why, size);
	return k == MET ? option(h, PR_INFINIBAND_USER_MEM, why, size) : k;
}

/* Returns the best answer of all network cards, because a host can have slow ones for its management. */
static enum known best_card(const struct pr_host *h, char *why, size_t size)
{
	enum known best = MISSING;

	for (size_t i = next_card(h, 0); i < h->rdma.n && best != MET; i = next_card(h, i + 1)) {
		char reason[160] = "";
		enum known k = card(h, i, reason, sizeof(reason));

		if (k > best || !*why)
			snprintf(why, size, "%s", reason);
		best = GT_MAX(best, k);
	}
	return best;
}

/* Returns whether the GPUs and the network cards can share memory by DMA-BUF; sets the reason unless they can. */
static enum known nvidia_dmabuf(const struct pr_host *h, char *why, size_t size)
{
	enum known k;

	if (!h->driver.module_text.v) {
		snprintf(why, size, "the flavour of the nvidia module is unknown");
		return UNCLEAR;
	}
	if (!h->driver.open_module) {
		snprintf(why, size, "the loaded nvidia module is not the open one");
		return MISSING;
	}
	k = since(h, "5.12", why, size);
	if (k == MET)
		k = best_card(h, why, size);
	if (k == MET && model(h) == UNCLEAR) {
		snprintf(why, size, "the model of a GPU is unknown, and GeForce GPUs and GB10 do not support it");
		return UNCLEAR;
	}
	return k;
}

static enum known amd_dmabuf(const struct pr_host *h, char *why, size_t size)
{
	enum known k = since(h, "5.12", why, size);

	if (k == MET)
		k = option(h, PR_DMABUF_MOVE_NOTIFY, why, size);
	if (k == MET)
		k = option(h, PR_PCI_P2PDMA, why, size);
	return k == MET ? best_card(h, why, size) : k;
}

/* ---- access ---------------------------------------------------------------------------------------------------- */

static void unclear(const struct pr_host *h, struct pr_finding *f, const char *module, const char *why)
{
	bool hidden = h->container.v && h->fabric.gpudirect.config == PR_ABSENT; /* a container has its own /boot */

	pr_set(f, hidden ? PR_SKIP : PR_NOT_KNOWN, "%s, and it is unknown whether DMA-BUF replaces it: %s", module, why);
}

static void nvidia_access(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char why[200] = "";
	enum known dmabuf = nvidia_dmabuf(h, why, sizeof(why));

	/* amzn-drivers, kernel/linux/efa/src/efa_p2p.c */
	if (dmabuf == MISSING && pr_has_efa(h)) {
		dmabuf = UNCLEAR;
		snprintf(why, sizeof(why), "Amazon's own EFA driver needs neither, and the kernel's driver has the same name");
	}
	if (pr_has(h->fabric.peermem)) {
		pr_set(f, PR_PASS, "nvidia_peermem is loaded");
	} else if (dmabuf == MET) {
		pr_set(f, PR_PASS, "GPUs and network cards share memory by DMA-BUF");
	} else if (dmabuf == UNCLEAR) {
		unclear(h, f, "nvidia_peermem is not loaded", why);
	} else {
		pr_set(f, PR_WARN, "%s cannot access GPU memory: nvidia_peermem is not loaded, and DMA-BUF is not available: %s",
		       h->rdma.v[next_card(h, 0)], why);
		pr_remedy(f, "%s  modprobe nvidia-current-peermem || modprobe nvidia-peermem\nand for every boot:\n  "
			     "echo nvidia-peermem > /etc/modules-load.d/nvidia-peermem.conf%s",
			  pr_has(h->fabric.gpudirect.ofed) ? "" :
			     "The module loads only if the RDMA drivers have the interface for it, as those of MLNX_OFED, "
			     "DOCA-OFED and some distributions:\n",
			  h->driver.open_module || pr_has(h->fabric.gpudirect.ofed) ? "" :
			     "\nIf modprobe prints \"Invalid argument\", use DMA-BUF: it needs Linux 5.12, a GPU from Turing on, "
			     "and the open nvidia module:\n  @{driver-open}");
	}
}

static void amd_access(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	char why[200] = "";
	enum known dmabuf = amd_dmabuf(h, why, sizeof(why));

	if (pr_has(h->fabric.gpudirect.amd_peers)) {
		pr_set(f, PR_PASS, "amdkfd is registered with the RDMA drivers");
	} else if (dmabuf == MET) {
		pr_set(f, PR_PASS, "GPUs and network cards share memory by DMA-BUF. Some versions of RCCL use it only with "
				   "NCCL_DMABUF_ENABLE=1");
	} else if (dmabuf == UNCLEAR || pr_has(h->fabric.gpudirect.ofed)) {
		unclear(h, f, "amdkfd is not registered with the RDMA drivers", why);
	} else {
		pr_set(f, PR_WARN, "%s cannot access GPU memory: amdkfd is not registered with the RDMA drivers, and DMA-BUF is "
				   "not available: %s", h->rdma.v[next_card(h, 0)], why);
		pr_remedy(f, "Use a kernel with CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA. This prints what it has:\n"
			     "  grep -e DMABUF_MOVE_NOTIFY -e PCI_P2PDMA /boot/config-$(uname -r)");
	}
}

static void access_to_memory(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;

	if (next_card(h, 0) == h->rdma.n) {
		pr_set(f, PR_SKIP, "no InfiniBand or RoCE card");
	} else if (pr_amd_usable(h)) {
		amd_access(c, f);
	} else if (!pr_without_driver(c, f)) {
		if (model(h) == MISSING)
			pr_set(f, PR_SKIP, "GeForce GPUs have no GPUDirect RDMA: NCCL sends their data through host memory");
		else
			nvidia_access(c, f);
	}
}
const struct pr_check pr_check_peermem = {
	.id = "rdma.peermem",
	.title = "network cards cannot access GPU memory",
	.after = after_loaded,
	.story = "GPUDirect RDMA needs a peer memory module or DMA-BUF. The module nvidia_peermem loads only with RDMA drivers "
		 "that have the interface for it, such as MLNX_OFED and DOCA-OFED. DMA-BUF needs Linux 5.12, the open nvidia "
		 "module and on-demand paging in the kernel's RDMA code. For AMD GPUs, RCCL requires CONFIG_DMABUF_MOVE_NOTIFY and "
		 "CONFIG_PCI_P2PDMA. Without both, every message is copied through host memory. NCCL reports this only in its "
		 "debug output.",
	.messages = "NET/IB : GPU Direct RDMA Disabled\nGPU Direct RDMA Disabled for HCA 0 'mlx5_0'",
	.run = access_to_memory,
};

/* ---- distance -------------------------------------------------------------------------------------------------- */

static const char *const paths[] = { "LOC", "PIX", "PXB", "PHB", "NODE", "SYS" }; /* in NCCL's order */
enum { LOC, PIX, PXB, PHB, NODE, SYS, FAR };				      /* indices of paths; FAR: no path */

static int rank_of(const char *path)
{
	for (int i = 0; i < FAR; i++)
		if (!strcmp(paths[i], path))
			return i;
	return FAR;
}

/* Returns the rank of the path to the nearest active network card; FAR: no path is known. */
static int nearest(const struct pr_host *h, const struct pr_gpu *g)
{
	int best = FAR;

	for (size_t i = 0; i < h->rdma_ports.n; i++) {
		const struct pr_rdma_port *p = &h->rdma_ports.port[i];
		const struct pr_pci *d = find_pci(h, p->pci);
		const char *from;

		if (d && pr_or(p->state, 0) == PR_RDMA_ACTIVE)
			best = GT_MIN(best, rank_of(pr_pcie_path(h, g->pci, d, &from)));
	}
	return best;
}

/* Returns the rank of the longest path that a value of NCCL_NET_GDR_LEVEL allows, or -1 if NCCL ignores the value. Source:
 * ncclGetLevel() in graph/paths.cc. NCCL does not distinguish NODE from PHB. */
static int level_rank(const char *value)
{
	static const struct {
		const char *name;
		int rank;
	} names[] = { { "LOC", LOC }, { "NVL", LOC }, { "NVB", LOC }, { "C2C", LOC }, { "PIX", PIX },
		      { "PXB", PXB }, { "P2C", PXB }, { "PXN", PXB }, { "PHB", NODE }, { "SYS", SYS } };
	static const int numbers[] = { LOC, PIX, PXB, NODE, SYS };

	for (size_t i = 0; i < GT_ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i].name))
			return names[i].rank;
	if (*value < '0' || *value > '9')
		return -1;
	return numbers[GT_MIN(strtoul(value, NULL, 0), GT_ARRAY_SIZE(numbers) - 1)];
}

/* Returns the value of the first line NAME=VALUE. Like NCCL, it does not remove spaces. */
static char *conf_value(const char *conf, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = conf; line && *line; line = gt_next_line(line))
		if (!strncmp(line, name, n) && line[n] == '=')
			return gt_xstrndup(line + n + 1, strcspn(line + n + 1, "\r\n"));
	return NULL;
}

char *pr_nccl_setting(const struct pr_host *h, const char *name, const char **from)
{
	const char *value = pr_getenv(h, name);

	*from = value ? "in the environment" : "in /etc/nccl.conf";
	return value ? gt_xstrdup(value) : conf_value(h->nccl_conf.v, name);
}

static bool has_active_card(const struct pr_host *h)
{
	for (size_t i = 0; i < h->rdma_ports.n; i++)
		if (pr_or(h->rdma_ports.port[i].state, 0) == PR_RDMA_ACTIVE && find_pci(h, h->rdma_ports.port[i].pci))
			return true;
	return false;
}

/* Sets the finding for n GPUs, of which near have a card within NCCL's level. */
static void judge_distance(const struct pr_host *h, struct pr_finding *f, size_t near, size_t n, int worst)
{
	const char *from;
	gt_autofree char *value = pr_nccl_setting(h, "NCCL_NET_GDR_LEVEL", &from);
	char within[120] = "below the same PCIe switch", ignored[120] = "";

	if (value && level_rank(value) < 0)
		snprintf(ignored, sizeof(ignored), ". NCCL ignores the value NCCL_NET_GDR_LEVEL=%.40s %s", value, from);
	else if (value)
		snprintf(within, sizeof(within), "within NCCL_NET_GDR_LEVEL=%.40s %s", value, from);
	if (!n)
		pr_set(f, PR_SKIP, "no usable GPU");
	else if (near < n)
		pr_set(f, PR_PASS, "%zu of %zu GPUs have a network card %s. For the others (%s), NCCL sends data through a near "
				   "GPU with NVLink, else through host memory%s", near, n, within, paths[worst], ignored);
	else if (value && !*ignored)
		pr_set(f, PR_PASS, "each GPU has a network card %s. The longest path is %s", within, paths[worst]);
	else
		pr_set(f, PR_PASS, "each GPU has a network card %s (%s), near enough for GPUDirect RDMA by NCCL's default%s",
		       within, paths[worst], ignored);
}

/* Returns the rank of the longest path on which NCCL uses GPUDirect RDMA. */
static int most_distant(const struct pr_host *h)
{
	const char *from;
	gt_autofree char *value = pr_nccl_setting(h, "NCCL_NET_GDR_LEVEL", &from);
	int rank = value ? level_rank(value) : -1;

	return rank < 0 ? PXB : rank;
}

static void distance(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	size_t near = 0, n = 0;
	int worst = 0, most = most_distant(h);

	if (pr_without_driver(c, f))
		return;
	if (!has_active_card(h)) {
		pr_set(f, PR_SKIP, "no active InfiniBand or RoCE port");
		return;
	}
	if (h->virt.state == PR_PRESENT || pr_gpu_memory_is_node(h) || model(h) == MISSING) {
		pr_set(f, PR_SKIP, h->virt.state == PR_PRESENT ? "a virtual machine does not show the PCIe switches of its host" :
				   model(h) == MISSING ? "GeForce GPUs and GB10 have no GPUDirect RDMA" :
				   "NCCL 2.27 and newer reach network cards through the processor (NVLink-C2C)");
		return;
	}
	for (size_t i = 0; i < h->n_gpu; i++) {
		int rank = h->gpu[i].inaccessible ? -1 : nearest(h, &h->gpu[i]);

		if (rank < 0)
			continue;
		if (rank == FAR) {
			pr_set(f, PR_NOT_KNOWN, "the path between GPU %s and the network cards is unknown", h->gpu[i].pci->address);
			return;
		}
		n++;
		near += rank <= most;
		worst = GT_MAX(worst, rank);
	}
	judge_distance(h, f, near, n, worst);
}
const struct pr_check pr_check_rdma_distance = {
	.id = "rdma.distance",
	.title = "network cards are far from GPUs",
	.after = after_loaded,
	.story = "NCCL uses GPUDirect RDMA if only PCIe switches are between a GPU and a network card (paths PIX and PXB). This is "
		 "a property of the hardware and no fault. NCCL_NET_GDR_LEVEL=PHB or SYS also allows longer paths, which is "
		 "faster on some hosts and slower on others. Measure both. gpuprobe reads the variable from the environment, then "
		 "from /etc/nccl.conf. gpuprobe topo prints all paths.",
	.run = distance,
};
