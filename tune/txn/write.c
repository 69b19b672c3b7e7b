/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that changes the host. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "tune/knob/list.h"
#include "tune/model/value.h"
#include "tune/txn/emulate.h"
#include "tune/txn/write.h"

/* A kernel file is allowed if it belongs to a tunable: as its file, as its counterpart or as a file that it resets. *
 * stands for one name of a device. */
static bool kernel_file_allowed(const char *path)
{
	for (size_t i = 0; tn_tunables[i]; i++) {
		gt_autofree char *own = NULL, *pair = NULL, *side = NULL;

		if (tn_tunables[i]->tag == 'C')
			continue;
		own = tn_tunable_path(tn_tunables[i], "*");
		pair = tn_tunable_pair_path(tn_tunables[i]);
		side = tn_tunable_side_path(tn_tunables[i], "*");
		if (!fnmatch(own, path, FNM_PATHNAME | FNM_PERIOD) || gt_streq(pair, path) ||
		    (side && !fnmatch(side, path, FNM_PATHNAME | FNM_PERIOD)))
			return true;
	}
	return false;
}

static bool file_allowed(const char *path)
{
	return !strcmp(path, TN_SYSCTL_D_PATH) || !strcmp(path, TN_TMPFILES_D_PATH) || !strcmp(path, TN_UDEV_RULE_PATH);
}

bool tn_path_allowed(const char *path)
{
	return file_allowed(path) || kernel_file_allowed(path);
}

int tn_value_write(struct gt_fsroot *fs, const char *path, const char *value)
{
	return kernel_file_allowed(path) ? tn_kernel_write(fs, path, value) : -EPERM;
}

int tn_file_write(struct gt_fsroot *fs, const char *path, const char *text)
{
	return file_allowed(path) ? gt_fs_write_atomic(fs, path, text, strlen(text), 0644) : -EPERM;
}

int tn_file_remove(struct gt_fsroot *fs, const char *path)
{
	return file_allowed(path) ? gt_fs_unlink(fs, path) : -EPERM;
}

int tn_file_sweep(struct gt_fsroot *fs, const char *path)
{
	int r = file_allowed(path) ? gt_fs_sweep(fs, path) : -EPERM;

	return r == -ENOENT ? 0 : r;
}
