/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "sysctl/sysctl.h"

static const char *const dirs[] = { "/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d" };

/* With dots, whichever way it was written: if the first separator is a slash, slashes and dots are exchanged. */
static char *normalize(const char *key)
{
	char *k = gt_xstrdup(key);
	size_t first = strcspn(k, "./");

	if (k[first] == '/')
		for (char *p = k; *p; p++)
			*p = *p == '/' ? '.' : *p == '.' ? '/' : *p;
	return k;
}

char *sc_key_path(const char *key)
{
	gt_autofree char *k = normalize(key);
	char *path = gt_xasprintf("/proc/sys/%s", k);

	for (char *p = path + strlen("/proc/sys/"); *p; p++)
		*p = *p == '.' ? '/' : *p == '/' ? '.' : *p;
	return path;
}

char *sc_path_key(const char *path)
{
	char *key = gt_xstrdup(path + (gt_starts_with(path, "/proc/sys/") ? strlen("/proc/sys/") : 0));

	for (char *p = key; *p; p++)
		*p = *p == '/' ? '.' : *p == '.' ? '/' : *p;
	return key;
}

static void add(struct sc_config *c, char *key, const char *value, const char *file, unsigned line, bool optional)
{
	if ((c->n & (c->n - 1)) == 0)
		c->v = gt_xrealloc(c->v, GT_MAX(16, c->n * 2) * sizeof(*c->v));
	c->v[c->n++] = (struct sc_assign){ key, value ? gt_xstrdup(value) : NULL, gt_xstrdup(file), line, optional };
}

static void parse_line(struct sc_config *c, char *text, const char *file, unsigned line)
{
	char *s = gt_strip(text), *eq;
	bool minus;

	if (!*s || *s == '#' || *s == ';')
		return;
	minus = *s == '-';
	s += minus;
	eq = strchr(s, '=');
	if (!eq && !minus) {
		gt_strv_take(&c->problems, gt_xasprintf("%s:%u: not an assignment: %.60s", file, line, s));
		return;
	}
	if (eq)
		*eq = '\0';
	s = gt_strip(s);
	if (!*s)
		gt_strv_take(&c->problems, gt_xasprintf("%s:%u: no key before '='", file, line));
	else
		add(c, normalize(s), eq ? gt_strip(eq + 1) : NULL, file, line, minus);
}

void sc_parse(struct sc_config *c, const char *text, const char *file)
{
	gt_autofree char *copy = gt_xstrdup(text);
	unsigned line = 0;

	for (char *s = copy, *next; s; s = next) {
		next = strchr(s, '\n');
		if (next)
			*next++ = '\0';
		parse_line(c, s, file, ++line);
	}
}

struct found {
	char *name, *path;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* Every *.conf, of one name only that of the first directory. */
static size_t find_files(struct gt_fsroot *fs, struct found **ret)
{
	struct found *v = NULL;
	size_t n = 0;

	for (size_t d = 0; d < GT_ARRAY_SIZE(dirs); d++) {
		gt_auto_strv names = { 0 };

		if (gt_fs_list(fs, dirs[d], &names) < 0)
			continue;
		for (size_t i = 0; i < names.n; i++) {
			bool known = !gt_ends_with(names.v[i], ".conf");

			for (size_t k = 0; k < n && !known; k++)
				known = !strcmp(v[k].name, names.v[i]);
			if (known)
				continue;
			v = gt_xrealloc(v, (n + 1) * sizeof(*v));
			v[n++] = (struct found){ gt_xstrdup(names.v[i]), gt_xasprintf("%s/%s", dirs[d], names.v[i]) };
		}
	}
	if (n)
		qsort(v, n, sizeof(*v), by_name);
	*ret = v;
	return n;
}

int sc_load(struct gt_fsroot *fs, struct sc_config **ret, struct gt_err *err)
{
	struct sc_config *c = gt_xcalloc(1, sizeof(*c));
	struct found *files;
	size_t n = find_files(fs, &files);

	for (size_t i = 0; i < n; i++) {
		gt_autofree char *text = NULL, *target = NULL;
		int r = gt_fs_readlink(fs, files[i].path, &target);

		if (r < 0 || strcmp(target, "/dev/null")) {
			r = gt_fs_read(fs, files[i].path, &text, NULL);
			if (r < 0)
				gt_strv_take(&c->problems, gt_xasprintf("%s: %s", files[i].path, strerror(-r)));
			else
				sc_parse(c, text, files[i].path);
		}
		free(files[i].name);
		free(files[i].path);
	}
	free(files);
	*ret = c;
	return 0;
}

void sc_free(struct sc_config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		free(c->v[i].key);
		free(c->v[i].value);
		free(c->v[i].file);
	}
	free(c->v);
	gt_strv_clear(&c->problems);
	free(c);
}

static bool is_glob(const char *key)
{
	return strpbrk(key, "*?[") != NULL;
}

/* Globs match paths: a * does not reach over a separator. */
static bool glob_matches(const char *glob, const char *key)
{
	gt_autofree char *g = sc_key_path(glob), *k = sc_key_path(key);

	return fnmatch(g, k, FNM_PATHNAME | FNM_PERIOD) == 0;
}

const struct sc_assign *sc_boot_value(const struct sc_config *c, const char *key)
{
	gt_autofree char *k = normalize(key);
	const struct sc_assign *by_glob = NULL;

	for (size_t i = c->n; i-- > 0;) {
		const struct sc_assign *a = &c->v[i];

		if (!strcmp(a->key, k))
			return a->value ? a : NULL;
		if (!by_glob && a->value && is_glob(a->key) && glob_matches(a->key, k))
			by_glob = a;
	}
	return by_glob;
}

const char *sc_dead_key(const char *key)
{
	static const struct {
		const char *key, *why;
	} dead[] = {
		{ "kernel.sched_latency_ns", "left sysctl in Linux 5.13 and is gone since 6.6" },
		{ "kernel.sched_min_granularity_ns", "left sysctl in Linux 5.13; since 6.6 debugfs has base_slice_ns" },
		{ "kernel.sched_wakeup_granularity_ns", "left sysctl in Linux 5.13 and is gone since 6.6" },
		{ "kernel.sched_migration_cost_ns", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.sched_nr_migrate", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.sched_tunable_scaling", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.numa_balancing_scan_delay_ms", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.numa_balancing_scan_period_min_ms", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.numa_balancing_scan_period_max_ms", "left sysctl in Linux 5.13 for debugfs" },
		{ "kernel.numa_balancing_scan_size_mb", "left sysctl in Linux 5.13 for debugfs" },
		{ "net.ipv4.tcp_low_latency", "has had no effect since Linux 4.14" },
		{ "net.ipv4.tcp_tw_recycle", "was removed in Linux 4.12" },
	};
	gt_autofree char *k = normalize(key);

	for (size_t i = 0; i < GT_ARRAY_SIZE(dead); i++)
		if (!strcmp(dead[i].key, k))
			return dead[i].why;
	return NULL;
}
