/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "sysctl/sysctl.h"

/* Keys that old recipes still set, and values that harm a host for training. */
static const struct {
	const char *key; /* normalised key, may be a glob */
	enum sc_severity severity;
	const char *value; /* only this value, any other value ("!0"), a smaller or a larger one ("<1024", ">0"); NULL: any value */
	const char *what;
} table[] = {
	{ "kernel/sched_latency_ns", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13, removed in 6.6" },
	{ "kernel/sched_min_granularity_ns", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13, removed in "
							    "6.6" },
	{ "kernel/sched_wakeup_granularity_ns", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13, removed "
							       "in 6.6" },
	{ "kernel/sched_migration_cost_ns", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13" },
	{ "kernel/sched_nr_migrate", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13" },
	{ "kernel/sched_tunable_scaling", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13" },
	{ "kernel/numa_balancing_scan_*", SC_WARN, NULL, "outdated: moved from sysctl to debugfs in Linux 5.13" },
	{ "net/ipv4/tcp_low_latency", SC_WARN, NULL, "no effect since Linux 4.14" },
	{ "net/ipv4/tcp_fack", SC_WARN, NULL, "no effect since Linux 4.15" },
	{ "net/ipv4/tcp_tw_recycle", SC_WARN, NULL, "outdated: removed in Linux 4.12" },
	{ "vm/overcommit_memory", SC_BAD, "2", "strict overcommit: CUDA fails, because it reserves far more address space than "
					       "it uses" },
	{ "vm/zone_reclaim_mode", SC_WARN, "!0", "drops the page cache that data sets are read from" },
	{ "vm/swappiness", SC_NOTE, "0", "drops the page cache before any swapping, and memory runs out earlier" },
	{ "vm/min_free_kbytes", SC_BAD, "<1024", "too little for requests that cannot wait: the kernel may deadlock under load" },
	{ "vm/nr_hugepages", SC_NOTE, ">0", "reserves memory that most trainers never use and the page cache lacks" },
	{ "vm/drop_caches", SC_WARN, NULL, "an action, not a setting: drops the page cache once at boot" },
	{ "kernel/sched_rt_runtime_us", SC_WARN, "-1", "a real-time thread that spins stops the whole host" },
	{ "kernel/shmmax", SC_NOTE, "<18446744073692774399", "sets a limit; the kernel has none since 3.16" },
	{ "kernel/shmall", SC_NOTE, "<18446744073692774399", "sets a limit; the kernel has none since 3.16" },
	{ "fs/file-max", SC_WARN, "<1048576", "limits all programs together; systemd sets the maximum at boot" },
	{ "net/core/[rw]mem_default", SC_WARN, ">4194304",
	  "every UDP and Unix socket may use that much; programs that need more request it, up to rmem_max and wmem_max" },
	{ "net/core/busy_read", SC_WARN, ">0", "readers of sockets spin, on cores that loader workers need" },
	{ "net/core/busy_poll", SC_WARN, ">0", "programs that wait for sockets spin, on cores that loader workers need" },
	{ "net/ipv4/tcp_timestamps", SC_WARN, "0", "a fast stream cannot distinguish old packets from new ones and misjudges "
						   "delays" },
	{ "net/ipv4/tcp_sack", SC_WARN, "0", "after a lost packet the whole window of a fast stream is sent again" },
	{ "net/ipv4/tcp_window_scaling", SC_WARN, "0", "at most 64 KiB are in flight: a fast link cannot be filled" },
	{ "net/ipv4/tcp_moderate_rcvbuf", SC_WARN, "0", "receive buffers keep their initial size, whatever tcp_rmem allows" },
};

/* Returns the usual form of a key: dots as separators, unless a component contains a dot. The caller frees it. */
static char *dotted(const char *key)
{
	char *s = gt_xstrdup(key);

	for (char *p = s; *p && !strchr(key, '.'); p++)
		*p = *p == '/' ? '.' : *p;
	return s;
}

void sc_find(struct sc_findings *l, enum sc_severity severity, const char *file, unsigned line, char *what)
{
	l->f = gt_xrealloc(l->f, (l->n + 1) * sizeof(*l->f));
	l->f[l->n++] = (struct sc_finding){ severity, gt_xstrdup(file), line, what };
}

static unsigned count_numbers(const char *taken)
{
	unsigned n = 1;

	for (; *taken; taken++)
		n += *taken == ' ';
	return n;
}

/* Reports text after the value. For a numeric parameter the kernel ignores it; for a text parameter the kernel stores
 * it. */
static void lint_comment(struct sc_findings *l, const struct sc_assign *a)
{
	const char *rest = a->value, *blank;
	gt_autofree char *name = dotted(a->key);

	while ((blank = strpbrk(rest, " \t")) && blank[1] != '#')
		rest = blank + 1;
	if (blank)
		sc_find(l, SC_NOTE, a->file, a->line,
			gt_xasprintf("%s: '%.60s' is written to the kernel too: a comment needs a line of its own", name,
				     blank + 1));
}

static void lint_value(struct sc_findings *l, const struct sc_assign *a)
{
	const struct sc_key *k = a->glob ? NULL : sc_key_find(a->key);
	gt_autofree char *taken = NULL;
	struct gt_err err = { 0 };
	const char *rest;

	if (!k) {
		lint_comment(l, a);
	} else if (sc_read_value(k->name, a->value, &taken, &rest, &err) < 0) {
		sc_find(l, SC_BAD, a->file, a->line, gt_xstrdup(err.msg));
	} else if (count_numbers(taken) < k->fields) {
		sc_find(l, SC_BAD, a->file, a->line,
			gt_xasprintf("%s has %u numbers, and the kernel does not change those after %s", k->name,
				     k->fields, taken));
	} else if (*rest) {
		sc_find(l, strchr("#;", *rest) ? SC_NOTE : SC_WARN, a->file, a->line,
			gt_xasprintf("%s: the kernel stores %s and ignores '%.60s'%s", k->name, taken, rest,
				     strchr("#;", *rest) ? ": a comment needs a line of its own" : ""));
	}
}

/* Returns whether value is below ('<') or above ('>') the bound. */
static bool is_beyond(const char *value, char how, const char *bound)
{
	bool negative = *value == '-';
	uint64_t have = 0, limit;

	if (gt_parse_u64(bound, &limit) < 0 || (!negative && gt_parse_u64(value, &have) < 0))
		return false;
	return how == '<' ? negative || have < limit : !negative && have > limit;
}

/* Returns whether the assignment has the value of the table entry. */
static bool has_value(const struct sc_assign *a, const char *want)
{
	bool other = want && *want == '!';
	gt_autofree char *taken = NULL;

	if (!want)
		return true;
	if (!a->value || sc_read_value(a->key, a->value, &taken, NULL, NULL) < 0)
		return false;
	if (strchr("<>", *want))
		return is_beyond(taken, *want, want + 1);
	return sc_value_equal(a->key, want + other, taken) != other;
}

/* Returns whether the table has the key. */
static bool lint_table(struct sc_findings *l, const struct sc_assign *a)
{
	gt_autofree char *name = dotted(a->key);

	for (size_t i = 0; i < GT_ARRAY_SIZE(table); i++) {
		if (fnmatch(table[i].key, a->key, 0) || !has_value(a, table[i].value))
			continue;
		sc_find(l, table[i].severity, a->file, a->line, gt_xasprintf("%s: %s", name, table[i].what));
		return true;
	}
	return false;
}

/* Returns whether a module or device may still create the key. In net/ that applies to all keys except those of the
 * core, TCP, UDP and IP. These belong to the host itself only if netdev_max_backlog exists, which other network
 * namespaces lack. */
static bool may_come(struct gt_fsroot *fs, const char *key)
{
	static const char *const late[] = { "net/", "fs/nfs", "sunrpc/", "dev/" };
	static const char *const built_in[] = { "net/core/*", "net/ipv4/tcp_*", "net/ipv4/udp_*", "net/ipv4/ip_*" };

	for (size_t i = 0; i < GT_ARRAY_SIZE(built_in); i++)
		if (!fnmatch(built_in[i], key, FNM_PATHNAME))
			return !gt_fs_exists(fs, "/proc/sys/net/core/netdev_max_backlog");
	for (size_t i = 0; i < GT_ARRAY_SIZE(late); i++)
		if (gt_starts_with(key, late[i]))
			return true;
	return false;
}

static void lint_missing(struct gt_fsroot *fs, struct sc_findings *l, const struct sc_assign *a)
{
	gt_autofree char *path = gt_xasprintf("/proc/sys/%s", a->key), *name = dotted(a->key);

	if (a->glob || !a->value || !gt_fs_dir(fs) || gt_fs_exists(fs, path)) /* a captured host has only some keys */
		return;
	if (may_come(fs, a->key))
		return;
	sc_find(l, SC_NOTE, a->file, a->line, gt_xasprintf("%s: this kernel has no such parameter", name));
}

/* procps reads /etc/sysctl.conf; at boot it is read only through a link. */
static void lint_unread(struct gt_fsroot *fs, struct sc_findings *l, const struct sc_conf *conf)
{
	gt_autofree char *text = NULL;
	char *line, *rest;
	unsigned no = 0;

	for (size_t i = 0; i < conf->files.n; i++) {
		gt_autofree char *real = NULL;

		if (gt_fs_realpath(fs, conf->files.v[i], &real) >= 0 && !strcmp(real, "/etc/sysctl.conf"))
			return;
	}
	if (gt_fs_read(fs, "/etc/sysctl.conf", &text, NULL) < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		no++;
		line = gt_strip(line);
		if (*line && !strchr("#;", *line) && strchr(line, '='))
			sc_find(l, SC_WARN, "/etc/sysctl.conf", no,
			    gt_xasprintf("'%.60s' is not read at boot: no link in sysctl.d leads to this file", line));
	}
}

/* Reports files whose settings are in force now but not after the next boot. */
static void lint_run(struct sc_findings *l, const struct sc_conf *conf)
{
	for (size_t i = 0; i < conf->files.n; i++)
		if (gt_starts_with(conf->files.v[i], "/run/"))
			sc_find(l, SC_NOTE, conf->files.v[i], 0,
			    gt_xstrdup("removed at the next boot, with its settings and with the files that it hides, unless a "
				       "program writes it again"));
}

/* Reports a local line that another line overrides: one that sets the same key later, or one that sets its counterpart.
 * A file in /etc that replaces one of the distribution is not reported, because that is its purpose. */
static void lint_overridden(struct sc_findings *l, const struct sc_conf *conf, size_t i)
{
	const struct sc_assign *a = &conf->all[i];
	const struct sc_key *k = a->glob ? NULL : sc_key_find(a->key);
	gt_autofree char *pair = k && k->counterpart ? sc_normalize(k->counterpart) : NULL, *name = dotted(a->key);

	if (!a->value || gt_starts_with(a->file, "/usr/"))
		return;
	for (size_t j = conf->n_all; j-- > i + 1;) {
		const struct sc_assign *b = &conf->all[j];

		if (!b->value)
			continue;
		if (!strcmp(b->key, a->key)) {
			gt_autofree char *was = sc_taken(a->key, a->value), *is = sc_taken(a->key, b->value);

			if (!sc_value_equal(a->key, was, is))
				sc_find(l, SC_WARN, a->file, a->line,
					gt_xasprintf("%s = %.60s: overridden, %s:%u sets it to %.60s later", name, was, b->file,
						     b->line, is));
			return;
		}
		if (gt_streq(pair, b->key) && sc_takes_nonzero(a->key, a->value) && sc_takes_nonzero(b->key, b->value)) {
			sc_find(l, SC_WARN, a->file, a->line,
				gt_xasprintf("%s: overridden, %s:%u sets %s later, which replaces it", name, b->file, b->line,
					     k->counterpart));
			return;
		}
	}
}

void sc_lint(struct gt_fsroot *fs, const struct sc_conf *conf, struct sc_findings *l)
{
	lint_run(l, conf);
	for (size_t i = 0; i < conf->n_problem; i++)
		sc_find(l, SC_WARN, conf->problem[i].file, conf->problem[i].line, gt_xstrdup(conf->problem[i].what));
	for (size_t i = 0; i < conf->n_all; i++) {
		if (conf->all[i].value)
			lint_value(l, &conf->all[i]);
		if (!lint_table(l, &conf->all[i]))
			lint_missing(fs, l, &conf->all[i]);
		lint_overridden(l, conf, i);
	}
	lint_unread(fs, l, conf);
}

void sc_lint_one(struct gt_fsroot *fs, const char *key, const char *value, const char *file, unsigned line, struct sc_findings *l)
{
	gt_autofree char *name = sc_normalize(key);
	struct sc_assign a = { .key = name, .value = (char *)value, .file = (char *)file, .line = line };

	if (value)
		lint_value(l, &a);
	a.value = a.value ? a.value : (char *)""; /* only the key is checked */
	if (!lint_table(l, &a))
		lint_missing(fs, l, &a);
}

void sc_findings_clear(struct sc_findings *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->f[i].file);
		free(l->f[i].what);
	}
	free(l->f);
	*l = (struct sc_findings){ 0 };
}

const char *sc_severity_name(enum sc_severity s)
{
	static const char *const name[] = { [SC_NOTE] = "note", [SC_WARN] = "warning", [SC_BAD] = "bad" };

	return name[s];
}
