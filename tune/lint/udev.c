/* SPDX-License-Identifier: Apache-2.0 */
/* The admin's rules of udev. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "tune/lint/lint.h"
#include "tune/model/value.h"
#include "tune/boot/udev.h"

/* Values and attributes that old recipes still set. */
static const struct {
	const char *attr, *value, *what; /* globs; value NULL: any */
} dead[] = {
	{"queue/scheduler", "noop", "dead: since Linux 5.0 it is called none"},
	{"queue/scheduler", "deadline", "dead: since Linux 5.0 it is called mq-deadline"},
	{"queue/scheduler", "cfq", "dead: gone since Linux 5.0; bfq is what is nearest to it"},
	{"queue/scheduler", "anticipatory", "dead: gone since Linux 2.6.33"},
	{"queue/iosched/quantum", NULL, "dead: cfq is gone since Linux 5.0"},
	{"queue/iosched/slice_async_rq", NULL, "dead: cfq is gone since Linux 5.0"},
	{"queue/iosched/group_idle", NULL, "dead: cfq is gone since Linux 5.0"},
	{"queue/nomerges", "2", "no request is merged with another: reads in order become many small ones"},
};

/* What was assigned in one event, to be compared with what comes later. */
struct done {
	const struct tn_udev_line *line;
	const struct tn_udev_token *token;
	char *value;
	bool sure, added, changed; /* carried out when the device appears, when it changes */
};
struct lint {
	struct gt_fsroot *fs;
	struct tn_udev u;
	struct sc_findings *out;
	const struct tn_udev_device *d;
	struct done *done;
	size_t n;
	bool change;
	bool *told; /* lines that were spoken of */
};

static const char *file_of(const struct lint *c, const struct tn_udev_line *l)
{
	return c->u.files.v[l->file];
}

static bool is_admins(const char *file)
{
	return !gt_starts_with(file, "/usr/lib/");
}

/* One finding a line, however many devices it is for. */
static void find(struct lint *c, enum sc_severity severity, const struct tn_udev_line *l, char *what)
{
	size_t i = (size_t)(l - c->u.line);

	if (c->told[i] || !is_admins(file_of(c, l))) {
		free(what);
		return;
	}
	c->told[i] = true;
	sc_find(c->out, severity, file_of(c, l), l->no, what);
}

/* ---- what can be said of a line by itself ---------------------------------------------------------------------------
 */

static void judge_token(struct lint *c, const struct tn_udev_line *l, const struct tn_udev_token *t)
{
	if (t->key == TN_UDEV_A_RUN && strpbrk(t->value, "<>|;&") && !strstr(t->value, "sh -c") &&
	    !strstr(t->value, "bash -c"))
		find(c, SC_WARN, l,
		     gt_xasprintf("RUN: udev starts a program, no shell: '%c' is handed to it as it is; write "
				  "/bin/sh -c '...'",
				  *strpbrk(t->value, "<>|;&")));
	for (size_t i = 0; i < GT_ARRAY_SIZE(dead) && t->key == TN_UDEV_A_ATTR; i++)
		if (!fnmatch(dead[i].attr, t->attr, 0) && (!dead[i].value || !strcmp(dead[i].value, t->value)))
			find(c, SC_WARN, l, gt_xasprintf("%s = %.40s: %s", t->attr, t->value, dead[i].what));
	if (t->key == TN_UDEV_A_SYSCTL && !strpbrk(t->attr, "%$") && is_admins(file_of(c, l)))
		sc_lint_one(c->fs, t->attr, strpbrk(t->value, "%$") ? NULL : t->value, file_of(c, l), l->no, c->out);
}

static void judge_lines(struct lint *c)
{
	for (size_t i = 0; i < c->u.n_problem; i++)
		if (is_admins(c->u.files.v[c->u.problem[i].file]))
			sc_find(c->out, SC_WARN, c->u.files.v[c->u.problem[i].file], c->u.problem[i].no,
				gt_xasprintf("ignored by udev: %s", c->u.problem[i].what));
	for (size_t i = 0; i < c->u.n; i++)
		for (size_t k = 0; k < c->u.line[i].n; k++)
			judge_token(c, &c->u.line[i], &c->u.line[i].token[k]);
}

/* ---- what it comes to for a disk of this host
 * ------------------------------------------------------------------------ */

static void note(void *ctx, const struct tn_udev_line *l, const struct tn_udev_token *t, const char *value, bool sure,
		 const char *why)
{
	struct lint *c = ctx;
	struct done *a = NULL;

	if (t->key != TN_UDEV_A_ATTR || strchr("[.", *t->attr) || strchr(t->attr, '*'))
		return;
	for (size_t i = 0; i < c->n; i++)
		if (c->done[i].token == t)
			a = &c->done[i];
	if (!a) {
		c->done = gt_xrealloc(c->done, (c->n + 1) * sizeof(*c->done));
		a = &c->done[c->n++];
		*a = (struct done){.line = l, .token = t, .value = value ? gt_xstrdup(value) : NULL, .sure = sure};
	}
	a->added |= !c->change;
	a->changed |= c->change;
}

/* The last line that replaces it in each event in which it is carried out. */
static const struct done *replaced_by(const struct lint *c, const struct done *a)
{
	for (size_t i = c->n; i-- > 0;) {
		const struct done *b = &c->done[i];

		if (strcmp(a->token->attr, b->token->attr) || b->line < a->line || b == a)
			continue;
		if (b->sure && b->value && a->value && strcmp(a->value, b->value) && b->added >= a->added &&
		    b->changed >= a->changed)
			return b;
	}
	return NULL;
}

static void judge_done(struct lint *c, const struct done *a)
{
	const struct done *b = replaced_by(c, a);
	gt_autofree char *path = tn_udev_attr_path(c->d, a->token->attr), *line = NULL;

	if (b) {
		find(c, SC_WARN, a->line,
		     gt_xasprintf("%s = %.40s: not so on %s, %s:%u sets it to %.40s later", a->token->attr, a->value,
				  c->d->name, file_of(c, b->line), b->line->no, b->value));
		return;
	}
	if (a->sure && c->d->whole && !gt_fs_exists(c->fs, path))
		find(c, SC_NOTE, a->line, gt_xasprintf("%s: %s has no such attribute", a->token->attr, c->d->name));
	else if (a->sure && !a->added)
		find(c, SC_NOTE, a->line,
		     gt_xasprintf("%s: not at boot: for ACTION \"change\" only, which %s reports after it was open "
				  "for writing",
				  a->token->attr, c->d->name));
	else if (a->sure && a->value && !strcmp(a->token->attr, "queue/scheduler") &&
		 gt_fs_read_line(c->fs, path, &line) >= 0 && strchr(line, '[') && !tn_offers(line, a->value))
		find(c, SC_NOTE, a->line,
		     gt_xasprintf("queue/scheduler = %.40s: %s offers %s; it takes this only if the kernel "
				  "finds its module",
				  a->value, c->d->name, line));
}

static void judge_device(struct lint *c, const char *path)
{
	struct tn_udev_device d;

	if (!tn_udev_device_open(c->fs, path, &d))
		return;
	c->d = &d;
	c->change = false;
	tn_udev_event(&c->u, &d, "add", note, c);
	c->change = true;
	tn_udev_event(&c->u, &d, "change", note, c);
	for (size_t i = 0; i < c->n; i++)
		judge_done(c, &c->done[i]);
	for (size_t i = 0; i < c->n; i++)
		free(c->done[i].value);
	free(gt_take(c->done));
	c->n = 0;
	c->d = NULL;
	tn_udev_device_clear(&d);
}

void tn_lint_udev(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct lint c = {.fs = fs, .out = ret};
	gt_auto_strv disks = {0};
	bool any = false;

	tn_lint_unread(fs, "/etc/udev/rules.d", ".rules", "udev", ret);
	tn_udev_load(fs, SC_NOW, &c.u);
	for (size_t i = 0; i < c.u.files.n; i++)
		any |= is_admins(c.u.files.v[i]);
	if (any) { /* what the distribution ships is not the admin's to mend */
		tn_udev_parse(&c.u);
		c.told = gt_xcalloc(c.u.n + 1, sizeof(*c.told));
		judge_lines(&c);
		gt_fs_list(fs, "/sys/block", &disks);
		for (size_t i = 0; i < disks.n; i++) {
			gt_autofree char *path = gt_xasprintf("/sys/block/%s", disks.v[i]);

			judge_device(&c, path);
		}
		free(c.told);
	}
	tn_udev_clear(&c.u);
}
