/* SPDX-License-Identifier: Apache-2.0 */
/* Checks local rules of udev. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "tune/lint/lint.h"
#include "tune/model/value.h"
#include "tune/boot/udev.h"

/* Values and attributes that old recipes still set, as patterns. value NULL: any value. */
static const struct {
	const char *attr, *value, *what;
} dead[] = {
	{"queue/scheduler", "noop", "outdated: it is called none since Linux 5.0"},
	{"queue/scheduler", "deadline", "outdated: it is called mq-deadline since Linux 5.0"},
	{"queue/scheduler", "cfq", "outdated: removed in Linux 5.0; bfq is the closest scheduler"},
	{"queue/scheduler", "anticipatory", "outdated: removed in Linux 2.6.33"},
	{"queue/iosched/quantum", NULL, "outdated: cfq was removed in Linux 5.0"},
	{"queue/iosched/slice_async_rq", NULL, "outdated: cfq was removed in Linux 5.0"},
	{"queue/iosched/group_idle", NULL, "outdated: cfq was removed in Linux 5.0"},
	{"queue/nomerges", "2", "no requests are merged: reads in order become many small ones"},
};

/* An assignment carried out by the events of one disk. */
struct done {
	const struct tn_udev_rule *rule;
	const struct tn_udev_token *token;
	bool sure, added, changed; /* certain; carried out at "add"; carried out at "change" */
};
struct lint {
	struct gt_fsroot *fs;
	struct tn_udev u;
	struct sc_findings *out;
	struct done *done; /* assignments for the current disk */
	size_t n;
	bool change;	/* the current event is "change" */
	bool *reported; /* whether a rule was reported, by its index */
};

static const char *file_of(const struct lint *c, const struct tn_udev_rule *r)
{
	return c->u.files.v[r->file];
}

static bool is_local(const char *file)
{
	return !gt_starts_with(file, "/usr/lib/");
}

/* Adds one finding per rule, for the first disk only. */
static void find(struct lint *c, enum sc_severity severity, const struct tn_udev_rule *r, char *what)
{
	size_t i = (size_t)(r - c->u.rule);

	if (c->reported[i] || !is_local(file_of(c, r))) {
		free(what);
		return;
	}
	c->reported[i] = true;
	sc_find(c->out, severity, file_of(c, r), r->line, what);
}

/* ---- findings that need no device ---- */

static void judge_token(struct lint *c, const struct tn_udev_rule *r, const struct tn_udev_token *t)
{
	if (tn_udev_sets(t, "RUN") && strpbrk(t->value, "<>|;&") && !strstr(t->value, "sh -c"))
		find(c, SC_WARN, r,
		     gt_xasprintf("RUN: udev starts a program, not a shell, and passes '%c' to it unchanged; use /bin/sh -c "
				  "'...'",
				  *strpbrk(t->value, "<>|;&")));
	for (size_t i = 0; i < GT_ARRAY_SIZE(dead) && tn_udev_sets(t, "ATTR"); i++)
		if (!fnmatch(dead[i].attr, t->name, 0) && (!dead[i].value || !strcmp(dead[i].value, t->value)))
			find(c, SC_WARN, r, gt_xasprintf("%s = %.40s: %s", t->name, t->value, dead[i].what));
	if (tn_udev_sets(t, "SYSCTL") && !strpbrk(t->name, "%$") && is_local(file_of(c, r)))
		sc_lint_one(c->fs, t->name, t->literal ? t->value : NULL, file_of(c, r), r->line, c->out);
}

static void judge_lines(struct lint *c)
{
	for (size_t i = 0; i < c->u.n_problem; i++) {
		const struct tn_udev_problem *p = &c->u.problem[i];

		if (is_local(c->u.files.v[p->file]))
			sc_find(c->out, SC_WARN, c->u.files.v[p->file], p->line, gt_xasprintf("ignored by udev: %s", p->what));
	}
	for (size_t i = 0; i < c->u.n; i++)
		for (size_t k = 0; k < c->u.rule[i].n; k++)
			judge_token(c, &c->u.rule[i], &c->u.rule[i].token[k]);
}

/* ---- findings for a disk of this host ---- */

static void note(void *ctx, const struct tn_udev_rule *r, const struct tn_udev_token *t, const char *depends_on)
{
	struct lint *c = ctx;
	size_t i = 0;

	if (!tn_udev_sets(t, "ATTR") || strpbrk(t->name, "[*%$") || strstr(t->name, ".."))
		return;
	while (i < c->n && c->done[i].token != t)
		i++;
	if (i == c->n) {
		c->done = gt_xrealloc(c->done, (c->n + 1) * sizeof(*c->done));
		c->done[c->n++] = (struct done){.rule = r, .token = t, .sure = !depends_on};
	}
	c->done[i].added |= !c->change;
	c->done[i].changed |= c->change;
}

/* Returns the last certain assignment of another value that follows `a` in each event that carries out `a`. */
static const struct done *replaced_by(const struct lint *c, const struct done *a)
{
	for (size_t i = c->n; i-- > 0;) {
		const struct done *b = &c->done[i];

		if (b->sure && a->token->literal && b->rule >= a->rule && b->added >= a->added && b->changed >= a->changed &&
		    !strcmp(a->token->name, b->token->name) && strcmp(a->token->value, b->token->value))
			return b;
	}
	return NULL;
}

static void judge_done(struct lint *c, const struct tn_udev_device *d, const struct done *a)
{
	const char *attr = a->token->name, *value = a->token->value;
	gt_autofree char *path = gt_xasprintf("%s/%s", d->path, attr), *line = NULL;
	const struct done *b = replaced_by(c, a);

	if (b)
		find(c, SC_WARN, a->rule,
		     gt_xasprintf("%s = %.40s: overridden on %s, %s:%u sets it to %.40s later", attr, value, d->name,
				  file_of(c, b->rule), b->rule->line, b->token->value));
	else if (!a->sure)
		return;
	else if (d->whole && !gt_fs_exists(c->fs, path))
		find(c, SC_NOTE, a->rule, gt_xasprintf("%s: %s has no such attribute", attr, d->name));
	else if (!a->added)
		find(c, SC_NOTE, a->rule,
		     gt_xasprintf("%s: not at boot: it applies to ACTION \"change\" only, which %s reports after it was open "
				  "for writing",
				  attr, d->name));
	else if (!strcmp(attr, "queue/scheduler") && gt_fs_read_line(c->fs, path, &line) >= 0 && strchr(line, '[') &&
		 !tn_offers(line, value))
		find(c, SC_NOTE, a->rule,
		     gt_xasprintf("queue/scheduler = %.40s: %s offers %s; it accepts this value only if the kernel finds its "
				  "module",
				  value, d->name, line));
}

static void judge_disk(struct lint *c, const char *name)
{
	gt_autofree char *path = gt_xasprintf("/sys/block/%s", name);
	struct tn_udev_device d;

	if (!tn_udev_device_open(c->fs, path, &d))
		return;
	c->n = 0;
	c->change = false;
	tn_udev_event(&c->u, &d, "add", note, c);
	c->change = true;
	tn_udev_event(&c->u, &d, "change", note, c);
	for (size_t i = 0; i < c->n; i++)
		judge_done(c, &d, &c->done[i]);
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
		any |= is_local(c.u.files.v[i]);
	if (any) { /* files of packages are checked only for conflicts with local files */
		tn_udev_parse(&c.u);
		c.reported = gt_xcalloc(c.u.n + 1, sizeof(*c.reported));
		judge_lines(&c);
		gt_fs_list(fs, "/sys/block", &disks);
		for (size_t i = 0; i < disks.n; i++)
			judge_disk(&c, disks.v[i]);
		free(c.done);
		free(c.reported);
	}
	tn_udev_clear(&c.u);
}
