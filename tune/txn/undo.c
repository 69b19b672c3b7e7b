/* SPDX-License-Identifier: Apache-2.0 */
/* Restores old values, newest transaction first. Skips values that another program changed since. */
#include <errno.h>
#include <string.h>
#include "tune/txn/device_renamed.h"
#include "tune/txn/undo.h"
#include "tune/model/value.h"
#include "tune/txn/write.h"

const char *tn_undo_name(enum tn_undo u)
{
	static const char *const name[] = {
		[TN_UNDO_BACK] = "as before",
		[TN_UNDO_RESTORED] = "restored",
		[TN_UNDO_FOREIGN] = "changed by another program",
		[TN_UNDO_UNKNOWN] = "unknown to this version, not changed",
		[TN_UNDO_GONE] = "no longer exists",
		[TN_UNDO_STAYS] = "stays until reboot",
		[TN_UNDO_FAILED] = "failed",
	};

	return name[u];
}

/* ---- changes of one file -----------------------------------------------------------------------------------------
 *
 * If several transactions changed a file, one write restores the value from before the oldest of them. The kernel may
 * refuse a value in between by now, and after an interrupted revert its progress need not be known. A change by another
 * program in between separates the transactions into two chains. */

struct link {
	const struct tn_tx *t;
	struct tn_entry *e;
	struct link *older; /* the write before; it left the value that this one found. NULL: this is the oldest */
	bool follows;	    /* part of the chain of a newer link */
};

static const struct tn_entry *oldest(const struct link *l)
{
	while (l->older)
		l = l->older;
	return l->e;
}

/* Returns whether a write of the chain produced this value. */
static bool is_result(const struct link *l, const char *now)
{
	while (l && !tn_entry_has_result(l->e, now) && !tn_entry_had_result(l->e, now))
		l = l->older;
	return l;
}

static bool cut_short(const struct link *l)
{
	while (l && l->t->state == TN_TX_COMMITTED)
		l = l->older;
	return l;
}

static bool parent_exists(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *dir = gt_xstrndup(path, (size_t)(strrchr(path, '/') - path));

	return gt_fs_exists(fs, dir);
}

static enum tn_undo undo_file(struct gt_fsroot *fs, const struct link *l, char **ret_now, int *ret_code)
{
	const char *path = l->e->path, *old = oldest(l)->old;
	gt_autofree char *now = NULL;
	struct stat st;
	int r = tn_file_sweep(fs, path);

	if (r >= 0 && gt_fs_lstat(fs, path, &st) >= 0 && S_ISLNK(st.st_mode)) {
		*ret_now = gt_xstrdup("a link");
		return TN_UNDO_FOREIGN;
	}
	if (r >= 0)
		r = gt_fs_read(fs, path, &now, NULL);
	if (r < 0 && r != -ENOENT) {
		*ret_code = r;
		return TN_UNDO_FAILED;
	}
	if (!now && !parent_exists(fs, path)) {
		*ret_code = -ENOENT;
		return TN_UNDO_FAILED;
	}
	if (gt_streq(now, old))
		return TN_UNDO_BACK;
	if (!is_result(l, now)) {
		*ret_now = gt_xstrdup(now ? "another content" : "removed");
		return TN_UNDO_FOREIGN;
	}
	r = old ? tn_file_write(fs, path, old) : tn_file_remove(fs, path);
	if (r >= 0)
		return TN_UNDO_RESTORED;
	*ret_code = r;
	return TN_UNDO_FAILED;
}

/* Returns whether the value, and its counterpart if there is one, equal the old state. */
static bool is_back(struct gt_fsroot *fs, const struct tn_entry *e, const char *now)
{
	gt_autofree char *pair = NULL;

	if (!tn_value_equal(now, e->old))
		return false;
	return !e->pair_path || (tn_value_read(fs, e->pair_path, &pair) >= 0 && tn_value_equal(pair, e->pair_old));
}

/* Writes the file of a pair that was not zero; the kernel zeroes the other. */
static int write_old(struct gt_fsroot *fs, const struct tn_entry *e)
{
	if (e->pair_path && !strcmp(e->old, "0"))
		return tn_value_write(fs, e->pair_path, e->pair_old);
	return tn_value_write(fs, e->path, e->old);
}

/* Returns the value for the side file after the restore: the old value, or the value that another program set since.
 * The caller frees it. */
static char *side_wanted(struct gt_fsroot *fs, const struct link *l, bool cut)
{
	gt_autofree char *wanted = NULL;

	if (!l->e->side_path || tn_value_read(fs, l->e->side_path, &wanted) < 0)
		return NULL;
	for (; l; l = l->older) {
		const char *left = l->e->side_left ? l->e->side_left : l->e->side_old;

		/* an interrupted transaction does not record the origin; most likely the kernel reset the value */
		if (!l->e->side_path || (!cut && !tn_value_equal(wanted, left)))
			continue;
		free(wanted);
		wanted = gt_xstrdup(l->e->side_old);
	}
	return gt_take(wanted);
}

/* The restore of the value makes the kernel reset the side file, so this write comes after it. */
static int write_side(struct gt_fsroot *fs, const struct tn_entry *e, const char *wanted)
{
	gt_autofree char *now = NULL;
	int r = wanted ? tn_value_read(fs, e->side_path, &now) : 0;

	if (r < 0 || !wanted || tn_value_equal(now, wanted))
		return r;
	return tn_value_write(fs, e->side_path, wanted);
}

static int restore_old(struct gt_fsroot *fs, const struct tn_entry *to)
{
	gt_autofree char *now = NULL;
	int r = write_old(fs, to);

	if (r >= 0)
		r = tn_value_read(fs, to->path, &now);
	return r < 0 ? r : is_back(fs, to, now) ? 0 : -EIO;
}

/* cut: a transaction, or the undo of one, was interrupted. */
static enum tn_undo undo_value(struct gt_fsroot *fs, const struct link *l, bool other_boot, bool cut, char **ret_now,
			       int *ret_code)
{
	const struct tn_entry *e = l->e, *to = oldest(l);
	gt_autofree char *now = NULL, *side = NULL;
	int r;

	if (!tn_path_allowed(e->path)) /* values of an earlier kernel are not restored */
		return other_boot ? TN_UNDO_STAYS : TN_UNDO_UNKNOWN;
	r = tn_value_read(fs, e->path, &now);
	if (r == -ENOENT && tn_entry_gone(fs, e, other_boot))
		return TN_UNDO_GONE;
	if (r < 0) {
		*ret_code = r;
		return TN_UNDO_FAILED;
	}
	/* the old value belongs to an earlier boot; the current one comes from a persisted file */
	if (other_boot && is_result(l, now) && !(cut && is_back(fs, to, now)))
		return TN_UNDO_STAYS;
	side = other_boot ? NULL : side_wanted(fs, l, cut);
	if (is_back(fs, to, now)) {
		*ret_code = r = cut ? write_side(fs, e, side) : 0;
		return r < 0 ? TN_UNDO_FAILED : TN_UNDO_BACK;
	}
	if (other_boot && cut) /* value of the new kernel: the file that would have set it is incomplete or gone */
		return TN_UNDO_BACK;
	if (other_boot || !is_result(l, now)) {
		*ret_now = gt_take(now);
		return TN_UNDO_FOREIGN;
	}
	r = restore_old(fs, to);
	if (r >= 0)
		r = write_side(fs, e, side);
	*ret_code = r < 0 ? r : 0;
	return r < 0 ? TN_UNDO_FAILED : TN_UNDO_RESTORED;
}

/* ---- all changes ------------------------------------------------------------------------------------------------- */

struct links {
	struct gt_fsroot *fs;
	const struct tn_journal *j;
	struct link *v; /* newest first */
	size_t n, failed;
	struct pr_host *host; /* NULL: not discovered yet */
};

static bool continues(const struct links *c, const struct link *newer, const struct link *older)
{
	const struct tn_entry *e = newer->e;

	/* chains of values do not cross a boot */
	if (e->kind == TN_ENTRY_VALUE && tn_tx_other_boot(c->j, newer->t) != tn_tx_other_boot(c->j, older->t))
		return false;
	return e->kind == older->e->kind && tn_entry_has_result(older->e, e->old);
}

static void collect(struct links *c, struct tn_tx *const *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c->n += set[i]->n_entry;
	c->v = gt_xcalloc(GT_MAX(c->n, 1u), sizeof(*c->v));
	c->n = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = set[i]->n_entry; k-- > 0;)
			if (!tn_entry_expired(c->j, set[i], &set[i]->entry[k]))
				c->v[c->n++] = (struct link){ .t = set[i], .e = &set[i]->entry[k] };
	for (size_t i = 0; i < c->n; i++) {
		size_t k = i + 1;

		while (k < c->n && strcmp(c->v[k].e->path, c->v[i].e->path))
			k++;
		if (k == c->n || !continues(c, &c->v[i], &c->v[k]))
			continue;
		c->v[i].older = &c->v[k];
		c->v[k].follows = true;
	}
}

/* A link cannot be judged before the newer chain on the same file is undone. */
static bool waits(const struct links *c, size_t at)
{
	for (size_t i = 0; c->failed && i < at; i++)
		if (c->v[i].e->failed && !strcmp(c->v[i].e->path, c->v[at].e->path))
			return true;
	return false;
}

/*
 * A file that the kernel resets with another value may also have an entry of its own. If that entry is restored first,
 * the file is not restored again with the other value. An entry that only persists a value, found after the reset, does
 * not count.
 */
static bool is_back_itself(const struct links *c, const char *path)
{
	gt_autofree char *now = NULL;

	if (!path || tn_value_read(c->fs, path, &now) < 0)
		return false;
	for (size_t i = 0; i < c->n; i++) {
		const struct tn_entry *e = oldest(&c->v[i]);

		if (!c->v[i].follows && e->kind == TN_ENTRY_VALUE && !strcmp(e->path, path) &&
		    !tn_value_equal(e->old, e->new_value) && tn_value_equal(now, e->old))
			return true;
	}
	return false;
}

/* Undoes the chain under the current name of its device. */
static enum tn_undo undo_here(struct links *c, const struct link *head, bool again, char **ret_now, int *ret_code)
{
	struct tn_entry here;
	struct link l = *head;
	enum tn_undo u = TN_UNDO_GONE;

	l.e = &here;
	if (tn_entry_here(c->fs, c->j, head->e, &c->host, &here)) {
		if (is_back_itself(c, here.side_path))
			here.side_path = NULL;
		u = undo_value(c->fs, &l, tn_tx_other_boot(c->j, head->t), again || cut_short(head), ret_now, ret_code);
	} else if (tn_path_hidden(c->fs, head->e->path)) {
		*ret_code = -ENOENT;
		u = TN_UNDO_FAILED;
	}
	tn_entry_here_clear(&here);
	return u;
}

static void undo_chain(struct links *c, size_t at, bool again, tn_undo_done *done, void *ctx)
{
	const struct link *head = &c->v[at];
	struct tn_entry whole = *head->e;
	gt_autofree char *now = NULL;
	enum tn_undo u;
	int code = -EAGAIN;

	whole.old = oldest(head)->old;
	c->failed -= head->e->failed;
	if (waits(c, at))
		u = TN_UNDO_FAILED;
	else if (head->e->kind == TN_ENTRY_FILE)
		u = undo_file(c->fs, head, &now, &code);
	else
		u = undo_here(c, head, again, &now, &code);
	for (const struct link *l = head; l; l = l->older) {
		l->e->failed = u == TN_UNDO_FAILED;
		l->e->stays = u == TN_UNDO_STAYS;
		l->e->unknown = u == TN_UNDO_UNKNOWN;
	}
	c->failed += head->e->failed;
	if (again || !head->e->failed)
		done(ctx, &whole, u, now, code);
}

void tn_undo(struct gt_fsroot *fs, const struct tn_journal *j, struct tn_tx *const *set, size_t n, tn_undo_done *done, void *ctx)
{
	struct links c = { .fs = fs, .j = j };

	collect(&c, set, n);
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < c.n; i++)
			if (!c.v[i].follows && (!again || c.v[i].e->failed))
				undo_chain(&c, i, again, done, ctx);
	free(c.v);
	pr_host_free(c.host);
}
