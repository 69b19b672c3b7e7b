/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/text.h"
#include "lib/file_trust.h"
#include "tune/launch/library_report.h"
#include "tune/launch/rank_library.h"

char *tn_own_program(struct gt_fsroot *fs)
{
	char *path = NULL;

	return gt_fs_readlink(fs, "/proc/self/exe", &path) < 0 ? NULL : path;
}

char *tn_rank_library_find(struct gt_fsroot *fs, char **ret_why)
{
	gt_autofree char *program = tn_own_program(fs), *dir = program ? gt_dirname(program) : NULL,
			 *built = dir ? gt_xasprintf("%s/" TN_RANK_LIBRARY, dir) : NULL;
	gt_autofree char *path = gt_xstrdup(built && gt_fs_exists(fs, built) ? built : GT_PKGLIBDIR "/" TN_RANK_LIBRARY);
	const char *why = NULL;
	struct stat st;

	if (strpbrk(path, ": "))
		why = "is in a path with a blank or a colon, which LD_PRELOAD cannot contain";
	else if (gt_fs_stat(fs, path, &st) < 0)
		why = "does not exist";
	else
		why = gt_check_file_trust(fs, &st);
	if (!why && geteuid() == 0)
		why = gt_check_dirs_trust(fs, path);
	if (!why && !tn_loader_can_preload(path))
		why = "does not load into a program here";
	if (!why)
		return gt_take(path);
	*ret_why = gt_xasprintf("%s %s", path, why);
	return NULL;
}
