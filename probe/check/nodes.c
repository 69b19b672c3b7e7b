/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the driver's nodes in /dev: existence, permissions, device numbers. */
#include <stdio.h>
#include <string.h>
#include "probe/check/check.h"
#include "probe/check/list.h"

static bool inside(const struct pr_host *h)
{
	return h->container.state == PR_PRESENT;
}

/* ---- existence and permissions -------------------------------------------------------------------------------- */

static void device_nodes(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	struct pr_num node = h->driver.device_node;

	if (pr_without_gpu(c, f))
		return;
	if (h->driver.module_version.state != PR_PRESENT && !inside(h)) {
		pr_set(f, PR_SKIP, "without the module there are no device nodes");
	} else if (node.state == PR_PRESENT) {
		pr_set(f, PR_PASS, "/dev/nvidiactl can be opened");
	} else if (node.state == PR_UNREADABLE) {
		pr_set(f, PR_FAIL, "/dev/nvidiactl exists, but this user may not open it");
		pr_remedy(f, "Then log in again:\n  sudo usermod -aG video \"$USER\"");
	} else if (h->platform.driver_root) {
		pr_set(f, PR_SKIP,
		       "the driver runs in a container; its device nodes are in " PR_DRIVER_ROOT
		       "/dev, for other containers");
	} else if (inside(h)) {
		pr_set(f, PR_FAIL, "/dev/nvidiactl is absent from this container (%s)", h->container.v);
		pr_remedy(f, "%s", pr_give_devices(h));
	} else {
		pr_set(f, PR_FAIL, "/dev/nvidiactl is absent although the module is loaded");
		pr_remedy(f, "  @{nvidia-modprobe} && nvidia-modprobe -c 0 -u");
	}
}
static const char *const after_given[] = { "driver.loaded", "container.devices", "container.lost-gpu", NULL };
const struct pr_check pr_check_device_nodes = {
	.id = "driver.device-nodes",
	.title = "/dev/nvidiactl cannot be opened",
	.after = after_given,
	.story = "CUDA accesses the driver through /dev/nvidiactl, /dev/nvidia-uvm and one node per GPU (/dev/nvidia0 and "
		 "so on). nvidia-modprobe creates these device nodes. An administrator can restrict them to a group "
		 "(NVreg_DeviceFileGID). A container must be started with these nodes.",
	.messages = "Failed to initialize NVML: Insufficient Permissions\nUnable to determine the device handle for GPU",
	.run = device_nodes,
};

/* ---- device numbers ------------------------------------------------------------------------------------------- */

/* Returns the severity: no CUDA program works without the first nodes, and none on a MIG instance without nvidia-caps. */
static enum pr_result severity(const struct pr_host *h, const struct pr_devnode *n)
{
	if (!strcmp(n->kind, "nvidia") || !strcmp(n->kind, "nvidiactl") || !strcmp(n->kind, "nvidia-uvm"))
		return PR_FAIL;
	for (size_t i = 0; i < h->n_gpu && !strcmp(n->kind, "nvidia-caps"); i++)
		if (pr_or(h->gpu[i].mig, 0))
			return PR_FAIL;
	return PR_WARN;
}

/* Returns whether the node has a wrong number. A host loads nvidia_uvm on first use; a container cannot. */
static bool is_stale(const struct pr_host *h, const struct pr_devnode *n)
{
	if (pr_has(n->now))
		return n->now.v != n->major;
	return !strcmp(n->path, "/dev/nvidia-uvm") && (inside(h) || !pr_has(h->driver.modprobe));
}

static void remedy_numbers(const struct pr_host *h, const struct pr_devnode *n, struct pr_finding *f)
{
	if (inside(h))
		pr_remedy(f, "On the machine that runs this container:\n  nvidia-modprobe -u -c=0\n"
			     "Only with CDI:\n  nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml\n"
			     "Only under LXC: write the current number into lxc.cgroup2.devices.allow. Then restart the "
			     "container.");
	else if (!strcmp(n->kind, "nvidia-caps"))
		pr_remedy(f, "  rm -r /dev/nvidia-caps\n"
			     "  find /proc/driver/nvidia/capabilities -type f -exec nvidia-modprobe -f {} ';'");
	else if (gt_starts_with(n->kind, "nvidia-caps-imex"))
		pr_remedy(f, "  rm %s\n  mknod -m 666 %s c %u %u", n->path, n->path, (unsigned)n->now.v, n->minor);
	else
		pr_remedy(f, "%s  nvidia-modprobe -u -c=0%s\nThis recreates a node with a wrong number. If the number is wrong "
			     "again after the next boot, find the script that creates the nodes:\n"
			     "  grep -rsn mknod /etc/udev/rules.d /etc/rc.local",
			  pr_has(h->driver.modprobe) ? "" : "  @{nvidia-modprobe}\n",
			  gt_starts_with(n->path, "/dev/nvidia-modeset") ? " -m" : "");
}

static void device_numbers(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	const struct pr_devnode *bad = NULL;

	if (pr_without_driver(c, f))
		return;
	for (size_t i = 0; i < h->device_nodes.n_node; i++) {
		const struct pr_devnode *n = &h->device_nodes.node[i];

		if (is_stale(h, n) && (!bad || severity(h, n) > severity(h, bad)))
			bad = n;
	}
	if (!h->device_nodes.n_node) {
		pr_set(f, PR_SKIP, "the numbers of the device nodes are unknown");
	} else if (!bad) {
		pr_set(f, PR_PASS, "the device nodes have the driver's numbers");
	} else if (!pr_has(bad->now) && inside(h)) {
		pr_set(f, PR_FAIL, "%s belongs to no driver: nvidia_uvm is not loaded on the machine that runs this "
				   "container, and CUDA fails with error 999", bad->path);
		pr_remedy(f, "On the machine that runs this container:\n  nvidia-modprobe -u -c=0\nThen restart the container.");
	} else if (!pr_has(bad->now)) {
		pr_set(f, PR_WARN, "nvidia_uvm is not loaded, and without nvidia-modprobe only root's programs can load it: "
				   "for others CUDA fails with error 999");
		pr_remedy(f, "  @{nvidia-modprobe}\n  nvidia-modprobe -u -c=0");
	} else {
		pr_set(f, severity(h, bad), "%s has the number %u:%u, but the kernel now has %s at %u: it belongs to no driver%s",
		       bad->path, bad->major, bad->minor, bad->kind, (unsigned)bad->now.v,
		       !strcmp(bad->kind, "nvidia-uvm") ? ", and CUDA fails with error 999" : "");
		remedy_numbers(h, bad, f);
	}
}
static const char *const after_nodes[] = { "driver.loaded", "container.devices", "container.lost-gpu", "driver.device-nodes",
					   NULL };
const struct pr_check pr_check_device_numbers = {
	.id = "driver.node-numbers",
	.title = "a device node has an outdated major number",
	.after = after_nodes,
	.story = "The kernel gives nvidia-uvm and nvidia-caps any free major number when the module is loaded. The number "
		 "can differ after a reboot, an upgrade or a reload. A device node with the old number then fails. Such "
		 "nodes exist in running containers, in containers whose configuration contains the number (LXC, a CDI "
		 "file), and on hosts where a script creates them. /proc/devices has the current numbers. nvidia-smi still "
		 "works, because the major number of the GPUs' own nodes is always 195.",
	.messages = "openat(AT_FDCWD, \"/dev/nvidia-uvm\", O_RDWR|O_CLOEXEC) = -1 ENXIO (No such device or address)\n"
		    "open(\"/dev/nvidia-uvm\", O_RDWR) = -1 EPERM (Operation not permitted)",
	.run = device_numbers,
};

/* ---- unified memory ------------------------------------------------------------------------------------------- */

static void uvm(const struct pr_context *c, struct pr_finding *f)
{
	const struct pr_host *h = c->host;
	bool container = inside(h), stale = false;

	if (pr_without_gpu(c, f))
		return;
	for (size_t i = 0; i < h->device_nodes.n_node; i++)
		stale |= !strcmp(h->device_nodes.node[i].path, "/dev/nvidia-uvm") && is_stale(h, &h->device_nodes.node[i]) &&
			 (inside(h) || pr_has(h->device_nodes.node[i].now));
	if (!pr_has(h->driver.device_node)) {
		pr_set(f, PR_SKIP, "see the check of /dev/nvidiactl first");
	} else if (stale) {
		pr_set(f, PR_FAIL, "/dev/nvidia-uvm belongs to no driver");
		pr_remedy(f, "See the remedy of driver.node-numbers");
	} else if (pr_has(h->driver.uvm_node)) {
		pr_set(f, PR_PASS, "/dev/nvidia-uvm can be opened");
	} else if (h->driver.uvm_node.state == PR_UNREADABLE) {
		pr_set(f, PR_FAIL, "/dev/nvidia-uvm exists, but this user may not open it");
		pr_remedy(f, "Then log in again:\n  sudo usermod -aG video \"$USER\"");
	} else if (pr_has(h->driver.modprobe) && !container) {
		pr_set(f, PR_PASS, "nvidia-modprobe creates /dev/nvidia-uvm for the first CUDA program");
	} else {
		pr_set(f, PR_FAIL, "/dev/nvidia-uvm is absent: CUDA cannot start");
		pr_remedy(f, container ? "On the machine that runs this container:\n  nvidia-modprobe -c 0 -u\n"
					 "Then restart the container." :
					 "  @{nvidia-modprobe} && nvidia-modprobe -c 0 -u");
	}
}
static const char *const after_numbers[] = { "driver.loaded", "driver.device-nodes", "driver.node-numbers", NULL };
const struct pr_check pr_check_uvm = {
	.id = "driver.uvm",
	.title = "/dev/nvidia-uvm is missing",
	.after = after_numbers,
	.story = "CUDA needs /dev/nvidia-uvm in addition to the nodes of the GPUs, but nvidia-smi does not. If "
		 "nvidia-smi works and every CUDA program fails with \"unknown error\", this node is missing. This happens "
		 "most often in a container or after a suspend.",
	.messages = "CUDA error 999: unknown error\nCUDA unknown error - this may be due to an incorrectly set up environment",
	.run = uvm,
};
