/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include "lib/fsroot.h"
#include "lib/fsroot_path.h"

int gt_fs_fact(struct gt_fsroot *fs, const char *name, char **ret, size_t *ret_len)
{
	gt_autofree char *path = gt_xasprintf("/.facts/%s", name);

	return fs->live ? -ENOENT : gt_fs_read(fs, path, ret, ret_len);
}

/* Returns the name of the fact for path in a root that is not live. */
static char *fact_of(const char *what, const char *path)
{
	char *name = gt_xasprintf("%s%s", what, path);

	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '!';
	return name;
}

int gt_fs_statvfs(struct gt_fsroot *fs, const char *path, struct statvfs *ret)
{
	gt_autofree char *name = fact_of("statvfs", path), *text = NULL;
	struct statvfs v = { 0 };
	int r;

	if (fs->live) {
		gt_autofree char *fact = gt_xasprintf("/.facts/%s", name);

		gt_fs_raw_record(fs, fact, true);
		return statvfs(path, ret) < 0 ? -errno : 0;
	}
	r = gt_fs_fact(fs, name, &text, NULL);
	if (r < 0)
		return r;
	if (sscanf(text, "bsize %lu blocks %lu bfree %lu bavail %lu", &v.f_bsize, &v.f_blocks, &v.f_bfree,
		   &v.f_bavail) != 4)
		return -EINVAL;
	v.f_frsize = v.f_bsize;
	*ret = v;
	return 0;
}

int gt_fs_device(struct gt_fsroot *fs, const char *path, unsigned *ret_major, unsigned *ret_minor)
{
	gt_autofree char *name = fact_of("device", path), *text = NULL;
	unsigned numbers[2];
	struct stat st;
	int r;

	gt_fs_raw_record(fs, path, false);
	if (!fs->live && gt_fs_fact(fs, name, &text, NULL) >= 0) {
		if (sscanf(text, "%u:%u", &numbers[0], &numbers[1]) != 2)
			return -EINVAL;
		*ret_major = numbers[0];
		*ret_minor = numbers[1];
		return 0;
	}
	r = gt_fs_stat(fs, path, &st);
	if (r < 0)
		return r;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	if (fs->live) {
		gt_autofree char *fact = gt_xasprintf("/.facts/%s", name);

		gt_fs_raw_record(fs, fact, true);
	}
	*ret_major = major(st.st_rdev);
	*ret_minor = minor(st.st_rdev);
	return 0;
}
