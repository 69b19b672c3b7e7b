/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "sysctl/sysctl.h"

static const char *const parents[] = { "/etc", "/run", "/usr/local/lib", "/usr/lib" };

/* ---- which files, in which order ------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
	return strcmp(gt_basename(*(char *const *)a), gt_basename(*(char *const *)b));
}

static bool has_name(const struct gt_strv *files, const char *name)
{
	for (size_t i = 0; i < files->n; i++)
		if (!strcmp(gt_basename(files->v[i]), name))
			return true;
	return false;
}

int sc_dropins(struct gt_fsroot *fs, const char *kind, const char *suffix, enum sc_when when, const struct sc_overlay *overlay,
	       struct gt_strv *ret, struct gt_err *err)
{
	for (size_t d = 0; d < GT_ARRAY_SIZE(parents); d++) {
		gt_autofree char *dir = gt_xasprintf("%s/%s", parents[d], kind);
		gt_auto_strv names = { 0 };
		int r;

		if (when == SC_NEXT_BOOT && !strcmp(parents[d], "/run"))
			continue;
		r = gt_fs_list(fs, dir, &names);
		if (r < 0 && r != -ENOENT && r != -ENOTDIR)
			return gt_fail_errno(err, -r, "cannot list %s", dir);
		if (overlay && overlay->text && gt_starts_with(overlay->path, dir) && overlay->path[strlen(dir)] == '/' &&
		    !gt_strv_has(&names, gt_basename(overlay->path)))
			gt_strv_add(&names, gt_basename(overlay->path));
		for (size_t i = 0; i < names.n; i++) {
			gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);

			if (!gt_ends_with(names.v[i], suffix) || *names.v[i] == '.' || has_name(ret, names.v[i]))
				continue;
			if (overlay && !overlay->text && !strcmp(overlay->path, path))
				continue;
			gt_strv_add(ret, path);
		}
	}
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_name);
	return 0;
}

/* ---- one file ------------------------------------------------------------------------------------------------- */

static void problem(struct sc_conf *c, const char *file, unsigned line, const char *fmt, ...) GT_PRINTF(4, 5);
static void problem(struct sc_conf *c, const char *file, unsigned line, const char *fmt, ...)
{
	char what[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	c->problem = gt_xrealloc(c->problem, (c->n_problem + 1) * sizeof(*c->problem));
	c->problem[c->n_problem++] = (struct sc_problem){ gt_xstrdup(file), line, gt_xstrdup(what) };
}

static void add(struct sc_conf *c, const char *file, unsigned line, const char *key, const char *value, bool ignore_failure)
{
	struct sc_assign a = { .key = sc_normalize(key), .value = value ? gt_xstrdup(value) : NULL,
			       .ignore_failure = ignore_failure, .file = gt_xstrdup(file), .line = line };

	a.glob = strpbrk(a.key, "*?[") != NULL;
	c->all = gt_xrealloc(c->all, (c->n_all + 1) * sizeof(*c->all));
	c->all[c->n_all++] = a;
}

static void parse_line(struct sc_conf *c, const char *file, unsigned line_no, char *line)
{
	char *p = gt_strip(line), *eq;
	bool minus;

	if (!*p || strchr("#;", *p))
		return;
	eq = strchr(p, '=');
	minus = *p == '-';
	if (!eq && !minus) {
		problem(c, file, line_no, "not an assignment: '%.80s'", p);
		return;
	}
	p += minus;
	if (eq)
		*eq = '\0';
	p = gt_strip(p);
	if (!*p)
		problem(c, file, line_no, "no key before the '='");
	else
		add(c, file, line_no, p, eq ? gt_strip(eq + 1) : NULL, minus);
}

static void parse_text(struct sc_conf *c, const char *file, char *text)
{
	unsigned line_no = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		parse_line(c, file, ++line_no, line);
	}
}

static void load_file(struct gt_fsroot *fs, const struct sc_overlay *overlay, struct sc_conf *c, const char *file)
{
	gt_autofree char *text = NULL, *target = NULL;
	size_t len;
	int r;

	if (overlay && overlay->text && !strcmp(overlay->path, file)) {
		text = gt_xstrdup(overlay->text);
	} else {
		if (gt_fs_readlink(fs, file, &target) >= 0 && !strcmp(target, "/dev/null"))
			return; /* masked */
		r = gt_fs_read(fs, file, &text, &len);
		if (r < 0) {
			problem(c, file, 0, "cannot be read: %s", strerror(-r));
			return;
		}
		if (strlen(text) != len)
			problem(c, file, 0, "contains a NUL byte; the text after it is not read");
	}
	parse_text(c, file, text);
}

/* ---- what counts ---------------------------------------------------------------------------------------------- */

/*
 * Like systemd: if a key gets the same value again, its first assignment keeps its place. With another value the
 * assignment moves to the place of the later line.
 */
static void settle(struct sc_conf *c)
{
	c->effective = gt_xcalloc(c->n_all + 1, sizeof(*c->effective));
	for (size_t i = 0; i < c->n_all; i++) {
		struct sc_assign *a = &c->all[i];
		size_t k = 0;

		while (k < c->n_effective && strcmp(c->all[c->effective[k]].key, a->key))
			k++;
		if (k < c->n_effective && gt_streq(c->all[c->effective[k]].value, a->value)) {
			c->all[c->effective[k]].ignore_failure |= a->ignore_failure;
			continue;
		}
		if (k < c->n_effective) {
			memmove(&c->effective[k], &c->effective[k + 1], (c->n_effective - k - 1) * sizeof(*c->effective));
			c->n_effective--;
		}
		c->effective[c->n_effective++] = i;
	}
}

int sc_conf_load(struct gt_fsroot *fs, enum sc_when when, const struct sc_overlay *overlay, struct sc_conf **ret,
		 struct gt_err *err)
{
	gt_auto(sc_conf) *c = gt_xcalloc(1, sizeof(*c));
	int r = sc_dropins(fs, "sysctl.d", ".conf", when, overlay, &c->files, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->files.n; i++)
		load_file(fs, overlay, c, c->files.v[i]);
	settle(c);
	*ret = gt_take(c);
	return 0;
}

const struct sc_assign *sc_boot_value(const struct sc_conf *c, const char *key)
{
	gt_autofree char *want = sc_normalize(key);
	const struct sc_assign *by_glob = NULL;

	for (size_t i = 0; i < c->n_effective; i++) {
		const struct sc_assign *a = &c->all[c->effective[i]];

		if (!strcmp(a->key, want))
			return a->value ? a : NULL; /* "-key" excludes the key from globs and sets nothing */
		/* every matching glob is applied, so the last one decides */
		if (a->glob && a->value && !fnmatch(a->key, want, FNM_PATHNAME | FNM_PERIOD))
			by_glob = a;
	}
	return by_glob;
}

void sc_conf_free(struct sc_conf *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n_all; i++) {
		free(c->all[i].key);
		free(c->all[i].value);
		free(c->all[i].file);
	}
	for (size_t i = 0; i < c->n_problem; i++) {
		free(c->problem[i].file);
		free(c->problem[i].what);
	}
	free(c->all);
	free(c->effective);
	free(c->problem);
	gt_strv_clear(&c->files);
	free(c);
}
