/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "lib/fsroot_path.h"
#include "lib/fstree.h"

int gt_fs_raw_open(const struct gt_fsroot *fs, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? mode : 0,
		.resolve = fs->live ? 0 : RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	if (*path != '/')
		return -EINVAL;
	if (fs->live) {
		fd = open(path, flags | O_CLOEXEC, mode);
		return fd < 0 ? -errno : (int)fd;
	}
	/* openat2 fails with EAGAIN if any rename on the machine races with resolving ".." */
	for (unsigned tries = 0; tries < 10000; tries++) {
		fd = syscall(SYS_openat2, fs->dirfd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int gt_fs_raw_node(const struct gt_fsroot *fs, const char *path, bool follow, bool content, const struct gt_tree_node **ret)
{
	int r = gt_tree_find(fs->tree, path, follow, ret);

	return r < 0 ? r : content ? -(*ret)->deny : 0;
}

int gt_fs_raw_find(const struct gt_fsroot *fs, const char *path, bool *ret_dir)
{
	const struct gt_tree_node *n;
	gt_autoclose int fd = -1;
	struct stat st;
	int r;

	if (fs->tree) {
		r = gt_fs_raw_node(fs, path, true, false, &n);
		*ret_dir = !r && S_ISDIR(n->mode);
		return r;
	}
	fd = gt_fs_raw_open(fs, path, O_PATH, 0);
	if (fd < 0)
		return fd;
	*ret_dir = !fstat(fd, &st) && S_ISDIR(st.st_mode);
	return 0;
}

void gt_fs_raw_record(struct gt_fsroot *fs, const char *path, bool read)
{
	if (fs->recording)
		gt_strv_take(&fs->recorded, gt_xasprintf(read ? "%s" : "?%s", path));
}
