/* SPDX-License-Identifier: Apache-2.0 */
/* Local files for other programs: profiles of tuned, limits of PAM, settings of NCCL for all jobs. */
#include <stdio.h>
#include <string.h>
#include "lib/parse.h"
#include "lib/text.h"
#include "probe/compat/costly_options.h"
#include "tune/lint/lint.h"

#define BLANKS " \t\r"

typedef void (*line_fn)(void *arg, char *line, const char *file, unsigned no);

static void each_line(struct gt_fsroot *fs, const char *file, line_fn take, void *arg)
{
	gt_autofree char *text = NULL;
	char *rest, *line;
	unsigned no = 0;

	if (gt_fs_read(fs, file, &text, NULL) < 0)
		return;
	for (rest = text; (line = strsep(&rest, "\n"));)
		take(arg, line, file, ++no);
}

/* ---- tuned --------------------------------------------------------------------------------------------------------
 */

struct tuned {
	struct gt_fsroot *fs;
	struct sc_findings *out;
	char section[32], type[32]; /* the plug-in is the value of type, or else the section's name */
};

/* "> 4096" raises the value to 4096, "< 4096" lowers it. Only tuned can evaluate a value with a variable. */
static void judge_sysctl(struct tuned *t, const char *key, char *value, const char *file, unsigned no)
{
	value += strspn(value, "<>");
	sc_lint_one(t->fs, key, strstr(value, "${") ? NULL : gt_strip(value), file, no, t->out);
}

/* Reports plug-ins whose file has another path on Debian. */
static void judge_plugin(struct tuned *t, const char *plugin, const char *key, const char *file, unsigned no)
{
	if (!strcmp(plugin, "bootloader") && gt_starts_with(key, "cmdline") && !gt_fs_exists(t->fs, "/etc/grub2.cfg") &&
	    !gt_fs_exists(t->fs, "/etc/grub2-efi.cfg"))
		sc_find(t->out, SC_WARN, file, no,
			gt_xasprintf("%s: has no effect on the kernel: tuned adds it to /etc/grub2.cfg, which does not exist "
				     "here; use a file in /etc/default/grub.d",
				     key));
	if (!strcmp(plugin, "irqbalance") && !strcmp(key, "banned_cpus") &&
	    !gt_fs_exists(t->fs, "/etc/sysconfig/irqbalance"))
		sc_find(t->out, SC_WARN, file, no,
			gt_xstrdup("banned_cpus: has no effect on irqbalance: tuned writes /etc/sysconfig/irqbalance, but "
				   "Debian's irqbalance reads /etc/default/irqbalance"));
}

/* tuned treats a # after a blank as the beginning of a comment. */
static void cut_comment(char *line)
{
	while ((line = strpbrk(line, " \t")) && line[1] != '#')
		line++;
	if (line)
		*line = '\0';
}

static void take_tuned(void *arg, char *line, const char *file, unsigned no)
{
	struct tuned *t = arg;
	const char *plugin;
	char *value;

	cut_comment(line);
	line = gt_strip(line);
	if (*line == '[') {
		snprintf(t->section, sizeof(t->section), "%.*s", (int)strcspn(line + 1, "]"), line + 1);
		*t->type = '\0';
		return;
	}
	value = strchr(line, '=');
	if (!*line || strchr("#;", *line) || !value)
		return;
	*value++ = '\0';
	line = gt_strip(line);
	value = gt_strip(value);
	if (!strcmp(line, "type"))
		snprintf(t->type, sizeof(t->type), "%s", value);
	plugin = *t->type ? t->type : t->section;
	if (!strcmp(plugin, "sysctl") && strcmp(line, "type") && strcmp(line, "enabled") && strcmp(line, "replace") &&
	    *line)
		judge_sysctl(t, line, value, file, no);
	judge_plugin(t, plugin, line, file, no);
}

void tn_lint_tuned(struct gt_fsroot *fs, struct sc_findings *ret)
{
	static const char *const dirs[] = {"/etc/tuned", "/etc/tuned/profiles"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(dirs); i++) {
		gt_auto_strv names = {0};

		gt_fs_list(fs, dirs[i], &names);
		for (size_t k = 0; k < names.n; k++) {
			gt_autofree char *file = gt_xasprintf("%s/%s/tuned.conf", dirs[i], names.v[k]);
			struct tuned t = {.fs = fs, .out = ret};

			each_line(fs, file, take_tuned, &t);
		}
	}
}

/* ---- limits -------------------------------------------------------------------------------------------------------
 */

struct limit {
	char *domain, *type, *item, *value, *file;
	unsigned line;
};
struct limits {
	struct sc_findings *out;
	int64_t nr_open; /* 0: unknown */
	struct limit *limit;
	size_t n;
};

static bool is_one_of(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return true;
	return false;
}

/* Returns why pam_limits ignores the words "DOMAIN TYPE ITEM VALUE"; NULL: it does not. */
static const char *no_limit(char *const word[4])
{
	static const char *const types[] = {"soft", "hard", "-"}, *const all[] = {"unlimited", "infinity"},
				 *const items[] = {"core",      "data",         "fsize",    "memlock",    "nofile",
						   "rss",       "stack",        "cpu",      "nproc",      "as",
						   "maxlogins", "maxsyslogins", "locks",    "sigpending", "msgqueue",
						   "nice",      "rtprio",       "priority", "chroot",     "nonewprivs"};
	int64_t v;

	if (word[1] && !strcmp(word[1], "-") && !word[2])
		return NULL; /* "DOMAIN -" removes all limits */
	if (!word[1] || !word[2] || !word[3])
		return "the line must be DOMAIN TYPE ITEM VALUE";
	if (!is_one_of(word[1], types, GT_ARRAY_SIZE(types)))
		return "the type must be soft, hard or -";
	if (!is_one_of(word[2], items, GT_ARRAY_SIZE(items)))
		return "unknown limit";
	if (strcmp(word[2], "chroot") && gt_parse_i64(word[3], &v) && !is_one_of(word[3], all, GT_ARRAY_SIZE(all)))
		return "the value must be a number or unlimited";
	return NULL;
}

static void take_limit(void *arg, char *line, const char *file, unsigned no)
{
	struct limits *l = arg;
	char *word[4] = {NULL}, *rest = line;
	const char *why;

	line[strcspn(line, "#")] = '\0';
	for (size_t i = 0; i < 4; i++)
		word[i] = gt_cut(&rest, BLANKS);
	if (!word[0])
		return;
	why = no_limit(word);
	if (why)
		sc_find(l->out, SC_WARN, file, no, gt_xasprintf("ignored: %s", why));
	if (why || !word[3])
		return;
	l->limit = gt_xrealloc(l->limit, (l->n + 1) * sizeof(*l->limit));
	l->limit[l->n++] = (struct limit){gt_xstrdup(word[0]), gt_xstrdup(word[1]), gt_xstrdup(word[2]),
					  gt_xstrdup(word[3]), gt_xstrdup(file),    no};
}

static void judge_limit(const struct limits *l, size_t at)
{
	const struct limit *m = &l->limit[at];
	bool number, all;
	int64_t v = 0;

	for (size_t i = l->n; i-- > at + 1;) {
		const struct limit *o = &l->limit[i];

		if (strcmp(o->domain, m->domain) || strcmp(o->item, m->item) ||
		    (strcmp(o->type, m->type) && strcmp(o->type, "-")))
			continue;
		if (strcmp(o->value, m->value))
			sc_find(l->out, SC_WARN, m->file, m->line,
				gt_xasprintf("%.40s %s %s: overridden, %s:%u sets it to %.40s later", m->domain, m->item,
					     m->value, o->file, o->line, o->value));
		return;
	}
	number = !gt_parse_i64(m->value, &v);
	all = !number || v == -1;
	if (!strcmp(m->item, "nofile") && !all && l->nr_open && v > l->nr_open)
		sc_find(l->out, SC_BAD, m->file, m->line,
			gt_xasprintf("nofile %s is more than fs.nr_open (%ld): the kernel refuses it, and PAM then refuses the "
				     "login",
				     m->value, (long)l->nr_open));
	if (!strcmp(m->item, "memlock") && all && !strcmp(m->domain, "*") && strcmp(m->type, "soft"))
		sc_find(l->out, SC_WARN, m->file, m->line,
			gt_xstrdup("memlock without limit for every user: each of them can lock all memory of the host; name "
				   "the group that trains (@GROUP)"));
}

void tn_lint_limits(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct limits l = {.out = ret};
	gt_autofree char *nr_open = NULL;
	gt_auto_strv names = {0};

	if (gt_fs_read_line(fs, "/proc/sys/fs/nr_open", &nr_open) < 0 || gt_parse_i64(nr_open, &l.nr_open))
		l.nr_open = 0;
	tn_lint_unread(fs, "/etc/security/limits.d", ".conf", "pam_limits", ret);
	each_line(fs, "/etc/security/limits.conf", take_limit, &l);
	gt_fs_list(fs, "/etc/security/limits.d", &names);
	gt_strv_sort_bytes(&names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *file = gt_xasprintf("/etc/security/limits.d/%s", names.v[i]);

		if (*names.v[i] != '.' && gt_ends_with(names.v[i], ".conf"))
			each_line(fs, file, take_limit, &l);
	}
	for (size_t i = 0; i < l.n; i++)
		judge_limit(&l, i);
	for (size_t i = 0; i < l.n; i++) {
		free(l.limit[i].domain);
		free(l.limit[i].type);
		free(l.limit[i].item);
		free(l.limit[i].value);
		free(l.limit[i].file);
	}
	free(l.limit);
}

/* ---- NCCL ---------------------------------------------------------------------------------------------------------
 */

struct nccl {
	struct sc_findings *out;
	struct gt_strv names;
};

/* NCCL splits the line at its first '=', including blanks, and never replaces a variable that is set already. */
static void parse_nccl(void *arg, char *line, const char *file, unsigned no)
{
	struct nccl *n = arg;
	char *value = strchr(line, '=');
	const char *cost;

	if (*line == '#' || !line[strspn(line, BLANKS)])
		return;
	if (!value) {
		sc_find(n->out, SC_WARN, file, no, gt_xstrdup("ignored: the line must be NAME=VALUE"));
		return;
	}
	*value++ = '\0';
	if (strpbrk(line, BLANKS) || strpbrk(value, BLANKS)) {
		sc_find(n->out, SC_WARN, file, no,
			gt_xasprintf("'%.40s=%.40s': for NCCL the blanks belong to the name and the value", line,
				     value));
		return;
	}
	if (gt_strv_has(&n->names, line)) {
		sc_find(n->out, SC_WARN, file, no,
			gt_xasprintf("%.40s: overridden by an earlier line, because the first one counts", line));
		return;
	}
	gt_strv_add(&n->names, line);
	cost = pr_leftover(line, value);
	if (cost)
		sc_find(n->out, SC_WARN, file, no,
			gt_xasprintf("%.40s=%.40s for every job of this host: %s", line, value, cost));
}

void tn_lint_nccl(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct nccl n = {.out = ret};

	each_line(fs, "/etc/nccl.conf", parse_nccl, &n);
	gt_strv_clear(&n.names);
}
