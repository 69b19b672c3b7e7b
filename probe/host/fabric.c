/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the GPUs: NVSwitch and Fabric Manager, IOMMU and ACS, the container runtime, the module for RDMA. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/host/reading.h"

static struct pr_num exists(struct gt_fsroot *fs, const char *path)
{
	return gt_fs_exists(fs, path) ? pr_value(1) : (struct pr_num){PR_ABSENT, 0};
}

/* ---- IOMMU ---------------------------------------------------------------------------------------------------- */

/* Returns whether two devices are below one switch upstream port: "…/0000:17:00.0/0000:18:00.0/0000:19:00.0". */
static bool same_switch(const struct pr_pci *a, const struct pr_pci *b)
{
	const char *path[2] = {a->path, b->path}, *root = strchr(a->path + GT_MIN(strlen(a->path), 16), '/');
	size_t up[2];

	if (!gt_starts_with(a->path, "/sys/devices/pci") || !gt_starts_with(b->path, "/sys/devices/pci"))
		return false;
	for (int k = 0; k < 2; k++) {
		const char *dev = strrchr(path[k], '/'), *port;

		if (!dev)
			return false;
		for (port = dev - 1; port > path[k] && *port != '/';)
			port--;
		up[k] = (size_t)(port - path[k]);
	}
	/* a bridge above means a switch port; above a root port is the root complex */
	return up[0] == up[1] && !strncmp(path[0], path[1], up[0]) && root < path[0] + up[0];
}

void pr_discover_iommu(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *cmdline = h->kernel.cmdline.v ? h->kernel.cmdline.v : "";
	gt_auto_strv names = {0};
	int64_t group = -1;

	gt_fs_list(fs, "/sys/class/iommu", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("/sys/class/iommu/%s", names.v[i]);

		if (gt_fs_exists(fs, path))
			h->iommu.on = pr_value(1);
	}
	for (size_t i = 0; i < h->n_pci && group < 0; i++)
		if (pr_is_peer(&h->pci[i]) && pr_has(h->pci[i].iommu_group))
			group = h->pci[i].iommu_group.v;
	if (group >= 0) {
		struct pr_str type = pr_read_str(h, fs, "/sys/kernel/iommu_groups/%d/type", (int)group);

		h->iommu.on = pr_value(1);
		if (type.v)
			h->iommu.passthrough = pr_value(!strcmp(type.v, "identity"));
	}
	if (!pr_has(h->iommu.passthrough) &&
	    (gt_word_in(cmdline, " ,;", "iommu=pt") || gt_word_in(cmdline, " ,;", "iommu.passthrough=1")))
		h->iommu.passthrough = pr_value(1);
	for (size_t i = 0; i < h->n_pci; i++)
		for (size_t k = i + 1; k < h->n_pci; k++) {
			const struct pr_pci *a = &h->pci[i], *b = &h->pci[k];

			h->iommu.split += pr_is_peer(a) && pr_is_peer(b) && same_switch(a, b) && pr_has(a->iommu_group) &&
					  pr_has(b->iommu_group) && a->iommu_group.v != b->iommu_group.v;
		}
}

/* ---- container runtime --------------------------------------------------------------------------------------- */

static bool has_entries(struct gt_fsroot *fs, const char *dir, const char *suffix)
{
	gt_auto_strv names = {0};

	gt_fs_list(fs, dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);

		if (gt_ends_with(names.v[i], suffix) && strstr(names.v[i], "nvidia") && gt_fs_exists(fs, path))
			return true;
	}
	return false;
}

static void find_runtime(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *text = NULL;

	h->container_runtime.docker = exists(fs, "/usr/bin/dockerd");
	if (!pr_has(h->container_runtime.docker))
		h->container_runtime.docker = exists(fs, "/usr/sbin/dockerd");
	h->container_runtime.toolkit = exists(fs, "/usr/bin/nvidia-ctk");
	h->container_runtime.configured = pr_value(0);
	if (gt_fs_read_prefix(fs, "/etc/docker/daemon.json", 65536, &text, NULL) >= 0 && strstr(text, "nvidia"))
		h->container_runtime.configured = pr_value(1);
	if (has_entries(fs, "/etc/cdi", ".yaml") || has_entries(fs, "/var/run/cdi", ".yaml") ||
	    has_entries(fs, "/etc/cdi", ".json"))
		h->container_runtime.configured = pr_value(1);
}

/* ---- GPUDirect RDMA ------------------------------------------------------------------------------------------ */

#define CONFIG_MOST (4 << 20) /* maximum size of a configuration in bytes; distributions have 300 KiB */

const char *const pr_dmabuf_option_names[PR_DMABUF_OPTIONS] = {
	[PR_DMA_SHARED_BUFFER] = "CONFIG_DMA_SHARED_BUFFER",
	[PR_DMABUF_MOVE_NOTIFY] = "CONFIG_DMABUF_MOVE_NOTIFY",
	[PR_PCI_P2PDMA] = "CONFIG_PCI_P2PDMA",
	[PR_INFINIBAND_USER_MEM] = "CONFIG_INFINIBAND_USER_MEM",
	[PR_INFINIBAND_ON_DEMAND_PAGING] = "CONFIG_INFINIBAND_ON_DEMAND_PAGING",
};

/* Takes a line like "CONFIG_PCI_P2PDMA=y" or "# CONFIG_PCI_P2PDMA is not set". */
static void take_option(struct pr_gpudirect *g, const char *line)
{
	bool comment = gt_starts_with(line, "# ");
	const char *name = line + (comment ? 2 : 0);

	for (size_t i = 0; i < PR_DMABUF_OPTIONS; i++) {
		size_t n = strlen(pr_dmabuf_option_names[i]);

		if (strncmp(name, pr_dmabuf_option_names[i], n))
			continue;
		if (!comment && (!strcmp(name + n, "=y") || !strcmp(name + n, "=m")))
			g->option[i] = pr_value(1);
		else if (comment && !strcmp(name + n, " is not set"))
			g->option[i] = pr_value(0);
	}
}

/* Reads a plain or compressed configuration. Returns 0 or a negative errno; -EBADMSG: it is no complete configuration. */
static int read_config(struct gt_fsroot *fs, struct pr_gpudirect *g, const char *path)
{
	int fd = gt_fs_open_part(fs, path), error = Z_OK;
	gzFile z = fd < 0 ? NULL : gzdopen(fd, "rb"); /* owns fd; reads uncompressed files, too */
	size_t total = 0, options = 0;
	char line[512];

	if (!z && fd >= 0)
		close(fd);
	if (!z)
		return fd < 0 ? fd : -ENOMEM;
	while (total < CONFIG_MOST && gzgets(z, line, sizeof(line))) {
		total += strlen(line);
		line[strcspn(line, "\n")] = '\0';
		options += gt_starts_with(line, "CONFIG_");
		take_option(g, line);
	}
	gzerror(z, &error);
	if (!options || (error != Z_OK && error != Z_STREAM_END) || !gzeof(z))
		error = Z_DATA_ERROR;
	gzclose(z);
	return error == Z_DATA_ERROR ? -EBADMSG : 0;
}

static void find_config(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *release = h->kernel.release.v ? h->kernel.release.v : "";
	gt_autofree char *boot = gt_xasprintf("/boot/config-%s", release), *fact = NULL;
	gt_autofree char *modules = gt_xasprintf("/lib/modules/%s/config", release);
	const char *const paths[] = { boot, modules, "/proc/config.gz" };
	struct pr_gpudirect *g = &h->fabric.gpudirect;

	g->config = PR_ABSENT;
	if (gt_fs_fact(fs, "kernel_config", &fact, NULL) >= 0) {
		gt_each_line(line, fact)
			take_option(g, line);
		g->config = PR_PRESENT;
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(paths) && g->config != PR_PRESENT; i++) {
		int r = read_config(fs, g, paths[i]);

		if (r != -ENOENT)
			g->config = pr_state_of(r);
	}
}

void pr_discover_gpudirect(struct gt_fsroot *fs, struct pr_host *h)
{
	static const char *const amd[] = { "/sys/kernel/mm/memory_peers/amdkfd/version", "/sys/kernel/memory_peers/amdkfd/version",
					  "/sys/memory_peers/amdkfd/version" }; /* RCCL looks for these three */
	struct pr_gpudirect *g = &h->fabric.gpudirect;
	bool recording;

	for (size_t i = 0; i < PR_DMABUF_OPTIONS; i++)
		g->option[i].state = PR_ABSENT;
	if (!h->rdma.n || (!h->n_gpu && !h->amd.n))
		return;
	g->ofed = exists(fs, "/sys/module/mlx_compat"); /* a module that only these drivers have */
	for (size_t i = 0; i < GT_ARRAY_SIZE(amd) && !pr_has(g->amd_peers); i++)
		g->amd_peers = exists(fs, amd[i]);
	recording = gt_fs_pause_recording(fs); /* a capture has the fact */
	find_config(fs, h);
	if (recording)
		gt_fs_record(fs);
}

char *pr_kernel_config_fact(const struct pr_host *h)
{
	const struct pr_gpudirect *g = &h->fabric.gpudirect;
	struct gt_buf b = { 0 };

	if (g->config != PR_PRESENT)
		return NULL;
	gt_buf_puts(&b, "# options of the kernel's configuration\n"); /* the fact exists even if the kernel has none of them */
	for (size_t i = 0; i < PR_DMABUF_OPTIONS; i++)
		if (pr_has(g->option[i]))
			gt_buf_printf(&b, g->option[i].v ? "%s=y\n" : "# %s is not set\n", pr_dmabuf_option_names[i]);
	return gt_buf_take(&b);
}

json_t *pr_gpudirect_json(const struct pr_gpudirect *g)
{
	json_t *options = json_object();

	for (size_t i = 0; i < PR_DMABUF_OPTIONS; i++)
		json_object_set_new(options, pr_dmabuf_option_names[i], pr_num_json(g->option[i]));
	return json_pack("{s:o, s:o, s:s, s:o}", "ofed", pr_num_json(g->ofed), "amd_peers", pr_num_json(g->amd_peers),
			 "kernel_config", pr_state_name(g->config), "options", options);
}

/* ---- other parts --------------------------------------------------------------------------------------------- */

/* Finds the process by its pid file. Checks the process name, because the file may remain after the process died. */
static struct pr_num find_manager(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_num pid = pr_read_num(fs, "/run/nvidia-fabricmanager/nv-fabricmanager.pid");
	struct pr_str comm;

	if (!pr_has(pid))
		return (struct pr_num){pid.state == PR_UNREADABLE ? PR_UNREADABLE : PR_ABSENT, 0};
	comm = pr_read_str(h, fs, "/proc/%d/comm", (int)pid.v);
	return comm.v && gt_starts_with(comm.v, "nv-fabricmanag") ? pr_value(1) : (struct pr_num){PR_ABSENT, 0};
}

void pr_discover_fabric(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_str hmm = pr_read_str(h, fs, "/sys/module/nvidia_uvm/parameters/uvm_disable_hmm");

	for (size_t i = 0; i < h->n_pci; i++)
		h->fabric.n_switch += h->pci[i].vendor == 0x10de && h->pci[i].class_code >> 8 == 0x0680;
	h->fabric.hmm = hmm.v ? pr_value(*hmm.v == 'N' || *hmm.v == '0') : (struct pr_num){hmm.state, 0};
	h->fabric.peermem = exists(fs, "/sys/module/nvidia_peermem/version");
	if (!pr_has(h->fabric.peermem)) /* the older module nv_peer_mem */
		h->fabric.peermem = exists(fs, "/sys/kernel/mm/memory_peers/nv_mem/version");
	h->fabric.manager = find_manager(fs, h);
	h->fabric.char_links = exists(fs, "/dev/char/195:255");
	find_runtime(fs, h);
}
