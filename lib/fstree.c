/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/file.h"
#include "lib/fstree.h"

#define LINKS_MAX 40
#define DEPTH_MAX 2048 /* a path has at most 4096 bytes */

/* Nodes are found by a hash of parent and name, because directories of large hosts have thousands of entries. */
struct gt_tree {
	struct gt_tree_node *root, **slot;
	size_t n_slot, n; /* n_slot is a power of two */
};

const struct gt_tree_node *gt_tree_root(const struct gt_tree *t)
{
	return t->root;
}

struct gt_tree *gt_tree_new(void)
{
	struct gt_tree *t = gt_xcalloc(1, sizeof(*t));

	t->root = gt_xcalloc(1, sizeof(*t->root));
	t->root->mode = S_IFDIR | 0755;
	t->root->name = gt_xstrdup("");
	t->n_slot = 1024;
	t->slot = gt_xcalloc(t->n_slot, sizeof(struct gt_tree_node *));
	return t;
}

static void free_node(struct gt_tree_node *n)
{
	free(n->name);
	free(n->data);
	free(n);
}

void gt_tree_free(struct gt_tree *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_slot; i++)
		if (t->slot[i])
			free_node(t->slot[i]);
	free_node(t->root);
	free(t->slot);
	free(t);
}

static size_t hash_of(const struct gt_tree_node *parent, const char *name, size_t len)
{
	return gt_hash64(name, len, (uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u);
}

static struct gt_tree_node *lookup(const struct gt_tree *t, const struct gt_tree_node *parent, const char *name,
				   size_t len)
{
	for (size_t i = hash_of(parent, name, len);; i++) {
		struct gt_tree_node *n = t->slot[i & (t->n_slot - 1)];

		if (!n)
			return NULL;
		if (n->parent == parent && !strncmp(n->name, name, len) && !n->name[len])
			return n;
	}
}

static void put_in_slot(struct gt_tree *t, struct gt_tree_node *n)
{
	size_t i = hash_of(n->parent, n->name, strlen(n->name));

	while (t->slot[i & (t->n_slot - 1)])
		i++;
	t->slot[i & (t->n_slot - 1)] = n;
}

static void grow(struct gt_tree *t)
{
	struct gt_tree_node **old = t->slot;
	size_t n = t->n_slot;

	t->n_slot *= 4;
	t->slot = gt_xcalloc(t->n_slot, sizeof(struct gt_tree_node *));
	for (size_t i = 0; i < n; i++)
		if (old[i])
			put_in_slot(t, old[i]);
	free(old);
}

static struct gt_tree_node *make(struct gt_tree *t, struct gt_tree_node *parent, const char *name, size_t len,
				 mode_t mode)
{
	struct gt_tree_node *n = gt_xcalloc(1, sizeof(*n));

	if (++t->n > t->n_slot / 2)
		grow(t);
	n->name = gt_xstrndup(name, len);
	n->mode = mode;
	n->parent = parent;
	n->next = parent->child;
	parent->child = n;
	put_in_slot(t, n);
	return n;
}

int gt_tree_add(struct gt_tree *t, const char *path, mode_t mode, char *data, size_t len, int deny)
{
	gt_autofree char *owned = data;
	struct gt_tree_node *at = t->root;
	const char *p = path + strspn(path, "/");

	while (*p) {
		size_t n = strcspn(p, "/");
		struct gt_tree_node *next = lookup(t, at, p, n);
		bool last = !p[n];

		if (next && last && (!S_ISDIR(mode) || !S_ISDIR(next->mode)))
			return -EEXIST;
		if (next && !last && !S_ISDIR(next->mode))
			return S_ISLNK(next->mode) ? -ELOOP : -ENOTDIR;
		if (!next)
			next = make(t, at, p, n, last ? mode : S_IFDIR | 0755);
		at = next;
		p += n + strspn(p + n, "/");
	}
	if (at == t->root)
		return S_ISDIR(mode) ? 0 : -EEXIST;
	if (!S_ISDIR(mode)) {
		at->data = gt_take(owned);
		at->len = len;
	}
	at->deny = deny;
	return 0;
}

int gt_tree_find(const struct gt_tree *t, const char *path, bool follow, const struct gt_tree_node **ret)
{
	gt_autofree char *rest = gt_xstrdup(path);
	const struct gt_tree_node *at = t->root;
	unsigned links = 0;
	char *p = rest;

	if (*path != '/')
		return -EINVAL;
	for (p += strspn(p, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		const struct gt_tree_node *next;
		char *joined;

		if (!S_ISDIR(at->mode))
			return -ENOTDIR;
		if (n == 2 && !strncmp(p, "..", 2))
			next = at->parent ? at->parent : at;
		else if (n == 1 && *p == '.')
			next = at;
		else
			next = lookup(t, at, p, n);
		if (!next)
			return -ENOENT;
		p += n;
		if (!S_ISLNK(next->mode) || (!follow && !*p)) {
			at = next;
			continue;
		}
		if (++links > LINKS_MAX)
			return -ELOOP;
		joined = gt_xasprintf("%s%s", next->data, p);
		at = *next->data == '/' ? t->root : at;
		free(rest);
		rest = p = joined;
	}
	if (path[strlen(path) - 1] == '/' && !S_ISDIR(at->mode))
		return -ENOTDIR;
	*ret = at;
	return 0;
}

char *gt_tree_path(const struct gt_tree_node *n)
{
	const struct gt_tree_node *chain[DEPTH_MAX];
	size_t depth = 0;
	struct gt_buf b = {0};

	for (; n->parent && depth < DEPTH_MAX; n = n->parent)
		chain[depth++] = n;
	if (!depth)
		gt_buf_puts(&b, "/");
	while (depth--)
		gt_buf_printf(&b, "/%s", chain[depth]->name);
	return gt_buf_take(&b);
}

static int write_node(const struct gt_tree_node *n, int dirfd)
{
	gt_autoclose int fd = -1;

	if (S_ISLNK(n->mode))
		return symlinkat(n->data, dirfd, n->name) < 0 ? -errno : 0;
	fd = openat(dirfd, n->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : gt_fd_write(fd, n->data ? n->data : "", n->len);
}

static int write_below(const struct gt_tree_node *dir, int dirfd, char **ret_at)
{
	int r = 0;

	for (const struct gt_tree_node *n = dir->child; n && !r; n = n->next) {
		gt_autoclose int fd = -1;

		if (!S_ISDIR(n->mode)) {
			r = write_node(n, dirfd);
		} else if (mkdirat(dirfd, n->name, 0755) < 0 ||
			   (fd = openat(dirfd, n->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
			r = -errno;
		} else {
			r = write_below(n, fd, ret_at);
			if (r < 0)
				return r;
		}
		if (r < 0)
			*ret_at = gt_tree_path(n);
	}
	return r;
}

int gt_tree_write(const struct gt_tree *t, int dirfd, char **ret_at)
{
	return write_below(t->root, dirfd, ret_at);
}
