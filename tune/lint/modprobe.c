/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/compat/costly_options.h"
#include "tune/lint/lint.h"

#define BLANKS " \t"

/* One word of an options line. module and name have '_' for '-', as in the kernel. value NULL: a switch. */
struct option {
	char *module, *name, *value, *file;
	unsigned line;
};
struct conf {
	struct gt_fsroot *fs;
	struct sc_findings *out;
	char *builtin; /* modules.builtin of the running kernel; NULL: unknown */
	char *nvidia;  /* parameters of the loaded NVIDIA module */
	struct option *opt;
	size_t n;
	struct gt_strv dead;    /* modules that an install line disables, */
	struct gt_strv dead_by; /* and "FILE:LINE" of that line */
};

void tn_lint_unread(struct gt_fsroot *fs, const char *dir, const char *suffix, const char *reader,
		    struct sc_findings *ret)
{
	static const char *const left[] = {"~",         ".swp",      ".bak",      ".orig",     ".save",
					   ".disabled", "README",    ".dpkg-old", ".dpkg-new", ".dpkg-dist",
					   ".dpkg-bak", ".dpkg-tmp", ".ucf-old",  ".ucf-dist"};
	gt_auto_strv names = {0};

	gt_fs_list(fs, dir, &names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", dir, names.v[i]);
		bool meant = *names.v[i] != '.' && !gt_ends_with(names.v[i], suffix);
		struct stat st;

		for (size_t k = 0; k < GT_ARRAY_SIZE(left); k++)
			meant = meant && !gt_ends_with(names.v[i], left[k]);
		if (meant && gt_fs_stat(fs, path, &st) >= 0 && S_ISREG(st.st_mode))
			sc_find(ret, SC_WARN, path, 0,
				gt_xasprintf("not read: %s reads only names that end in %s", reader, suffix));
	}
}

static char *underscored(const char *s, size_t n)
{
	char *d = gt_xstrndup(s, n);

	for (char *p = d; *p; p++)
		*p = *p == '-' ? '_' : *p;
	return d;
}

/* Returns the next word with its quotes; blanks within quotes belong to it. *p moves past it. The caller frees it;
 * NULL: the end. */
static char *word(const char **p)
{
	const char *start = *p + strspn(*p, BLANKS), *end = start;
	bool quoted = false;

	for (; *end && (quoted || !strchr(BLANKS, *end)); end++)
		quoted ^= *end == '"';
	*p = end;
	return end > start ? gt_xstrndup(start, (size_t)(end - start)) : NULL;
}

static void parse_options(struct conf *c, const char *rest, const char *file, unsigned line)
{
	gt_autofree char *module = word(&rest), *one = NULL;

	for (; module && (one = word(&rest)); free(gt_take(one))) {
		size_t n = strcspn(one, "=");

		c->opt = gt_xrealloc(c->opt, (c->n + 1) * sizeof(*c->opt));
		c->opt[c->n++] = (struct option){.module = underscored(module, strlen(module)),
						 .name = underscored(one, n),
						 .value = one[n] ? gt_xstrdup(one + n + 1) : NULL,
						 .file = gt_xstrdup(file),
						 .line = line};
	}
}

static bool is_nvidia(const char *module)
{
	return !strcmp(module, "nvidia") || !strcmp(module, "nvidia_uvm") || !strcmp(module, "nvidia_current");
}

/* Parses "install MODULE COMMAND". If the command is true or false, the module is never loaded. */
static void parse_install(struct conf *c, const char *rest, const char *file, unsigned line)
{
	gt_autofree char *raw = word(&rest), *command = word(&rest), *module = NULL;
	const char *base;

	if (!raw || !command)
		return;
	module = underscored(raw, strlen(raw));
	base = gt_basename(command);
	if (strcmp(base, "true") && strcmp(base, "false") && strcmp(base, ":"))
		return;
	gt_strv_add(&c->dead, module);
	gt_strv_take(&c->dead_by, gt_xasprintf("%s:%u", file, line));
	if (is_nvidia(module))
		sc_find(c->out, SC_BAD, file, line,
			gt_xasprintf("%s is never loaded, so no program can use the GPU", raw));
}

static void take_line(struct conf *c, const char *text, const char *file, unsigned line)
{
	static const char *const known[] = {"alias", "remove", "softdep", "weakdep"};
	const char *rest = text;
	gt_autofree char *first = word(&rest);

	if (!first || *first == '#')
		return;
	if (!strcmp(first, "options")) {
		parse_options(c, rest, file, line);
		return;
	}
	if (!strcmp(first, "install")) {
		parse_install(c, rest, file, line);
		return;
	}
	if (!strcmp(first, "blacklist")) {
		gt_autofree char *raw = word(&rest), *module = raw ? underscored(raw, strlen(raw)) : NULL;

		if (module && is_nvidia(module))
			sc_find(c->out, SC_WARN, file, line,
				gt_xasprintf("%s is not loaded at boot, only when a program requests it by name", raw));
		return;
	}
	for (size_t i = 0; i < GT_ARRAY_SIZE(known); i++)
		if (!strcmp(first, known[i]))
			return;
	sc_find(c->out, SC_WARN, file, line, gt_xasprintf("ignored: modprobe does not know '%.40s'", first));
}

/* A backslash at the end joins a line with the next one. */
static void parse_file(struct conf *c, const char *file)
{
	gt_autofree char *text = NULL;
	gt_auto_buf whole = {0};
	unsigned no = 0, start = 1;
	char *rest;

	if (gt_fs_read(c->fs, file, &text, NULL) < 0)
		return;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		size_t n = strlen(line);
		bool joined = n && line[n - 1] == '\\';

		no++;
		if (!whole.len)
			start = no;
		gt_buf_add(&whole, line, joined ? n - 1 : n);
		if (joined && rest) {
			gt_buf_puts(&whole, " ");
			continue;
		}
		if (whole.len)
			take_line(c, whole.s, file, start);
		gt_buf_clear(&whole);
	}
}

/* ---- judgement ---- */

/* Searches for the module in modules.builtin, which has lines such as "kernel/drivers/nvme/host/nvme-core.ko". */
static bool is_builtin(const struct conf *c, const char *module)
{
	for (const char *p = c->builtin; p && *p;) {
		size_t n = strcspn(p, "\n");
		const char *base = memrchr(p, '/', n);

		if (base) {
			size_t len = (size_t)(p + n - base - 1);
			gt_autofree char *name = underscored(base + 1, len > 3 ? len - 3 : len);

			if (!strcmp(name, module))
				return true;
		}
		p += n + (p[n] == '\n');
	}
	return false;
}

static bool all_of_module_said(const struct conf *c, size_t at)
{
	return at && !strcmp(c->opt[at].module, c->opt[at - 1].module) && c->opt[at].line == c->opt[at - 1].line &&
	       !strcmp(c->opt[at].file, c->opt[at - 1].file);
}

/* Reports once per line that its module is missing, so that its options have no effect. */
static bool judge_module(struct conf *c, size_t at)
{
	const struct option *o = &c->opt[at];
	bool dead = false;

	for (size_t i = 0; i < c->dead.n && !dead; i++)
		if ((dead = !strcmp(c->dead.v[i], o->module)) && !all_of_module_said(c, at))
			sc_find(c->out, SC_WARN, o->file, o->line,
				gt_xasprintf("options of %s are never used: %s prevents its loading", o->module,
					     c->dead_by.v[i]));
	if (dead || !is_builtin(c, o->module))
		return dead;
	if (!all_of_module_said(c, at))
		sc_find(c->out, SC_WARN, o->file, o->line,
			gt_xasprintf(
				"never used: %s is built into this kernel; put %s.%s=%s on the kernel's command line",
				o->module, o->module, o->name, o->value ? o->value : ""));
	return true;
}

/* Returns the last line that overrides the option; NULL: none. */
static const struct option *overridden_by(const struct conf *c, size_t at)
{
	for (size_t j = c->n; j-- > at + 1;)
		if (!strcmp(c->opt[j].module, c->opt[at].module) && !strcmp(c->opt[j].name, c->opt[at].name))
			return &c->opt[j];
	return NULL;
}

static bool same_value(const char *a, const char *b)
{
	static const char *const yes[] = {"1", "Y", "y", "on", "true"}, *const no[] = {"0", "N", "n", "off", "false"};
	int is[2] = {-1, -1};
	int64_t i, j;

	if (!strcmp(a, b) || (!gt_parse_i64(a, &i) && !gt_parse_i64(b, &j) && i == j))
		return true;
	for (size_t k = 0; k < GT_ARRAY_SIZE(yes); k++) {
		is[0] = !strcmp(a, yes[k]) ? 1 : !strcmp(a, no[k]) ? 0 : is[0];
		is[1] = !strcmp(b, yes[k]) ? 1 : !strcmp(b, no[k]) ? 0 : is[1];
	}
	return is[0] >= 0 && is[0] == is[1];
}

/*
 * Returns the value in the loaded module. NULL: the module is not loaded or does not show the value. The caller frees
 * it.
 */
static char *running(const struct conf *c, const struct option *o)
{
	gt_autofree char *path = gt_xasprintf("/sys/module/%s/parameters/%s", o->module, o->name);
	char *now = NULL;

	if (is_nvidia(o->module) && gt_starts_with(o->name, "NVreg_"))
		return c->nvidia ? pr_driver_param(c->nvidia, o->name + strlen("NVreg_")) : NULL;
	return strchr(o->name, '/') || strchr(o->module, '/') || gt_fs_read_line(c->fs, path, &now) < 0 ? NULL : now;
}

static void judge_option(struct conf *c, size_t at)
{
	const struct option *o = &c->opt[at], *later = overridden_by(c, at);
	const char *cost = is_nvidia(o->module) && gt_starts_with(o->name, "NVreg_")
				   ? pr_driver_option_cost(o->name + strlen("NVreg_"), o->value)
				   : NULL;
	gt_autofree char *now = NULL;

	if (cost)
		sc_find(c->out, SC_BAD, o->file, o->line, gt_xasprintf("%s %s", o->name, cost));
	if (later && !gt_streq(later->value, o->value)) {
		sc_find(c->out, SC_WARN, o->file, o->line,
			gt_xasprintf("%s %s=%.60s: overridden, %s:%u sets it to %.60s later", o->module, o->name,
				     o->value ? o->value : "", later->file, later->line,
				     later->value ? later->value : ""));
		return;
	}
	now = later || !o->value ? NULL : running(c, o);
	if (now && *now && !same_value(now, o->value))
		sc_find(c->out, SC_NOTE, o->file, o->line,
			gt_xasprintf(
				"%s runs with %s=%.60s: it was loaded before this line existed, or from an initramfs without "
				"it (update-initramfs -u, then reboot), or another program changed it",
				o->module, o->name, now));
}

static void clear(struct conf *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->opt[i].module);
		free(c->opt[i].name);
		free(c->opt[i].value);
		free(c->opt[i].file);
	}
	free(c->opt);
	free(c->builtin);
	free(c->nvidia);
	gt_strv_clear(&c->dead);
	gt_strv_clear(&c->dead_by);
}

void tn_lint_modprobe(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct conf c = {.fs = fs, .out = ret};
	gt_autofree char *release = NULL, *list = NULL;
	gt_auto_strv files = {0};

	if (gt_fs_read_line(fs, "/proc/sys/kernel/osrelease", &release) >= 0 && !strchr(release, '/')) {
		list = gt_xasprintf("/lib/modules/%s/modules.builtin", release);
		gt_fs_read(fs, list, &c.builtin, NULL);
	}
	gt_fs_read(fs, PR_NVIDIA_PARAMS, &c.nvidia, NULL);
	tn_lint_unread(fs, "/etc/modprobe.d", ".conf", "modprobe", ret);
	sc_dropins(fs, "modprobe.d", ".conf", SC_NOW, NULL, &files, NULL);
	for (size_t i = 0; i < files.n; i++)
		parse_file(&c, files.v[i]);
	for (size_t i = 0; i < c.n; i++)
		if (!gt_starts_with(c.opt[i].file, "/usr/") && !judge_module(&c, i))
			judge_option(&c, i);
	clear(&c);
}
