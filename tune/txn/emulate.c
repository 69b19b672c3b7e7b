/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "tune/model/nvml_settings.h"
#include "tune/txn/emulate.h"
#include "tune/txn/nvml_write.h"

/* Returns the path of another file in the directory of path. The caller frees it. */
static char *sibling(const char *path, const char *name)
{
	return gt_xasprintf("%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
}

static int emulate_if_there(struct gt_fsroot *fs, const char *path, const char *value)
{
	int r = gt_fs_emulate(fs, path, value);

	return r == -ENOENT ? 0 : r;
}

/* At most one file of each pair is in force: a value other than 0 in one zeroes the other. */
static int zero_counterpart(struct gt_fsroot *fs, const char *path, const char *value)
{
	static const char *const pair[][2] = {
		{ "/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_bytes" },
		{ "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/dirty_background_bytes" },
		{ "/proc/sys/vm/overcommit_ratio", "/proc/sys/vm/overcommit_kbytes" },
	};

	for (size_t i = 0; i < GT_ARRAY_SIZE(pair); i++)
		for (int k = 0; k < 2; k++)
			if (!strcmp(path, pair[i][k]) && strcmp(value, "0"))
				return emulate_if_there(fs, pair[i][!k], "0");
	return 0;
}

/* Under governor performance, intel_pstate and amd_pstate in active mode accept only the preference performance. */
static bool preference_refused(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *governor_path = NULL, *governor = NULL;

	if (!gt_ends_with(path, "/energy_performance_preference") || !strcmp(value, "performance"))
		return false;
	governor_path = sibling(path, "scaling_governor");
	return gt_fs_read_line(fs, governor_path, &governor) >= 0 && !strcmp(governor, "performance");
}

/* amd_pstate in active mode: the governor performance also sets the preference, and a later governor does not change it
 * back. */
static int set_preference(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *preference = NULL;

	if (!gt_ends_with(path, "/scaling_governor") || strcmp(value, "performance"))
		return 0;
	preference = sibling(path, "energy_performance_preference");
	return emulate_if_there(fs, preference, "performance");
}

/* A changed scheduler gets a queue of its default length (blk_mq_init_sched). */
static int reset_queue(struct gt_fsroot *fs, const char *path, const char *before)
{
	gt_autofree char *now = NULL, *length = NULL;
	int r = before ? gt_fs_read_line(fs, path, &now) : 0;

	if (r < 0 || !before || !strcmp(before, now))
		return r;
	length = sibling(path, "nr_requests");
	return emulate_if_there(fs, length, strstr(now, "[none]") ? "1023" : "256");
}

int tn_kernel_write(struct gt_fsroot *fs, const char *path, const char *value)
{
	gt_autofree char *scheduler = NULL;
	int r;

	if (gt_fs_is_live(fs) && tn_is_nvml_path(path))
		return tn_nvml_write(fs, path, value);
	if (gt_fs_is_live(fs) || !gt_fs_dir(fs))
		return gt_fs_write_value(fs, path, value);
	if (preference_refused(fs, path, value))
		return -EBUSY;
	if (gt_ends_with(path, "/queue/scheduler") && (r = gt_fs_read_line(fs, path, &scheduler)) < 0)
		return r;
	r = gt_fs_write_value(fs, path, value);
	if (r >= 0)
		r = reset_queue(fs, path, scheduler);
	if (r >= 0)
		r = set_preference(fs, path, value);
	return r < 0 ? r : zero_counterpart(fs, path, value);
}
