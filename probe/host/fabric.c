/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the GPUs: NVSwitch and Fabric Manager, IOMMU and ACS, the container runtime, the module for RDMA. */
#include <stdio.h>
#include <string.h>
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
	h->fabric.manager = find_manager(fs, h);
	h->fabric.char_links = exists(fs, "/dev/char/195:255");
	find_runtime(fs, h);
}
