/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSROOT_PATH_H
#define GT_FSROOT_PATH_H
/* Resolves paths inside a root. Only for the lib/fsroot files. */
#include <sys/types.h>
#include "lib/util.h"

struct gt_tree;
struct gt_tree_node;
struct gt_fsroot {
	int dirfd;
	bool live, readonly, recording;
	char *where, *dir;
	struct gt_tree *tree; /* the tree of a captured host; NULL: a directory */
	struct gt_strv recorded;
	unsigned mutations, fault_nth;
	int fault_code;
	bool fault_persistent;
};

/* Opens a file inside the root. Returns the fd or a negative errno. Not for captured hosts. */
int gt_fs_raw_open(const struct gt_fsroot *fs, const char *path, int flags, mode_t mode);
/* Checks that path exists, following links. Returns 0 or a negative errno. *ret_dir: whether it is a directory. */
int gt_fs_raw_find(const struct gt_fsroot *fs, const char *path, bool *ret_dir);
/* Finds the node of a captured host. content: returns the error that the capture recorded for reading the file. */
int gt_fs_raw_node(const struct gt_fsroot *fs, const char *path, bool follow, bool content, const struct gt_tree_node **ret);
/* Records the path if recording is on. read: the content was read, not only the existence or the target of a link. */
void gt_fs_raw_record(struct gt_fsroot *fs, const char *path, bool read);
#endif
