/* SPDX-License-Identifier: Apache-2.0 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "tune/boot/persist.h"
#include "tune/model/value.h"

#define HEAD	   "# Written by gputune. Not to be edited: a changed file is neither overwritten nor removed.\n# checksum: "
#define HEAD_SIZE  (sizeof(HEAD) - 1)

const char *tn_persist_file(enum tn_form form)
{
	static const char *const path[] = { [TN_NO_FORM] = NULL,
					    [TN_SYSCTL_D] = TN_SYSCTL_D_PATH,
					    [TN_TMPFILES_D] = TN_TMPFILES_D_PATH,
					    [TN_UDEV_RULE] = TN_UDEV_RULE_PATH };

	return path[form];
}

char *tn_persist_line(const struct pr_host *host, const struct tn_tunable *k, const char *instance, const char *value)
{
	return k->boot_line ? k->boot_line(host, instance, value) : NULL;
}

/* Compares everything except the value, which is the last part of each line. */
bool tn_persist_same(const char *line, const char *other)
{
	const char *end = line ? strrchr(line, '=') : NULL;
	size_t n = end ? (size_t)(end - line) + 1 : 0;

	return n && other && !strncmp(line, other, n) && !strchr(other + n, '=');
}

static char *line_of(const struct pr_host *host, const struct tn_persisted *k)
{
	gt_autofree char *path = NULL;

	if (k->line)
		return gt_xstrdup(k->line);
	if (k->knob->boot_line)
		return tn_persist_line(host, k->knob, k->instance, k->value);
	if (tn_tunable_key(k->knob))
		return gt_xasprintf("%s = %s", tn_tunable_key(k->knob), k->value);
	path = tn_tunable_path(k->knob, k->instance);
	return gt_xasprintf("w %s - - - - %s", path, k->value);
}

char *tn_persist_text(const struct pr_host *host, enum tn_form form, const struct tn_persisted *keep, size_t n)
{
	gt_auto_buf body = { 0 };

	for (size_t i = 0; i < n; i++) {
		gt_autofree char *line = tn_tunable_form(keep[i].knob) == form ? line_of(host, &keep[i]) : NULL;

		if (line)
			gt_buf_printf(&body, "%s\n", line);
	}
	return body.len ? gt_xasprintf(HEAD "%08x\n%s", gt_crc32c(body.s, body.len), body.s) : NULL;
}

bool tn_persist_is_unedited(const char *text)
{
	const char *body;
	char sum[16];

	if (!gt_starts_with(text, HEAD) || strlen(text) < HEAD_SIZE + 9 || text[HEAD_SIZE + 8] != '\n')
		return false;
	body = text + HEAD_SIZE + 9;
	snprintf(sum, sizeof(sum), "%08x", gt_crc32c(body, strlen(body)));
	return !strncmp(sum, text + HEAD_SIZE, 8);
}

static bool after_gputune(const char *file)
{
	return strcmp(strrchr(file, '/'), strrchr(TN_SYSCTL_D_PATH, '/')) > 0;
}

char *tn_persist_overridden_by(const struct sc_conf *boot, const struct tn_tunable *k, const char *value)
{
	const struct sc_key *key = sc_key_find(tn_tunable_key(k));
	const struct sc_assign *a = sc_boot_value(boot, tn_tunable_key(k));
	gt_autofree char *taken = NULL;
	bool refused = a && sc_read_value(tn_tunable_key(k), a->value, &taken, NULL, NULL) < 0;

	/* an exact key has priority over a glob in any file */
	if (a && !a->glob && after_gputune(a->file) && refused)
		return gt_xasprintf("%s:%u contains %.40s, which the kernel refuses, and is read after %s", a->file, a->line,
				    a->value, TN_SYSCTL_D_PATH);
	if (a && !a->glob && after_gputune(a->file) && !sc_value_equal(tn_tunable_key(k), taken, value))
		return gt_xasprintf("%s:%u sets it to %s and is read after %s", a->file, a->line, taken, TN_SYSCTL_D_PATH);
	a = key && key->counterpart ? sc_boot_value(boot, key->counterpart) : NULL;
	if (a && after_gputune(a->file) && sc_takes_nonzero(key->counterpart, a->value))
		return gt_xasprintf("%s:%u sets %s, which replaces it, and is read after %s", a->file, a->line,
				    key->counterpart, TN_SYSCTL_D_PATH);
	return NULL;
}

static bool is_gputunes(const struct tn_tmpfile *l)
{
	return gt_starts_with(l->by, TN_TMPFILES_D_PATH ":");
}

/* Returns whether the file of the line is read before gputune's file. */
static bool before_gputune(const struct tn_tmpfile *l)
{
	const char *name = strrchr(l->by, '/'), *own = strrchr(TN_TMPFILES_D_PATH, '/');
	size_t n = (size_t)(strrchr(name, ':') - name);
	int r = strncmp(name, own, n);

	return r < 0 || (!r && n < strlen(own));
}

/* Matches like glob(3) with GLOB_BRACE: "{a,b}" stands for a and for b. */
static bool matches(const char *pattern, const char *path)
{
	const char *open = strchr(pattern, '{'), *close = open ? strchr(open, '}') : NULL;

	if (!close)
		return !fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD);
	for (const char *p = open; p < close;) {
		size_t n = strcspn(++p, ",}");
		gt_autofree char *one = gt_xasprintf("%.*s%.*s%s", (int)(open - pattern), pattern, (int)n, p, close + 1);

		if (matches(one, path))
			return true;
		p += n;
	}
	return false;
}

static bool is_repeated(const struct tn_tmpfiles *t, const char *path)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->line[i].path, path))
			return true;
	return false;
}

/* Parses "w /sys/… - - - - VALUE", also with w!, w+ and similar types. The argument is the rest of the line. */
static void add_tmpfile(struct tn_tmpfiles *t, char *line, const char *file, unsigned no)
{
	char *rest = line, *type = gt_cut(&rest, " \t"), *path = gt_cut(&rest, " \t");

	if (!type || *type != 'w' || !path || is_repeated(t, path))
		return;
	for (int skip = 0; skip < 4; skip++) /* skips mode, user, group and age */
		if (!gt_cut(&rest, " \t"))
			return;
	t->line = gt_xrealloc(t->line, (t->n + 1) * sizeof(*t->line));
	t->line[t->n++] = (struct tn_tmpfile){ gt_xstrdup(path), gt_xstrdup(rest ? gt_strip(rest) : ""),
					       gt_xasprintf("%s:%u", file, no) };
}

void tn_tmpfiles_load(struct gt_fsroot *fs, struct tn_tmpfiles *ret)
{
	gt_auto_strv files = { 0 };

	*ret = (struct tn_tmpfiles){ 0 };
	sc_dropins(fs, "tmpfiles.d", ".conf", SC_NEXT_BOOT, NULL, &files, NULL);
	for (size_t i = 0; i < files.n; i++) {
		gt_autofree char *text = NULL;
		unsigned n = 0;

		if (gt_fs_read(fs, files.v[i], &text, NULL) < 0) /* masked or unreadable */
			continue;
		for (char *line = text, *next; line; line = next) {
			next = strchr(line, '\n');
			if (next)
				*next++ = '\0';
			add_tmpfile(ret, line, files.v[i], ++n);
		}
	}
}

void tn_tmpfiles_clear(struct tn_tmpfiles *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->line[i].path);
		free(t->line[i].value);
		free(t->line[i].by);
	}
	free(t->line);
	*t = (struct tn_tmpfiles){ 0 };
}

const struct tn_tmpfile *tn_tmpfiles_find(const struct tn_tmpfiles *t, const char *path)
{
	for (size_t i = t->n; i-- > 0;)
		if (matches(t->line[i].path, path))
			return &t->line[i];
	return NULL;
}

bool tn_tmpfile_matches(const struct tn_tmpfile *l, const char *path)
{
	return matches(l->path, path);
}

const struct tn_tmpfile *tn_tmpfiles_overriding(const struct tn_tmpfiles *t, const char *path)
{
	const struct tn_tmpfile *last = NULL;
	bool has_line = false; /* systemd-tmpfiles ignores gputune's line, because an earlier line has this path */

	for (size_t i = 0; i < t->n; i++) {
		const struct tn_tmpfile *l = &t->line[i];
		bool same = !strcmp(l->path, path);

		if (is_gputunes(l) || !matches(l->path, path))
			continue;
		if (before_gputune(l))
			has_line |= same;
		else if (same && !has_line) /* systemd-tmpfiles ignores the line, because gputune's line has this path */
			continue;
		if (has_line || !before_gputune(l))
			last = l;
	}
	return last;
}
