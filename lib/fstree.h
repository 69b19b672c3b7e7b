/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_FSTREE_H
#define GT_FSTREE_H
/*
 * A small file tree in memory: what a captured host is while it is looked at. Links are followed inside the tree only,
 * as the kernel would with RESOLVE_IN_ROOT; ".." of the root is the root. All functions return 0 or a negative errno.
 */
#include <sys/stat.h>
#include "lib/util.h"

struct gt_tree;
struct gt_tree_node {
	mode_t mode; /* S_IFDIR, S_IFLNK or S_IFREG, with permissions */
	int deny;    /* positive errno with which reading it fails; 0: it does not */
	char *data;  /* content of a file, target of a link; NUL-terminated */
	size_t len;
	char *name;
	struct gt_tree_node *parent, *child, *next; /* in order of creation; NULL at the ends */
};

struct gt_tree *gt_tree_new(void);
void gt_tree_free(struct gt_tree *t);
GT_DEFINE_AUTO(gt_tree, gt_tree_free);

/* Add what lies at a canonical path (absolute, no "." and ".."); parents are made. Takes data over, also on failure.
 * -EEXIST: there already, unless both are directories; -ENOTDIR: a parent is no directory. */
int gt_tree_add(struct gt_tree *t, const char *path, mode_t mode, char *data, size_t len, int deny);
/* The node at any absolute path; follow: also through a link in its last part. -ENOENT, -ENOTDIR, -ELOOP. */
int gt_tree_find(const struct gt_tree *t, const char *path, bool follow, const struct gt_tree_node **ret);
char *gt_tree_path(const struct gt_tree_node *n); /* "/sys/…"; the caller frees it */
/* Make the same below the empty directory dirfd. *ret_at: the path at which it failed (the caller frees it). */
int gt_tree_write(const struct gt_tree *t, int dirfd, char **ret_at);
const struct gt_tree_node *gt_tree_root(const struct gt_tree *t);
#endif
