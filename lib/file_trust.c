/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/file_trust.h"

const char *gt_check_file_trust(const struct gt_fsroot *fs, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "is not a regular file";
	if (!gt_fs_is_live(fs) || geteuid() != 0)
		return NULL;
	if (st->st_uid != 0)
		return "does not belong to root";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "is writable by users other than root" : NULL;
}

static const char *check_dirs(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *dir = gt_xstrdup(path);
	struct stat st;
	char *slash;

	while ((slash = strrchr(dir, '/'))) {
		slash[slash == dir] = '\0'; /* "/" is the last directory to check */
		if (gt_fs_stat(fs, dir, &st) < 0)
			return "is in a path that cannot be checked";
		if (st.st_uid != 0)
			return "is below a directory that does not belong to root";
		if (st.st_mode & (S_IWGRP | S_IWOTH) && !(st.st_mode & S_ISVTX))
			return "is below a directory that is writable by users other than root";
		if (slash == dir)
			break;
	}
	return NULL;
}

const char *gt_check_dirs_trust(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *real = NULL;
	const char *why;

	if (*path != '/' || gt_fs_realpath(fs, path, &real) < 0)
		return "is in a path that cannot be checked";
	why = check_dirs(fs, path);
	return why ? why : check_dirs(fs, real);
}

/*
 * Returns why the directory is not trusted. The sticky bit protects only files that exist, so a directory that others
 * can write is never trusted.
 */
static const char *check_dir(const struct stat *st)
{
	if (st->st_uid != 0)
		return "does not belong to root";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "is writable by users other than root" : NULL;
}

const char *gt_check_path_trust(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *existing = gt_xstrdup(path);
	const char *why;
	struct stat st;
	char *slash;
	int r;

	while ((r = gt_fs_stat(fs, existing, &st)) < 0 && (slash = strrchr(existing, '/')) && slash != existing)
		*slash = '\0';
	if (r < 0 && gt_fs_stat(fs, "/", &st) < 0)
		return "is in a path that cannot be checked";
	why = S_ISDIR(st.st_mode) ? check_dir(&st) : S_ISREG(st.st_mode) ? gt_check_file_trust(fs, &st) : NULL;
	return why || r < 0 ? why : gt_check_dirs_trust(fs, existing);
}
