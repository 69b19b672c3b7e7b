/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates the conditions of rules in one event of one device. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "tune/boot/udev.h"
#include "tune/knob/list.h"

struct event {
	const struct tn_udev_device *d;
	const char *action;
	struct gt_strv written; /* attributes that earlier rules have set, or may have */
	char why[160];		/* reason why the current rule is uncertain; "": it is certain */
};

/* ---- the device ---- */

/* Returns the subsystem of a device; NULL: unknown. A captured host has no links, so its paths decide. */
static char *find_subsystem(struct gt_fsroot *fs, const char *dir, bool whole)
{
	static const char *const known[][2] = {
		{"/sys/module/*", "module"}, {"/sys/block/*", "block"}, {"/sys/devices/system/cpu/cpu[0-9]*", "cpu"}};
	gt_autofree char *link = gt_xasprintf("%s/subsystem", dir), *target = NULL;

	if (gt_fs_readlink(fs, link, &target) >= 0)
		return gt_xstrdup(gt_basename(target));
	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (!fnmatch(known[i][0], dir, FNM_PATHNAME))
			return gt_xstrdup(known[i][1]);
	return whole ? gt_xstrdup("") : NULL;
}

bool tn_udev_device_open(struct gt_fsroot *fs, const char *path, struct tn_udev_device *ret)
{
	struct tn_udev_device d = {.fs = fs};
	gt_autofree char *uevent = NULL;
	struct stat st;

	if (gt_fs_stat(fs, path, &st) < 0 || !S_ISDIR(st.st_mode) || gt_fs_realpath(fs, path, &d.path) < 0)
		return false;
	uevent = gt_xasprintf("%s/uevent", d.path);
	d.whole = gt_fs_exists(fs, uevent);
	d.subsystem = find_subsystem(fs, d.path, d.whole);
	d.name = gt_xstrdup(gt_basename(d.path));
	for (char *p = d.name; *p; p++) /* sysfs writes '!' for a slash in the name */
		*p = *p == '!' ? '/' : *p;
	if (!gt_starts_with(d.path, "/sys/") || !d.subsystem) {
		tn_udev_device_clear(&d);
		return false;
	}
	*ret = d;
	return true;
}

void tn_udev_device_clear(struct tn_udev_device *d)
{
	free(d->path);
	free(d->name);
	free(d->subsystem);
	*d = (struct tn_udev_device){0};
}

/* TN_YES: *ret is the value; the caller frees it. TN_NO: the device lacks the attribute. TN_MAYBE: unknown. */
static enum tn_truth get_attr(const struct tn_udev_device *d, const char *name, char **ret)
{
	gt_autofree char *path = gt_xasprintf("%s/%s", d->path, name);
	struct stat st;

	if (gt_fs_lstat(d->fs, path, &st) < 0)
		return d->whole ? TN_NO : TN_MAYBE;
	if (S_ISDIR(st.st_mode) || !(st.st_mode & S_IRUSR))
		return TN_NO;
	/* udevd replaces some links by the name of their target */
	return S_ISLNK(st.st_mode) || gt_fs_read(d->fs, path, ret, NULL) < 0 ? TN_MAYBE : TN_YES;
}

/* ---- conditions ---- */

/* For udevd each of these three words means any of the three directories. */
static bool is_any_subsystem(const char *s)
{
	return !strcmp(s, "subsystem") || !strcmp(s, "bus") || !strcmp(s, "class");
}

/* Returns whether s matches one of the patterns separated by '|'. An empty pattern matches an empty s. */
static bool matches(const struct tn_udev_token *t, const char *s)
{
	bool glob = strpbrk(t->value, "*?[");

	if (!strcmp(t->key, "SUBSYSTEM") && is_any_subsystem(t->value))
		return is_any_subsystem(s);
	for (const char *p = t->value;; p++) {
		size_t n = strcspn(p, "|");
		gt_autofree char *one = gt_xstrndup(p, n);

		if (n && glob ? !fnmatch(one, s, 0) : !strcmp(one, s))
			return true;
		p += n;
		if (!*p)
			return false;
	}
}

/* An attribute that tuning changes has another value at boot than now. */
static bool is_tuned(const char *attr)
{
	for (size_t i = 0; tn_tunables[i]; i++)
		if (tn_tunables[i]->path && strchr("AB", tn_tunables[i]->tag) &&
		    !strcmp(gt_basename(tn_tunables[i]->path), gt_basename(attr)))
			return true;
	return false;
}

/* A comparison with an attribute that does not exist never holds, not even !=. Blanks at the end of a value count only if the
 * pattern ends in one or is empty. */
static enum tn_truth attr_holds(const struct event *e, const struct tn_udev_token *t)
{
	gt_autofree char *value = NULL;
	size_t n = strlen(t->value);
	bool blanks = !n || isspace((unsigned char)t->value[n - 1]);
	enum tn_truth known = TN_MAYBE;

	if (!is_tuned(t->name) && !gt_strv_has(&e->written, t->name))
		known = get_attr(e->d, t->name, &value);
	if (known != TN_YES)
		return known;
	for (n = strlen(value); n && (blanks ? strchr("\r\n", value[n - 1]) != NULL : isspace((unsigned char)value[n - 1])); n--)
		value[n - 1] = '\0';
	return matches(t, value) == (t->op == TN_UDEV_MATCH) ? TN_YES : TN_NO;
}

static enum tn_truth holds(const struct event *e, const struct tn_udev_token *t)
{
	const char *value = *t->key == 'A' ? e->action : *t->key == 'K' ? e->d->name : e->d->subsystem;

	if (t->name)
		return attr_holds(e, t);
	return matches(t, value) == (t->op == TN_UDEV_MATCH) ? TN_YES : TN_NO;
}

/* Returns false if the rule is not carried out. If it may be carried out, sets e->why. */
static bool applies(struct event *e, const struct tn_udev_rule *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct tn_udev_token *t = &r->token[i];
		enum tn_truth one = t->evaluated && tn_udev_compares(t) ? holds(e, t) : TN_YES;

		if (one == TN_NO)
			return false;
		if (one == TN_MAYBE && !*e->why)
			snprintf(e->why, sizeof(e->why), "ATTR{%s}", t->name);
	}
	if (r->unread && !*e->why)
		snprintf(e->why, sizeof(e->why), "%s", r->unread);
	return true;
}

/* ---- the event ---- */

void tn_udev_event(struct tn_udev *u, const struct tn_udev_device *d, const char *action, tn_udev_did *did, void *ctx)
{
	struct event e = {.d = d, .action = action};
	char doubt[sizeof(e.why)] = ""; /* a jump over the rules before doubt_until may be taken */
	size_t doubt_until = 0;

	tn_udev_parse(u);
	for (size_t i = 0; i < u->n; i++) {
		const struct tn_udev_rule *r = &u->rule[i];

		snprintf(e.why, sizeof(e.why), "%s", i < doubt_until ? doubt : "");
		if (!applies(&e, r))
			continue;
		for (size_t k = 0; k < r->n; k++) {
			const struct tn_udev_token *t = &r->token[k];

			if (tn_udev_compares(t))
				continue;
			did(ctx, r, t, *e.why ? e.why : t->literal ? NULL : "its substitutions");
			if (!strcmp(t->key, "ATTR"))
				gt_strv_add(&e.written, t->name);
		}
		if (r->go_to && *e.why) {
			doubt_until = GT_MAX(doubt_until, r->go_to);
			snprintf(doubt, sizeof(doubt), "%s", e.why);
		} else if (r->go_to) {
			i = r->go_to - 1;
		}
	}
	gt_strv_clear(&e.written);
}
