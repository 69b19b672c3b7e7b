/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel, distribution, container. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/text.h"
#include "probe/host/reading.h"

void pr_discover_distro(struct gt_fsroot *fs, struct pr_host *h)
{
	struct {
		const char *key;
		struct pr_str *to;
	} want[] = { { "ID", &h->distro.id },
		     { "ID_LIKE", &h->distro.id_like },
		     { "VERSION_ID", &h->distro.version_id },
		     { "VARIANT_ID", &h->distro.variant },
		     { "VERSION_CODENAME", &h->distro.codename },
		     { "PRETTY_NAME", &h->distro.pretty } };
	gt_autofree char *text = NULL;
	int r = gt_fs_read_prefix(fs, "/etc/os-release", 65536, &text, NULL);

	h->distro.image_based = gt_fs_exists(fs, "/run/ostree-booted");

	for (size_t i = 0; i < GT_ARRAY_SIZE(want); i++)
		want[i].to->state = r < 0 ? pr_state_of(r) : PR_ABSENT;
	gt_each_line(line, text) {
		char *value = strchr(line, '=');
		size_t n;

		if (!value)
			continue;
		*value++ = '\0';
		n = strlen(value);
		if (n >= 2 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
			value[n - 1] = '\0';
			value++;
		}
		for (size_t i = 0; i < GT_ARRAY_SIZE(want); i++)
			if (!strcmp(line, want[i].key))
				*want[i].to = pr_text(h, value);
	}
}

/* Returns the container runtime from the root mount: "… / / rw … - overlay overlay rw,lowerdir=/var/lib/containerd/…".
 * An overlay alone is no proof: live systems and diskless nodes have one too. */
static const char *root_mount(struct gt_fsroot *fs)
{
	static const char *const runtimes[] = { "containerd", "docker", "containers/storage", "crio" };
	gt_autoclose int fd = gt_fs_open_part(fs, "/proc/self/mountinfo");
	char text[16384];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	text[GT_MAX(n, 0)] = '\0';
	gt_each_line(line, text) {
		const char *type = strstr(line, " - ");
		char mount[4] = "";

		if (sscanf(line, "%*s %*s %*s %*s %3s", mount) != 1 || strcmp(mount, "/") || !type ||
		    !gt_starts_with(type, " - overlay "))
			continue;
		for (size_t i = 0; i < GT_ARRAY_SIZE(runtimes); i++)
			if (strstr(type, runtimes[i]))
				return runtimes[i];
	}
	return NULL;
}

/* Finds a container whose cgroup path is "/", as in every cgroup namespace of version 2. A captured host has the fact
 * "container". */
static const char *hidden_container(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_autofree char *fact = NULL;

	if (gt_fs_exists(fs, "/.singularity.d"))
		return "apptainer";
	if (gt_fs_exists(fs, "/run/secrets/kubernetes.io") || (h->live && getenv("KUBERNETES_SERVICE_HOST")))
		return "kubernetes";
	if (h->live)
		return root_mount(fs);
	return gt_fs_fact(fs, "container", &fact, NULL) >= 0 ? pr_keep(h, gt_strip(fact)) : NULL;
}

static void find_container(struct gt_fsroot *fs, struct pr_host *h)
{
	static const char *const words[] = { "docker", "kubepods", "libpod", "lxc", "machine.slice" };
	gt_autofree char *cgroup = NULL;
	const char *hidden;

	h->container = pr_read_str(h, fs, "/run/systemd/container");
	if (h->container.state == PR_PRESENT)
		return;
	if (gt_fs_exists(fs, "/.dockerenv")) {
		h->container = pr_text(h, "docker");
		return;
	}
	if (gt_fs_exists(fs, "/run/.containerenv")) {
		h->container = pr_text(h, "podman");
		return;
	}
	hidden = hidden_container(fs, h);
	if (hidden) {
		h->container = pr_text(h, hidden);
		return;
	}
	h->container.state = PR_ABSENT;
	if (gt_fs_read_prefix(fs, "/proc/1/cgroup", 65536, &cgroup, NULL) < 0)
		return;
	for (size_t i = 0; i < GT_ARRAY_SIZE(words); i++)
		if (strstr(cgroup, words[i]))
			h->container = pr_text(h, words[i]);
}

void pr_discover_kernel(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_num realtime = pr_read_num(fs, "/sys/kernel/realtime");

	h->kernel.release = pr_read_str(h, fs, "/proc/sys/kernel/osrelease");
	h->kernel.version = pr_read_str(h, fs, "/proc/sys/kernel/version");
	h->kernel.arch = pr_read_str(h, fs, "/proc/sys/kernel/arch");
	h->kernel.cmdline = pr_read_str(h, fs, "/proc/cmdline");
	h->kernel.boot_id = pr_read_str(h, fs, "/proc/sys/kernel/random/boot_id");
	h->kernel.preempt_rt = pr_or(realtime, 0) == 1 || (h->kernel.version.v && strstr(h->kernel.version.v, "PREEMPT_RT"));
	h->kernel.lockdown = pr_chosen(h, pr_read_str(h, fs, "/sys/kernel/security/lockdown"));
	pr_discover_distro(fs, h);
	find_container(fs, h);
}
