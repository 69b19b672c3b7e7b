/* SPDX-License-Identifier: Apache-2.0 */
/* One event of one device, taken through all rules. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/boot/udev.h"

/* A property that a rule has set, or may have. */
struct property {
	char *name, *value; /* value NULL: taken away */
	bool known;
};
struct event {
	struct tn_udev *u;
	const struct tn_udev_device *d;
	const char *action;
	struct property *set;
	size_t n_set;
	struct gt_strv imported; /* patterns of names that something has imported since the rules began */
	struct gt_strv written;  /* attributes that earlier lines have set, or may have */
	bool sure;               /* everything of this line has held so far */
	char why[160];           /* what it depends on whether the line that is looked at is carried out */
	tn_udev_did *did;
	void *ctx;
};

static enum tn_truth truth(bool b)
{
	return b ? TN_YES : TN_NO;
}

static enum tn_truth both(enum tn_truth a, enum tn_truth b)
{
	return GT_MIN(a, b);
}

/* What a comparison says of a value that is known (TN_YES), not there (TN_NO) or not to be told. */
static enum tn_truth compare(const struct tn_udev_token *t, enum tn_truth known, const char *value)
{
	if (known == TN_MAYBE)
		return TN_MAYBE;
	return truth(tn_udev_value_matches(t, known == TN_YES ? value : NULL) == (t->op == TN_UDEV_MATCH));
}

/* ---- properties ----------------------------------------------------------------------------------------------------
 */

static void set_property(struct event *e, const char *name, const char *value, bool known)
{
	size_t i = 0;

	while (i < e->n_set && strcmp(e->set[i].name, name))
		i++;
	if (i == e->n_set) {
		e->set = gt_xrealloc(e->set, ++e->n_set * sizeof(*e->set));
		e->set[i] = (struct property){.name = gt_xstrdup(name)};
	}
	free(e->set[i].value);
	e->set[i].value = value ? gt_xstrdup(value) : NULL;
	e->set[i].known = known;
}

static enum tn_truth get_property(const struct event *e, const char *name, char **ret)
{
	enum tn_truth t;

	for (size_t i = 0; i < e->n_set; i++)
		if (!strcmp(e->set[i].name, name)) {
			*ret = e->set[i].value ? gt_xstrdup(e->set[i].value) : NULL;
			return !e->set[i].known ? TN_MAYBE : truth(*ret);
		}
	if (!strcmp(name, "ACTION")) {
		*ret = gt_xstrdup(e->action);
		return TN_YES;
	}
	t = tn_udev_property(e->d, name, ret);
	for (size_t i = 0; i < e->imported.n && t == TN_NO; i++)
		if (!fnmatch(e->imported.v[i], name, 0))
			return TN_MAYBE;
	return t;
}

/* From here on what may have been imported is not known, unless the kernel has said it or a rule sets it. */
static void forget(struct event *e, const char *pattern)
{
	gt_strv_add(&e->imported, pattern);
	for (size_t i = 0; i < e->n_set; i++)
		if (!fnmatch(pattern, e->set[i].name, 0))
			e->set[i].known = false;
}

/* The value of a word of the kernel's command line, "1" for one without; '-' and '_' are the same there. */
static enum tn_truth on_cmdline(const struct event *e, const char *name, char **ret)
{
	gt_autofree char *line = NULL;
	char *save = NULL;

	if (gt_fs_read_line(e->u->fs, "/proc/cmdline", &line) < 0)
		return TN_MAYBE;
	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		size_t n = 0;

		while (name[n] && w[n] != '=' &&
		       (w[n] == name[n] || (strchr("-_", w[n]) && w[n] && strchr("-_", name[n]))))
			n++;
		if (name[n] || (w[n] && w[n] != '='))
			continue;
		free(*ret);
		*ret = gt_xstrdup(w[n] && w[n + 1] ? w + n + 1 : "1");
	}
	return truth(*ret);
}

static enum tn_truth import(struct event *e, const struct tn_udev_token *t)
{
	gt_autofree char *value = NULL;
	enum tn_truth found;

	if (!strcmp(t->attr, "cmdline")) {
		found = on_cmdline(e, t->value, &value);
		if (found != TN_NO)
			set_property(e, t->value, value, found == TN_YES && e->sure);
		return found == TN_MAYBE ? TN_MAYBE : truth((found == TN_YES) == (t->op == TN_UDEV_MATCH));
	}
	if (!strcmp(t->attr, "db") || !strcmp(t->attr, "parent"))
		forget(e, t->value);
	else
		forget(e, !strcmp(t->attr, "builtin") && !gt_starts_with(t->value, "hwdb") ? "ID_*" : "*");
	return TN_MAYBE;
}

/* ---- substitutions -------------------------------------------------------------------------------------------------
 */

static const struct {
	const char *word;
	char letter;
} places[] = {
	{"attr", 's'},  {"env", 'E'},   {"kernel", 'k'},  {"number", 'n'},   {"devpath", 'p'}, {"root", 'r'},
	{"sys", 'S'},   {"name", 'D'},  {"devnode", 'N'}, {"tempnode", 'N'}, {"driver", 'd'},  {"id", 'b'},
	{"major", 'M'}, {"minor", 'm'}, {"result", 'c'},  {"parent", 'P'},   {"links", 'L'},
};

/* What is put in its place; false if that cannot be told. */
static bool place(const struct event *e, char letter, const char *arg, struct gt_buf *b)
{
	gt_autofree char *value = NULL;
	const char *name = e->d->name, *digits = name + strlen(name);
	enum tn_truth t = TN_YES;

	while (digits > name && isdigit((unsigned char)digits[-1]))
		digits--;
	switch (letter) {
	case 'k':
		gt_buf_puts(b, name);
		return true;
	case 'n':
		gt_buf_puts(b, digits);
		return true;
	case 'r':
		gt_buf_puts(b, "/dev");
		return true;
	case 'S':
		gt_buf_puts(b, "/sys");
		return true;
	case 'p':
		t = tn_udev_property(e->d, "DEVPATH", &value);
		break;
	case 'N':
		t = tn_udev_property(e->d, "DEVNAME", &value);
		break;
	case 'M':
		t = tn_udev_property(e->d, "MAJOR", &value);
		break;
	case 'm':
		t = tn_udev_property(e->d, "MINOR", &value);
		break;
	case 'E':
		t = arg ? get_property(e, arg, &value) : TN_MAYBE;
		break;
	case 's': /* from a parent, too, if one was matched */
		t = arg ? tn_udev_attr(e->d, arg, &value) : TN_MAYBE;
		t = t == TN_NO ? TN_MAYBE : t;
		if (value)
			value[strcspn(value, "\n")] = '\0';
		break;
	default:
		return false;
	}
	gt_buf_puts(b, t == TN_YES ? value : strchr("Mm", letter) ? "0" : "");
	return t != TN_MAYBE;
}

/* The letter of the substitution at p, which is moved behind it; '\0': none that udev knows. */
static char place_at(const char **p)
{
	if (**p == '%') {
		char c = (*p)[1];

		for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++)
			if (places[i].letter == c) {
				*p += 2;
				return c;
			}
		return '\0';
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(places); i++)
		if (gt_starts_with(*p + 1, places[i].word)) {
			*p += 1 + strlen(places[i].word);
			return places[i].letter;
		}
	return '\0';
}

/* The text with its substitutions made; NULL if one of them cannot be told. The caller frees it. */
static char *fill(const struct event *e, const char *text)
{
	gt_auto_buf b = {0};

	for (const char *p = text; *p;) {
		gt_autofree char *arg = NULL;
		char letter;

		if (!strchr("%$", *p) || p[1] == *p) {
			gt_buf_add(&b, p, 1);
			p += strchr("%$", *p) ? 2 : 1;
			continue;
		}
		letter = place_at(&p);
		if (letter && *p == '{') {
			size_t n = strcspn(p + 1, "}");

			if (!p[1 + n])
				return NULL;
			arg = gt_xstrndup(p + 1, n);
			p += n + 2;
		}
		if (!letter || !place(e, letter, arg, &b))
			return NULL;
	}
	return gt_buf_take(&b);
}

/* ---- matches -------------------------------------------------------------------------------------------------------
 */

/* Does tuning change it? Then what it is now is not what it is at boot. */
static bool is_tuned(const char *attr)
{
	const char *leaf = strrchr(attr, '/') ? strrchr(attr, '/') + 1 : attr;

	for (size_t i = 0; tn_knobs[i]; i++) {
		const char *path = tn_knobs[i]->path;

		if (path && strchr("AB", tn_knobs[i]->tag) && !strcmp(strrchr(path, '/') + 1, leaf))
			return true;
	}
	return false;
}

/* A comparison with an attribute that is not there never holds, not even !=. */
static enum tn_truth match_attr(const struct event *e, const struct tn_udev_device *d, const struct tn_udev_token *t)
{
	gt_autofree char *name = *t->attr == '[' ? NULL : fill(e, t->attr), *value = NULL;
	size_t n = strlen(t->value);
	enum tn_truth known;

	if (!name || is_tuned(name) || gt_strv_has(&e->written, name))
		return TN_MAYBE;
	known = tn_udev_attr(d, name, &value);
	if (known != TN_YES)
		return known;
	if (n && !isspace((unsigned char)t->value[n - 1]))
		for (n = strlen(value); n && isspace((unsigned char)value[n - 1]); n--)
			value[n - 1] = '\0';
	return compare(t, TN_YES, value);
}

/* Of what is not below the device nobody can say whether it is there yet when the event comes. */
static enum tn_truth match_test(const struct event *e, const struct tn_udev_token *t)
{
	gt_autofree char *name = *t->value == '[' ? NULL : fill(e, t->value), *path = NULL;
	struct stat st;

	if (!name || t->attr || strstr(name, "/*/"))
		return TN_MAYBE;
	path = *name == '/' ? gt_xstrdup(name) : gt_xasprintf("%s/%s", e->d->path, name);
	if (!gt_starts_with(path, e->d->path) || is_tuned(path))
		return TN_MAYBE;
	if (gt_fs_stat(e->u->fs, path, &st) < 0 && !e->d->whole)
		return TN_MAYBE;
	return truth((gt_fs_stat(e->u->fs, path, &st) >= 0) == (t->op == TN_UDEV_MATCH));
}

static enum tn_truth match_env(const struct event *e, const struct tn_udev_token *t)
{
	gt_autofree char *value = NULL;
	enum tn_truth known = get_property(e, t->attr, &value);

	return compare(t, known, value);
}

/* Keys of the device itself; with d a parent, those of parents. */
static enum tn_truth match(struct event *e, const struct tn_udev_device *d, const struct tn_udev_token *t)
{
	gt_autofree char *value = NULL;
	enum tn_truth known;

	switch (t->key) {
	case TN_UDEV_M_ACTION:
		return compare(t, TN_YES, e->action);
	case TN_UDEV_M_DEVPATH:
		known = tn_udev_property(d, "DEVPATH", &value);
		return compare(t, known, value);
	case TN_UDEV_M_KERNEL:
	case TN_UDEV_M_KERNELS:
		return compare(t, TN_YES, d->name);
	case TN_UDEV_M_SUBSYSTEM:
	case TN_UDEV_M_SUBSYSTEMS:
		known = tn_udev_subsystem(d, &value);
		return compare(t, known, value);
	case TN_UDEV_M_DRIVER:
	case TN_UDEV_M_DRIVERS:
		known = tn_udev_driver(d, &value);
		return compare(t, known, value);
	case TN_UDEV_M_ATTR:
	case TN_UDEV_M_ATTRS:
		return match_attr(e, d, t);
	case TN_UDEV_M_ENV:
		return match_env(e, t);
	case TN_UDEV_M_TEST:
		return match_test(e, t);
	case TN_UDEV_M_IMPORT:
		return import(e, t);
	case TN_UDEV_M_PROGRAM: /* what it prints is RESULT; the other keys do not change with it */
	default:
		return TN_MAYBE;
	}
}

static bool is_parents(const struct tn_udev_token *t)
{
	return t->key >= TN_UDEV_M_KERNELS && t->key <= TN_UDEV_M_TAGS;
}

static enum tn_truth match_parent(struct event *e, const struct tn_udev_device *d, const struct tn_udev_line *l,
				  size_t from)
{
	enum tn_truth all = TN_YES;

	for (size_t i = from; i < l->n && is_parents(&l->token[i]) && all; i++)
		all = both(all, match(e, d, &l->token[i]));
	return all;
}

/* All such keys of a line have to hold for one and the same device: this one, or one above it. */
static enum tn_truth match_parents(struct event *e, const struct tn_udev_line *l, size_t from)
{
	enum tn_truth best = match_parent(e, e->d, l, from);
	gt_autofree char *at = e->d->parent ? gt_xstrdup(e->d->parent) : NULL;

	while (at && best != TN_YES) {
		struct tn_udev_device d;

		if (!tn_udev_device_open(e->u->fs, at, &d))
			break;
		best = GT_MAX(best, match_parent(e, &d, l, from));
		free(at);
		at = gt_take(d.parent);
		tn_udev_device_clear(&d);
	}
	return best == TN_NO && !e->d->whole ? TN_MAYBE : best;
}

static void note_why(struct event *e, const struct tn_udev_token *t)
{
	if (!*e->why)
		snprintf(e->why, sizeof(e->why), "%s%s%s%s", t->name, t->attr ? "{" : "", t->attr ? t->attr : "",
			 t->attr ? "}" : "");
}

/* *ret_first: the first assignment of the line. */
static enum tn_truth match_line(struct event *e, const struct tn_udev_line *l, size_t *ret_first)
{
	enum tn_truth all = TN_YES;
	bool parents = false;
	size_t i;

	for (i = 0; i < l->n && l->token[i].key < TN_UDEV_A_OTHER && all; i++) {
		enum tn_truth one;

		if (is_parents(&l->token[i]) && parents)
			continue;
		parents |= is_parents(&l->token[i]);
		one = is_parents(&l->token[i]) ? match_parents(e, l, i) : match(e, e->d, &l->token[i]);
		if (one == TN_MAYBE)
			note_why(e, &l->token[i]);
		all = both(all, one);
		e->sure &= one == TN_YES;
	}
	*ret_first = i;
	return all;
}

/* ---- assignments ---------------------------------------------------------------------------------------------------
 */

static void assign_env(struct event *e, const struct tn_udev_token *t, bool sure)
{
	gt_autofree char *value = fill(e, t->value), *old = NULL;

	if (t->op == TN_UDEV_ADD && *t->value) {
		enum tn_truth known = get_property(e, t->attr, &old);
		gt_autofree char *both = value && known == TN_YES ? gt_xasprintf("%s %s", old, value) : NULL;

		set_property(e, t->attr, both ? both : value, sure && value && known != TN_MAYBE);
	} else if (t->op != TN_UDEV_ADD) {
		set_property(e, t->attr, *t->value ? value : NULL, sure && value);
	}
}

static void assign(struct event *e, const struct tn_udev_line *l, size_t from, bool sure)
{
	for (size_t i = from; i < l->n; i++) {
		const struct tn_udev_token *t = &l->token[i];
		gt_autofree char *value = NULL;

		if (t->key == TN_UDEV_A_ENV)
			assign_env(e, t, sure);
		if (t->key < TN_UDEV_A_ATTR)
			continue;
		value = fill(e, t->value);
		e->did(e->ctx, l, t, value, sure, sure ? "what it is replaced with" : e->why);
		if (t->key == TN_UDEV_A_ATTR)
			gt_strv_add(&e->written, t->attr);
	}
}

/* Of the ways that lead through a file (a GOTO that may or may not be taken) `here` says whether one comes by, and
 * `furthest` how far another one may have gone already. */
static void apply_file(struct event *e, size_t from, size_t to)
{
	gt_autofree bool *lands = gt_xcalloc(to - from + 1, sizeof(*lands));
	char doubt[sizeof(e->why)] = "";
	size_t furthest = from;
	bool here = true;

	for (size_t i = from; i < to; i++) {
		const struct tn_udev_line *l = &e->u->line[i];
		enum tn_truth m;
		size_t first;
		bool alone;

		here |= lands[i - from];
		if (!here)
			continue;
		alone = furthest <= i;
		if (alone)
			*doubt = '\0';
		snprintf(e->why, sizeof(e->why), "%s", doubt);
		e->sure = alone;
		m = match_line(e, l, &first);
		if (m == TN_NO)
			continue;
		assign(e, l, first, alone && m == TN_YES);
		if (!l->go_to)
			continue;
		lands[l->go_to - from] = true;
		furthest = GT_MAX(furthest, l->go_to);
		if (m == TN_YES)
			here = false;
		else
			snprintf(doubt, sizeof(doubt), "%s", e->why);
	}
}

void tn_udev_event(struct tn_udev *u, const struct tn_udev_device *d, const char *action, tn_udev_did *did, void *ctx)
{
	struct event e = {.u = u, .d = d, .action = action, .did = did, .ctx = ctx};

	tn_udev_parse(u);
	for (size_t from = 0, to; from < u->n; from = to) {
		for (to = from; to < u->n && u->line[to].file == u->line[from].file;)
			to++;
		apply_file(&e, from, to);
	}
	for (size_t i = 0; i < e.n_set; i++) {
		free(e.set[i].name);
		free(e.set[i].value);
	}
	free(e.set);
	gt_strv_clear(&e.imported);
	gt_strv_clear(&e.written);
}
