/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "probe/compat/costly_options.h"
#include "probe/host/reading.h"

/* Checks an entry of a listed directory. A capture contains an entry only if it was checked. */
static bool entry_exists(struct gt_fsroot *fs, const char *dir, const char *name)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", dir, name);

	return gt_fs_exists(fs, path);
}

/* Returns whether the name is a link for the major release (cuda-13), which NVIDIA's packages create next to the
 * toolkit (cuda-13.2). */
static bool is_alias(struct gt_fsroot *fs, const char *name)
{
	gt_autofree char *path = gt_xasprintf("/usr/local/%s", name), *target = NULL;

	return !strchr(name, '.') && gt_fs_readlink(fs, path, &target) >= 0;
}

static void find_toolkits(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };

	if (gt_fs_list(fs, "/usr/local", &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		if (gt_starts_with(names.v[i], "cuda-") && isdigit((unsigned char)names.v[i][5]) &&
		    entry_exists(fs, "/usr/local", names.v[i]) && !is_alias(fs, names.v[i]))
			gt_strv_take(&h->driver.toolkits, gt_xasprintf("/usr/local/%s", names.v[i]));
}

/* Matches nvidia.ko, nvidia-current.ko.xz, nvidia-tesla-535-open.ko.zst …, but not nvidia-drm.ko and similar modules. */
static bool is_main_module(const char *name)
{
	static const char *const parts[] = { "drm", "modeset", "uvm", "peermem", "fs", "vgpu" };
	const char *ko = strstr(name, ".ko");
	gt_autofree char *stem = gt_xstrndup(name, ko ? (size_t)(ko - name) : 0);

	if (!gt_starts_with(stem, "nvidia") || (stem[6] && stem[6] != '-'))
		return false;
	for (size_t i = 0; i < GT_ARRAY_SIZE(parts); i++)
		if (strstr(stem, parts[i]))
			return false;
	return true;
}

/* Finds the nvidia module for a kernel. Debian, DKMS and NVIDIA's installer use different directories. ret_path: the
 * file, which the caller frees; may be NULL. */
static struct pr_num find_module_file(struct gt_fsroot *fs, const char *release, char **ret_path)
{
	static const char *const subdirs[] = { "updates/dkms", "updates", "extra", "nvidia", "kernel/drivers/video",
					      "kernel/nvidia" };
	gt_autofree char *dir = gt_xasprintf("/lib/modules/%s", release);

	if (!*release || !gt_fs_exists(fs, dir))
		return (struct pr_num){ PR_UNKNOWN, 0 }; /* a container, or a kernel without modules */
	for (size_t i = 0; i < GT_ARRAY_SIZE(subdirs); i++) {
		gt_autofree char *subdir = gt_xasprintf("%s/%s", dir, subdirs[i]);
		gt_auto_strv names = { 0 };

		if (gt_fs_list(fs, subdir, &names) < 0)
			continue;
		for (size_t k = 0; k < names.n; k++)
			if (is_main_module(names.v[k]) && entry_exists(fs, subdir, names.v[k])) {
				if (ret_path)
					*ret_path = gt_xasprintf("%s/%s", subdir, names.v[k]);
				return pr_value(1);
			}
	}
	return pr_value(0);
}

/* Finds every installed kernel. The next boot starts the newest one of the same flavour. */
static void find_kernels(struct gt_fsroot *fs, struct pr_host *h, const char *release)
{
	gt_auto_strv names = { 0 };
	const char *flavour = strrchr(release, '-');

	gt_fs_list(fs, "/lib/modules", &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *image = gt_xasprintf("/boot/vmlinuz-%s", names.v[i]), *dir = NULL;
		const char *last = strrchr(names.v[i], '-');
		bool running = !strcmp(names.v[i], release);
		struct pr_num module;

		dir = gt_xasprintf("/lib/modules/%s", names.v[i]);
		if ((!running && !gt_fs_exists(fs, image)) || !gt_fs_exists(fs, dir))
			continue;
		module = running ? h->driver.module_file : find_module_file(fs, names.v[i], NULL);
		pr_add_kernel(fs, h, names.v[i], module);
		if (!flavour || !last || strcmp(last, flavour) ||
		    strverscmp(names.v[i], h->driver.next_kernel ? h->driver.next_kernel : release) <= 0)
			continue;
		h->driver.next_kernel = pr_keep(h, names.v[i]);
		h->driver.next_module = module;
	}
}

/* Ranks DKMS sources: 2 if its version is that of the loaded module, 1 if its branch is (after an upgrade), else 0. */
static int source_rank(const char *version, const char *loaded)
{
	return !loaded ? 0 : !strcmp(version, loaded) ? 2 : atoi(version) == atoi(loaded);
}

/* Returns the source that DKMS builds from: "nvidia-current/550.163.01". */
static struct pr_str find_dkms(struct gt_fsroot *fs, struct pr_host *h)
{
	struct pr_str found = { PR_ABSENT, NULL };
	gt_auto_strv names = { 0 };
	int r = gt_fs_list(fs, "/var/lib/dkms", &names), rank = 0;

	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *dir = gt_xasprintf("/var/lib/dkms/%s", names.v[i]), *best = NULL;
		gt_auto_strv versions = { 0 };

		/* separate modules that have their own versions */
		if (gt_starts_with(names.v[i], "nvidia-fs") || gt_starts_with(names.v[i], "nvidia-peermem"))
			continue;
		if (!gt_starts_with(names.v[i], "nvidia") || gt_fs_list(fs, dir, &versions) < 0)
			continue;
		for (size_t k = 0; k < versions.n; k++)
			if (versions.v[k][0] >= '0' && versions.v[k][0] <= '9' && entry_exists(fs, dir, versions.v[k]) &&
			    (!best || gt_version_cmp(versions.v[k], best) > 0)) {
				free(best);
				best = gt_xasprintf("%s", versions.v[k]);
			}
		if (!best || (found.v && source_rank(best, h->driver.module_version.v) <= rank))
			continue;
		rank = source_rank(best, h->driver.module_version.v);
		found = (struct pr_str){ PR_PRESENT, pr_own(h, gt_xasprintf("%s/%s", names.v[i], best)) };
	}
	if (r < 0)
		found.state = pr_state_of(r);
	return found;
}

/* Returns whether this user may open the device. */
static struct pr_num usable(struct gt_fsroot *fs, const char *node)
{
	int r = gt_fs_access(fs, node, R_OK | W_OK);

	if (r == -EROFS) /* a captured host: use the recorded read permission */
		r = gt_fs_access(fs, node, R_OK);
	return r < 0 ? (struct pr_num){ pr_state_of(r), 0 } : pr_value(1);
}

/*
 * Returns N of "Device Minor:  N" in /proc/driver/nvidia/gpus/ADDRESS/information; the node is /dev/nvidiaN. In a
 * container that NVIDIA's tools created, only the container's GPUs have this file. Returns -ENOENT: not one of them;
 * -EBADMSG: the file lacks the number.
 */
static int device_minor(struct gt_fsroot *fs, const struct pr_gpu *gpu)
{
	gt_autofree char *path = gt_xasprintf("/proc/driver/nvidia/gpus/%s/information", gpu->pci->address), *text = NULL;
	int r = gt_fs_read_prefix(fs, path, 4096, &text, NULL);
	const char *at = r < 0 ? NULL : strstr(text, "Device Minor:");
	unsigned minor;

	if (r < 0)
		return r;
	return at && sscanf(at + strlen("Device Minor:"), "%u", &minor) == 1 && minor < 4096 ? (int)minor : -EBADMSG;
}

static bool may_open(struct gt_fsroot *fs, const char *name)
{
	gt_autofree char *node = gt_xasprintf("/dev/%s", name);

	return pr_has(usable(fs, node));
}

/*
 * Finds the GPUs that this container or job cannot use. The PCI bus shows all GPUs of the host, even if a container or a
 * job's control group (Slurm's ConstrainDevices) allows only some. If no node can be opened, no GPU is marked: the first
 * program creates the nodes, and a check reports the cause.
 */
void pr_find_inaccessible_gpus(struct gt_fsroot *fs, struct pr_host *h)
{
	gt_auto_strv names = { 0 };
	size_t open = 0, accessible = 0;

	if (pr_bus_gpus(h) < 2 || gt_fs_list(fs, "/dev", &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++)
		open += gt_starts_with(names.v[i], "nvidia") && isdigit((unsigned char)names.v[i][6]) && may_open(fs, names.v[i]);
	if (!open || open >= pr_bus_gpus(h))
		return;
	for (size_t i = 0; i < h->n_gpu; i++) {
		int minor = device_minor(fs, &h->gpu[i]);
		gt_autofree char *name = gt_xasprintf("nvidia%d", minor);

		h->gpu[i].inaccessible = minor < 0 ? minor != -EBADMSG : !may_open(fs, name);
		accessible += !h->gpu[i].inaccessible;
	}
	for (size_t i = 0; i < h->n_gpu && accessible != open; i++)
		h->gpu[i].inaccessible = false;
	h->driver.some_inaccessible = accessible != open;
}

/* Reads the BLAS in use: /usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3 is "openblas-pthread". */
void pr_discover_blas(struct gt_fsroot *fs, struct pr_host *h)
{
	static const char *const links[] = { "/etc/alternatives/libblas.so.3-x86_64-linux-gnu",
					     "/etc/alternatives/libblas.so.3-aarch64-linux-gnu" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(links); i++) {
		gt_autofree char *target = NULL;
		char *slash;
		int r = gt_fs_readlink(fs, links[i], &target);

		h->blas.state = pr_state_of(r);
		if (r < 0)
			continue;
		slash = strrchr(target, '/');
		if (slash)
			*slash = '\0';
		slash = strrchr(target, '/');
		h->blas = pr_text(h, slash ? slash + 1 : target);
		return;
	}
}

void pr_discover_driver(struct gt_fsroot *fs, struct pr_host *h)
{
	const char *release = h->kernel.release.v ? h->kernel.release.v : "";
	gt_autofree char *build = gt_xasprintf("/lib/modules/%s/build", release);
	char *module = NULL;

	h->driver.module_version = pr_read_str(h, fs, "/sys/module/nvidia/version");
	h->driver.module_text = pr_read_str(h, fs, "/proc/driver/nvidia/version");
	h->driver.params = pr_read_text(h, fs, PR_NVIDIA_PARAMS);
	h->driver.open_module = h->driver.module_text.v && strstr(h->driver.module_text.v, "Open Kernel Module");
	h->driver.module_file = find_module_file(fs, release, &module);
	h->driver.module_path = module ? pr_own(h, module) : NULL;
	h->driver.headers = pr_value(gt_fs_exists(fs, build));
	h->driver.dkms_source = find_dkms(fs, h);
	find_kernels(fs, h, release);
	h->driver.dkms = pr_value(h->driver.dkms_source.state == PR_PRESENT);
	pr_discover_secure_boot(fs, h);
	h->driver.device_node = usable(fs, "/dev/nvidiactl");
	h->driver.uvm_node = usable(fs, "/dev/nvidia-uvm");
	pr_find_inaccessible_gpus(fs, h);
	if (gt_fs_exists(fs, "/usr/bin/nvidia-modprobe"))
		h->driver.modprobe = pr_value(1);
	else
		h->driver.modprobe.state = PR_ABSENT;
	h->driver.run_file = gt_fs_exists(fs, "/usr/bin/nvidia-uninstall");
	find_toolkits(fs, h);
	pr_discover_blas(fs, h);
}

void pr_driver_clear(struct pr_driver *d)
{
	gt_strv_clear(&d->toolkits);
}
