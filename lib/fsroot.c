/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include "lib/capture.h"
#include "lib/file.h"
#include "lib/fsroot.h"
#include "lib/fsroot_path.h"

void gt_fs_close(struct gt_fsroot *fs)
{
	if (!fs)
		return;
	if (fs->dirfd >= 0)
		close(fs->dirfd);
	gt_tree_free(fs->tree);
	gt_strv_clear(&fs->recorded);
	free(fs->where);
	free(fs->dir);
	free(fs);
}

static int open_capture(struct gt_fsroot *fs, const char *where, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	size_t len;
	int r = gt_file_read(where, 4 * GT_FS_MAX, &text, &len, err);

	if (r < 0)
		return r;
	fs->readonly = true;
	return gt_capture_parse(text, len, where, &fs->tree, err);
}

/* Checks for proc, sys or etc. A directory without all of these is not the root of a host. */
static int check_is_root(const struct gt_fsroot *fs, struct gt_err *err)
{
	static const char *const one_of[] = { "proc", "sys", "etc" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(one_of); i++)
		if (!faccessat(fs->dirfd, one_of[i], F_OK, 0))
			return 0;
	if (fs->live)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "/ contains no proc, sys or etc, like an empty chroot");
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s is not the root of a host: it contains no proc, sys or etc", fs->where);
}

static void arm_from_environment(struct gt_fsroot *fs)
{
	static const struct {
		const char *name;
		int code;
	} codes[] = { { "EIO", EIO },	    { "ENOSPC", ENOSPC }, { "EACCES", EACCES },	  { "EROFS", EROFS },
		      { "EINVAL", EINVAL }, { "EBUSY", EBUSY },	  { "KILL", GT_FS_KILL } };
	const char *spec = getenv("GT_FAULT");
	char *end;
	unsigned long nth;

	if (!spec)
		return;
	nth = strtoul(spec, &end, 10);
	fs->fault_persistent = *end == '+';
	end += *end == '+';
	for (size_t i = 0; i < GT_ARRAY_SIZE(codes); i++)
		if (*end == ':' && !strcmp(end + 1, codes[i].name))
			gt_fs_fault(fs, (unsigned)nth, codes[i].code, fs->fault_persistent);
}

int gt_fs_open(const char *where, struct gt_fsroot **ret, struct gt_err *err)
{
	struct gt_fsroot *fs = gt_xcalloc(1, sizeof(*fs));
	struct stat st;
	int r = 0;

	fs->dirfd = -1;
	fs->live = !where || !strcmp(where, "/");
	fs->where = gt_xstrdup(fs->live ? "/" : where);
	if (!fs->live && stat(where, &st) < 0) {
		r = gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open root %s: %s", where, strerror(errno));
	} else if (!fs->live && !S_ISDIR(st.st_mode)) {
		r = open_capture(fs, where, err);
		if (r < 0 && err && !err->exit_status)
			err->exit_status = GT_EXIT_USAGE;
	} else {
		fs->dir = realpath(fs->where, NULL);
		fs->dirfd = open(fs->where, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!fs->dir || fs->dirfd < 0)
			r = gt_fail_exit(err, GT_EXIT_USAGE, errno, "cannot open root %s: %s", fs->where,
					 strerror(errno));
		else
			r = check_is_root(fs, err);
	}
	if (r < 0) {
		gt_fs_close(fs);
		return r;
	}
	if (!fs->live)
		arm_from_environment(fs);
	*ret = fs;
	return 0;
}

bool gt_fs_is_live(const struct gt_fsroot *fs)
{
	return fs->live;
}

const char *gt_fs_where(const struct gt_fsroot *fs)
{
	return fs->where;
}

const char *gt_fs_dir(const struct gt_fsroot *fs)
{
	return fs->dir;
}

int gt_fs_require_live(const struct gt_fsroot *fs, const char *what, struct gt_err *err)
{
	if (fs->live)
		return 0;
	return gt_fail_exit(err, GT_EXIT_USAGE, EPERM, "%s needs the live host and cannot be done in the root %s", what,
			    fs->where);
}

void gt_fs_record(struct gt_fsroot *fs)
{
	fs->recording = true;
}

bool gt_fs_pause_recording(struct gt_fsroot *fs)
{
	bool was = fs->recording;

	fs->recording = false;
	return was;
}

const struct gt_strv *gt_fs_recorded(struct gt_fsroot *fs)
{
	struct gt_strv *sv = &fs->recorded;
	size_t n_unique = 0;

	fs->recording = false;
	gt_strv_sort_bytes(sv);
	for (size_t i = 0; i < sv->n; i++) {
		if (n_unique && !strcmp(sv->v[n_unique - 1], sv->v[i]))
			free(sv->v[i]);
		else
			sv->v[n_unique++] = sv->v[i];
	}
	sv->n = n_unique;
	if (sv->v)
		sv->v[n_unique] = NULL;
	return sv;
}
