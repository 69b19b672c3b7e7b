/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile lists settings to apply, optionally with values:
 *
 *   # comment
 *   [profile]
 *   summary = one line
 *   inherit = default
 *   [knobs]
 *   vm.swappiness = off        do not change it
 *   block.read_ahead = on      apply it although it is opt-in
 *   thp.enabled = always       use this value, if it is allowed
 *
 * A profile is read from /etc/gputune/profiles/NAME.conf, or else from the built-in profiles (also installed as files).
 * --profile also accepts a file: a name with a slash. inherit accepts names only. Unknown sections, keys, knobs and
 * values are errors with file and line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/cli.h"
#include "tune/knob/list.h"
#include "tune/launch/settings.h"
#include "tune/profiles/profile.h"
#include "tune/model/file_trust.h"

#define ADMIN_DIR	"/etc/gputune/profiles"
#define INHERIT_MAX	8
#define TEXT_MAX	65536

enum section { NO_SECTION, PROFILE, KNOBS };
struct parse {
	struct gt_fsroot *fs;
	struct tn_profile *p;
	const char *file;
	unsigned line, depth;
	bool inherits; /* first pass: reads only inherited profiles, so that the profile's own lines override them at any place */
	enum section section;
	bool is_profile; /* a known section was read; before that no message quotes the file, which may be any file */
	struct gt_err *err;
};

static int load_named(struct gt_fsroot *fs, struct tn_profile *p, const char *name, unsigned depth, struct gt_err *err);

#define BAD(ps, ...)	bad(ps, gt_xasprintf(__VA_ARGS__))
static int bad(const struct parse *ps, char *what)
{
	gt_autofree char *where = ps->line ? gt_xasprintf("%s:%u", ps->file, ps->line) : gt_xstrdup(ps->file);
	int r = gt_fail_exit(ps->err, GT_EXIT_USAGE, EINVAL, "%s: %s", where, what);

	free(what);
	return r;
}

/* A later line overrides an earlier one, and the profile's own lines override inherited ones. */
static void set_knob(struct parse *ps, const char *id, const char *value)
{
	struct tn_profile *p = ps->p;
	size_t i = 0;

	while (i < p->n_set && strcmp(p->set[i].id, id))
		i++;
	if (i == p->n_set) {
		p->set = gt_xrealloc(p->set, (p->n_set + 1) * sizeof(*p->set));
		p->set[p->n_set++] = (struct tn_setting){ .id = gt_xstrdup(id) };
	}
	free(p->set[i].value);
	free(p->set[i].where);
	p->set[i].value = gt_xstrdup(value);
	p->set[i].where = gt_xasprintf("%s:%u", ps->file, ps->line);
}

static int take_knob(struct parse *ps, const char *id, const char *value)
{
	const struct tn_launch_setting *s = tn_launch_find(id);
	const struct tn_tunable *k = tn_tunable_find(id);
	struct gt_err err = { 0 };

	if (!k && !s)
		return BAD(ps, "there is no knob '%.60s'; gputune list shows them", id);
	if (strcmp(value, "on") && strcmp(value, "off")) {
		if (k && k->tag == 'C')
			return BAD(ps, "%s is reported only; its value is on or off", id);
		if ((s ? tn_launch_check_value(s, value, &err) : tn_tunable_check_value(k, NULL, value, &err)) < 0)
			return BAD(ps, "%s", err.msg);
	}
	set_knob(ps, id, value);
	return 0;
}

static int take_profile_key(struct parse *ps, const char *key, const char *value)
{
	if (!strcmp(key, "summary")) {
		free(ps->p->summary);
		ps->p->summary = gt_xstrdup(value);
		return 0;
	}
	if (strcmp(key, "inherit"))
		return BAD(ps, "unknown key '%.60s'; [profile] has summary and inherit", key);
	if (!ps->inherits)
		return 0;
	if (ps->depth >= INHERIT_MAX)
		return BAD(ps, "profiles inherit each other");
	return load_named(ps->fs, ps->p, value, ps->depth + 1, ps->err);
}

static int take_section(struct parse *ps, const char *s)
{
	ps->section = !strcmp(s, "[profile]") ? PROFILE : !strcmp(s, "[knobs]") ? KNOBS : NO_SECTION;
	if (!ps->section)
		return BAD(ps, "unknown section%s%.60s; known are [profile] and [knobs]", ps->is_profile ? " " : "",
			   ps->is_profile ? s : "");
	ps->is_profile = true;
	return 0;
}

static int take_line(struct parse *ps, char *line)
{
	char *s = gt_strip(line), *eq = strchr(s, '='), *key, *value;

	if (!*s || *s == '#' || *s == ';')
		return 0;
	if (*s == '[')
		return take_section(ps, s);
	if (!ps->section)
		return BAD(ps, "text before the first section; a profile begins with [profile] or [knobs]");
	if (!eq)
		return BAD(ps, "'%.60s' has no '='", s);
	*eq = '\0';
	key = gt_strip(s);
	value = gt_strip(eq + 1);
	if (!*value)
		return BAD(ps, "'%.60s' has no value", key);
	if (ps->inherits && (ps->section != PROFILE || strcmp(key, "inherit")))
		return 0;
	return ps->section == PROFILE ? take_profile_key(ps, key, value) : take_knob(ps, key, value);
}

static int take_lines(struct parse *ps, const char *text)
{
	gt_autofree char *copy = gt_xstrdup(text);
	char *rest = copy, *line;
	int r = 0;

	ps->line = 0;
	ps->section = NO_SECTION;
	while (r >= 0 && (line = strsep(&rest, "\n"))) {
		ps->line++;
		r = take_line(ps, line);
	}
	return r;
}

static int parse(struct gt_fsroot *fs, struct tn_profile *p, const char *file, const char *text, unsigned depth,
		 struct gt_err *err)
{
	struct parse ps = { .fs = fs, .p = p, .file = file, .depth = depth, .inherits = true, .err = err };
	int r = take_lines(&ps, text);

	if (r >= 0 && !ps.section) /* a full disk may leave an empty file: without this error, local settings would be lost
				    * silently */
		r = gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s has no section: a profile has [profile] or [knobs]", file);
	ps.inherits = false;
	return r < 0 ? r : take_lines(&ps, text);
}

static int load_file(struct gt_fsroot *fs, struct tn_profile *p, const char *path, unsigned depth, struct gt_err *err)
{
	gt_autofree char *text = NULL;
	int r = tn_trusted_read(fs, path, TEXT_MAX, &text, err);

	return r < 0 ? r : parse(fs, p, path, text, depth, err);
}

static bool is_builtin(const char *name)
{
	const struct tn_builtin_profile *b = tn_builtin_profiles;

	while (b->name && strcmp(b->name, name))
		b++;
	return b->name;
}

/* Lists local profiles, then built-in ones. */
static int no_such(struct gt_fsroot *fs, const char *name, struct gt_err *err)
{
	gt_auto_buf said = { 0 };
	gt_auto_strv files = { 0 };
	gt_autofree char *hint = NULL;

	gt_fs_list(fs, ADMIN_DIR, &files);
	for (size_t i = 0; i < files.n; i++) {
		gt_autofree char *own = gt_ends_with(files.v[i], ".conf") ?
						gt_xstrndup(files.v[i], strlen(files.v[i]) - strlen(".conf")) : NULL;

		if (own && *own && !is_builtin(own) && said.len < 512)
			gt_buf_printf(&said, "%.60s, ", own);
	}
	for (const struct tn_builtin_profile *b = tn_builtin_profiles; b->name; b++)
		gt_buf_printf(&said, "%s%s", b->name, b[1].name ? ", " : "");
	hint = gt_hint(name, tn_profile_word, said.s);
	return gt_fail_exit(err, GT_EXIT_USAGE, ENOENT, "unknown profile '%.60s', neither in " ADMIN_DIR " nor built in; %s%s",
			    name, strcmp(hint, said.s) ? "" : "known profiles are ", hint);
}

/* A name is one component of a path. Only the user can name files. Inherited profiles are read from the host in fs. */
static int load_named(struct gt_fsroot *fs, struct tn_profile *p, const char *name, unsigned depth, struct gt_err *err)
{
	gt_autofree char *admin = gt_xasprintf(ADMIN_DIR "/%s.conf", name), *text = NULL;
	int r;

	if (!*name || *name == '.' || strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
						     strlen(name))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL,
				    "'%.60s' is not a valid name of a profile: letters, digits, '.', '_' and '-' are allowed",
				    name);
	r = tn_trusted_read_host(fs, admin, TEXT_MAX, &text, err);
	if (r >= 0)
		return parse(fs, p, admin, text, depth, err);
	if (r != -ENOENT)
		return r;
	for (const struct tn_builtin_profile *b = tn_builtin_profiles; b->name; b++)
		if (!strcmp(b->name, name)) {
			gt_autofree char *file = gt_xasprintf("%s.conf", name);

			return parse(fs, p, file, b->text, depth, err);
		}
	return no_such(fs, name, err);
}

int tn_profile_set(struct tn_profile *p, const char *spec, struct gt_err *err)
{
	struct parse ps = { .p = p, .file = "--set", .err = err };
	const char *eq = strchr(spec, '=');
	gt_autofree char *id = eq ? gt_xstrndup(spec, (size_t)(eq - spec)) : NULL;

	if (!eq || !*id || !eq[1])
		return BAD(&ps, "'%.60s' is not KNOB=VALUE", spec);
	return take_knob(&ps, id, eq + 1);
}

const char *tn_profile_word(size_t i)
{
	return tn_builtin_profiles[i].name;
}

int tn_profile_load(struct gt_fsroot *fs, const struct pr_host *host, const char *name, struct tn_profile **ret,
		    struct gt_err *err)
{
	gt_auto(tn_profile) *p = gt_xcalloc(1, sizeof(*p));
	int r;

	if (!name || !strcmp(name, "auto"))
		name = pr_trains_on_gpu(host) || pr_other_gpu(host, 0) ? "train-gpu" : "train-cpu";
	p->name = gt_xstrdup(name);
	r = strchr(name, '/') ? load_file(fs, p, name, 0, err) : load_named(fs, p, name, 0, err);
	if (r < 0)
		return r;
	*ret = gt_take(p);
	return 0;
}

void tn_profile_free(struct tn_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_set; i++) {
		free(p->set[i].id);
		free(p->set[i].value);
		free(p->set[i].where);
	}
	free(p->set);
	free(p->name);
	free(p->summary);
	free(p);
}

const char *tn_profile_get(const struct tn_profile *p, const char *id)
{
	for (size_t i = 0; i < p->n_set; i++)
		if (!strcmp(p->set[i].id, id))
			return p->set[i].value;
	return NULL;
}
