/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSTREE_H
#define GT_FSTREE_H
/*
 * A small file tree in memory that represents a captured host. Links are followed inside the tree only, as the kernel
 * does with RESOLVE_IN_ROOT; ".." of the root is the root. All functions return 0 or a negative errno.
 */
#include <sys/stat.h>
#include "lib/util.h"

struct gt_tree;
struct gt_tree_node {
	mode_t mode; /* S_IFDIR, S_IFLNK or S_IFREG, with permissions */
	int deny;    /* positive errno that reading returns; 0: readable */
	char *data;  /* content of a file or target of a link; NUL-terminated */
	size_t len;
	char *name;
	struct gt_tree_node *parent, *child, *next; /* siblings in the order of their creation; NULL at the ends */
};

struct gt_tree *gt_tree_new(void);
void gt_tree_free(struct gt_tree *t);
GT_DEFINE_AUTO(gt_tree, gt_tree_free);

/* Adds a node at a canonical path (absolute, without "." and "..") and creates its parents. Takes ownership of data,
 * also on failure. Returns -EEXIST if the node exists, unless both are directories, and -ENOTDIR if a parent is not a
 * directory. */
int gt_tree_add(struct gt_tree *t, const char *path, mode_t mode, char *data, size_t len, int deny);
/* Finds the node at any absolute path. follow: also follows a link in the last component. Fails with -ENOENT, -ENOTDIR
 * or -ELOOP. */
int gt_tree_find(const struct gt_tree *t, const char *path, bool follow, const struct gt_tree_node **ret);
char *gt_tree_path(const struct gt_tree_node *n); /* "/sys/…"; the caller frees it */
/* Writes the tree as files below the empty directory dirfd. *ret_at: the path at which it failed (the caller frees it). */
int gt_tree_write(const struct gt_tree *t, int dirfd, char **ret_at);
const struct gt_tree_node *gt_tree_root(const struct gt_tree *t);
#endif
