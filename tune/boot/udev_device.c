/* SPDX-License-Identifier: Apache-2.0 */
/* What rules ask of a device, as far as /sys says it. */
#include <fnmatch.h>
#include <string.h>
#include "tune/boot/udev.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* What a captured host, which has no links to say it, keeps of devices that are tuned. */
static bool is_block(const char *path)
{
	return !fnmatch("/sys/block/*", path, FNM_PATHNAME);
}

static bool is_cpu(const char *path)
{
	return !fnmatch("/sys/devices/system/cpu/cpu[0-9]*", path, FNM_PATHNAME);
}

static bool has_uevent(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *file = gt_xasprintf("%s/uevent", path);

	return gt_fs_exists(fs, file);
}

/* The nearest directory above that is a device. */
static char *parent_of(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *at = gt_xstrdup(path);

	for (;;) {
		*strrchr(at, '/') = '\0';
		if (!gt_starts_with(at, "/sys/devices/"))
			return NULL;
		if (has_uevent(fs, at))
			return gt_take(at);
	}
}

/* The kernel's names have no slash; sysfs writes '!' for one. */
static char *kernel_name(const char *path)
{
	char *name = gt_xstrdup(base_name(path));

	for (char *p = name; *p; p++)
		*p = *p == '!' ? '/' : *p;
	return name;
}

static void read_uevent(struct tn_udev_device *d)
{
	gt_autofree char *file = gt_xasprintf("%s/uevent", d->path), *text = NULL;
	char *save = NULL;

	if (gt_fs_read(d->fs, file, &text, NULL) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strchr(line, '='))
			gt_strv_add(&d->uevent, line);
}

bool tn_udev_device_open(struct gt_fsroot *fs, const char *path, struct tn_udev_device *ret)
{
	struct tn_udev_device d = {.fs = fs};
	struct stat st;

	if (gt_fs_stat(fs, path, &st) < 0 || !S_ISDIR(st.st_mode) || gt_fs_realpath(fs, path, &d.path) < 0)
		return false;
	d.whole = has_uevent(fs, d.path);
	if (!gt_starts_with(d.path, "/sys/") || (!d.whole && !is_block(d.path) && !is_cpu(d.path))) {
		free(d.path);
		return false;
	}
	d.name = kernel_name(d.path);
	d.parent = parent_of(fs, d.path);
	read_uevent(&d);
	*ret = d;
	return true;
}

void tn_udev_device_clear(struct tn_udev_device *d)
{
	free(d->path);
	free(d->name);
	free(d->parent);
	gt_strv_clear(&d->uevent);
	*d = (struct tn_udev_device){0};
}

static enum tn_truth missing(const struct tn_udev_device *d)
{
	return d->whole ? TN_NO : TN_MAYBE;
}

static enum tn_truth link_name(const struct tn_udev_device *d, const char *name, char **ret)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", d->path, name), *target = NULL;

	if (gt_fs_readlink(d->fs, path, &target) < 0)
		return missing(d);
	*ret = gt_xstrdup(base_name(target));
	return TN_YES;
}

/* As sd_device_get_sysattr_value(3): of these links the name of what they lead to, of others and of directories
 * nothing. */
enum tn_truth tn_udev_attr(const struct tn_udev_device *d, const char *name, char **ret)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", d->path, name), *text = NULL;
	const char *leaf = base_name(name);
	struct stat st;
	size_t n;

	if (gt_fs_lstat(d->fs, path, &st) < 0)
		return missing(d);
	if (S_ISLNK(st.st_mode))
		return !strcmp(leaf, "driver") || !strcmp(leaf, "subsystem") || !strcmp(leaf, "module")
			       ? link_name(d, name, ret)
			       : TN_NO;
	if (S_ISDIR(st.st_mode) || !(st.st_mode & S_IRUSR))
		return TN_NO;
	if (gt_fs_read(d->fs, path, &text, NULL) < 0)
		return TN_MAYBE;
	for (n = strlen(text); n && strchr("\r\n", text[n - 1]); n--)
		text[n - 1] = '\0';
	*ret = gt_take(text);
	return TN_YES;
}

enum tn_truth tn_udev_subsystem(const struct tn_udev_device *d, char **ret)
{
	enum tn_truth t = link_name(d, "subsystem", ret);
	const char *deduced = gt_starts_with(d->path, "/sys/module/") ? "module"
			      : d->whole                              ? NULL
			      : is_block(d->path)                     ? "block"
			      : is_cpu(d->path)                       ? "cpu"
								      : NULL;

	if (t == TN_YES || !deduced)
		return t;
	*ret = gt_xstrdup(deduced);
	return TN_YES;
}

enum tn_truth tn_udev_driver(const struct tn_udev_device *d, char **ret)
{
	return link_name(d, "driver", ret);
}

enum tn_truth tn_udev_property(const struct tn_udev_device *d, const char *name, char **ret)
{
	size_t n = strlen(name);

	if (!strcmp(name, "SUBSYSTEM"))
		return tn_udev_subsystem(d, ret);
	if (!strcmp(name, "DEVPATH")) {
		*ret = gt_xstrdup(d->path + strlen("/sys"));
		return d->whole ? TN_YES : TN_MAYBE;
	}
	for (size_t i = 0; i < d->uevent.n; i++)
		if (!strncmp(d->uevent.v[i], name, n) && d->uevent.v[i][n] == '=') {
			*ret = gt_xasprintf("%s%s", strcmp(name, "DEVNAME") ? "" : "/dev/", d->uevent.v[i] + n + 1);
			return TN_YES;
		}
	if (!d->whole && !strcmp(name, "DEVTYPE") && is_block(d->path)) {
		*ret = gt_xstrdup("disk");
		return TN_YES;
	}
	return missing(d);
}

/* "[SUBSYSTEM/NAME]ATTR", where the kernel keeps devices by subsystem. */
static char *elsewhere(struct gt_fsroot *fs, const char *attr)
{
	size_t n = strcspn(attr, "]"), slash = strcspn(attr, "/");
	gt_autofree char *subsystem = NULL, *name = NULL;

	if (!attr[n] || slash >= n)
		return NULL;
	subsystem = gt_xstrndup(attr + 1, slash - 1);
	name = gt_xstrndup(attr + slash + 1, n - slash - 1);
	if (!strcmp(subsystem, "module"))
		return gt_xasprintf("/sys/module/%s/%s", name, attr + n + 1);
	if (!strcmp(subsystem, "block"))
		return gt_xasprintf("/sys/block/%s/%s", name, attr + n + 1);
	for (int i = 0; i < 2; i++) {
		gt_autofree char *dir = i ? gt_xasprintf("/sys/class/%s/%s", subsystem, name)
					  : gt_xasprintf("/sys/bus/%s/devices/%s", subsystem, name);

		if (gt_fs_exists(fs, dir))
			return gt_xasprintf("%s/%s", dir, attr + n + 1);
	}
	return NULL;
}

char *tn_udev_attr_path(const struct tn_udev_device *d, const char *attr)
{
	char *path = *attr == '[' ? elsewhere(d->fs, attr) : NULL;

	return path ? path : gt_xasprintf("%s/%s", d->path, attr);
}
