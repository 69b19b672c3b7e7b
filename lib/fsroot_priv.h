/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSROOT_PRIV_H
#define GT_FSROOT_PRIV_H
/* What the reading and the writing half of the door share. */
#include "lib/capture.h"
#include "lib/fsroot.h"

struct gt_fsroot {
	int dirfd;
	bool live, readonly, recording;
	char *where, *dir;
	struct gt_tree *tree; /* of a captured host; NULL: a directory */
	struct gt_strv recorded;
	unsigned mutations, fault_nth;
	int fault_code;
	bool fault_persistent;
};

/* Does it exist, links followed? 0 or a negative errno; *ret_dir: as a directory. */
int gt_fs_raw_find(const struct gt_fsroot *fs, const char *path, bool *ret_dir);
/* Not for captured hosts: open inside the root; returns the fd or a negative errno. The only way a path of the host is opened. */
int gt_fs_raw_open(const struct gt_fsroot *fs, const char *path, int flags, mode_t mode);
#endif
