/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/lint/lint.h"

#define BLANKS  " \t\n"
#define DEFAULT "/etc/default/grub"
#define PREFIX  "GRUB_CMDLINE"

/* The words that reach the kernel, in this order, and the line that each is from. */
enum { LINUX, LINUX_DEFAULT, N_VARS };
static const char *const vars[N_VARS] = {
	[LINUX] = "GRUB_CMDLINE_LINUX", [LINUX_DEFAULT] = "GRUB_CMDLINE_LINUX_DEFAULT"};

struct param {
	char *word, *file;
	unsigned line;
};
struct params {
	struct param *p;
	size_t n;
};
struct grub {
	struct gt_fsroot *fs;
	struct sc_findings *out;
	struct params var[N_VARS];
	bool script; /* the file has ifs and loops: what is said there may not happen */
};

static void add(struct params *to, const char *word, size_t len, const char *file, unsigned line)
{
	to->p = gt_xrealloc(to->p, (to->n + 1) * sizeof(*to->p));
	to->p[to->n++] = (struct param){gt_xstrndup(word, len), gt_xstrdup(file), line};
}

static void clear(struct params *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->p[i].word);
		free(l->p[i].file);
	}
	free(l->p);
	*l = (struct params){0};
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does this text of sh hold $NAME or ${NAME...}? */
static bool refers(const char *value, const char *name)
{
	for (const char *p = value; (p = strchr(p, '$')); p++) {
		const char *at = p + 1 + (p[1] == '{');

		if (gt_starts_with(at, name) && !is_name(at[strlen(name)]))
			return true;
	}
	return false;
}

static bool has_word(const struct params *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->p[i].word, word))
			return true;
	return false;
}

/* What was said before and is not said again is lost: once for each line that said it. */
static void say_lost(struct grub *g, const struct params *old, const struct params *now, const char *name,
		     const char *file, unsigned line)
{
	for (size_t i = 0; i < old->n; i++) {
		const struct param *first = &old->p[i];
		gt_auto_buf lost = {0};

		if (i && !strcmp(first->file, old->p[i - 1].file) && first->line == old->p[i - 1].line)
			continue;
		for (size_t k = i; k < old->n; k++)
			if (!strcmp(old->p[k].file, first->file) && old->p[k].line == first->line &&
			    !has_word(now, old->p[k].word))
				gt_buf_printf(&lost, "%s%s", lost.len ? " " : "", old->p[k].word);
		if (lost.len)
			sc_find(g->out, SC_WARN, first->file, first->line,
				gt_xasprintf("does not reach the kernel: %.200s; %s:%u sets %s anew, without $%s in it",
					     lost.s, file, line, name, name));
	}
}

/* Words that the shell would make are not known, and are left out. */
static void assign(struct grub *g, size_t v, const char *value, const char *file, unsigned line)
{
	struct params now = {0};
	bool opaque = strstr(value, "$(") || strchr(value, '`');

	if (opaque)
		return;
	for (size_t k = 0; k < N_VARS; k++)
		if (refers(value, vars[k]))
			for (size_t i = 0; i < g->var[k].n; i++)
				add(&now, g->var[k].p[i].word, strlen(g->var[k].p[i].word), g->var[k].p[i].file,
				    g->var[k].p[i].line);
	for (const char *p = value + strspn(value, BLANKS); *p;) {
		size_t n = strcspn(p, BLANKS);

		if (!memchr(p, '$', n))
			add(&now, p, n, file, line);
		p += n + strspn(p + n, BLANKS);
	}
	if (!g->script)
		say_lost(g, &g->var[v], &now, vars[v], file, line);
	clear(&g->var[v]);
	g->var[v] = now;
}

/* The value of an assignment, without its quotes, up to the end of the line or of the last quote. Returns the first
 * character behind it, NULL if a quote is not closed. */
static const char *unquote(const char *p, struct gt_buf *out)
{
	while (*p && !strchr(BLANKS ";#", *p)) {
		char q = *p;

		if (q != '"' && q != '\'') {
			p += *p == '\\' && p[1];
			gt_buf_add(out, p++, 1);
			continue;
		}
		for (p++; *p != q; p++) {
			if (!*p)
				return NULL;
			if (q == '"' && *p == '\\' && p[1] && strchr("\"\\$`\n", p[1]))
				p++;
			if (*p != '\n')
				gt_buf_add(out, p, 1);
			else
				gt_buf_puts(out, " ");
		}
		p++;
	}
	return p;
}

static unsigned lines_between(const char *a, const char *b)
{
	unsigned n = 0;

	for (; a < b; a++)
		n += *a == '\n';
	return n;
}

/* NAME=VALUE at p, where NAME begins with GRUB_CMDLINE. Returns where the next line begins. */
static const char *take_assignment(struct grub *g, const char *p, const char *file, unsigned line)
{
	static const char *const other[] = {"GRUB_CMDLINE_LINUX_RECOVERY",
					    "GRUB_CMDLINE_LINUX_XEN_REPLACE",
					    "GRUB_CMDLINE_LINUX_XEN_REPLACE_DEFAULT",
					    "GRUB_CMDLINE_XEN",
					    "GRUB_CMDLINE_XEN_DEFAULT",
					    "GRUB_CMDLINE_NETBSD",
					    "GRUB_CMDLINE_NETBSD_DEFAULT",
					    "GRUB_CMDLINE_GNUMACH"};
	const char *end = p, *eol = strchrnul(p, '\n'), *behind;
	gt_autofree char *name = NULL;
	gt_auto_buf value = {0};
	bool known = false;

	while (is_name(*end))
		end++;
	name = gt_xstrndup(p, (size_t)(end - p));
	for (size_t i = 0; i < GT_ARRAY_SIZE(other) && !known; i++)
		known = !strcmp(other[i], name);
	if (*end != '=') {
		if (*end == '+' && end[1] == '=')
			sc_find(g->out, SC_WARN, file, line,
				gt_xasprintf(
					"no assignment: += is bash's, and GRUB's files are read by sh; %s=\"$%s ...\"",
					name, name));
		else if (end[strspn(end, " \t")] == '=')
			sc_find(g->out, SC_WARN, file, line,
				gt_xasprintf("no assignment: sh allows no blank before the = of %s", name));
		return eol;
	}
	behind = unquote(end + 1, &value);
	if (!behind) {
		sc_find(g->out, SC_BAD, file, line,
			gt_xasprintf("a quote is not closed: update-grub fails at %s", name));
		return p + strlen(p);
	}
	for (size_t v = 0; v < N_VARS; v++)
		if (!strcmp(vars[v], name)) {
			assign(g, v, value.s ? value.s : "", file, line);
			return strchrnul(behind, '\n');
		}
	if (!known)
		sc_find(g->out, SC_WARN, file, line, gt_xasprintf("never used: GRUB knows no %s", name));
	return strchrnul(behind, '\n');
}

static bool has_control_words(const char *text)
{
	static const char *const words[] = {"if", "case", "for", "while", "until", "[", "test"};

	for (const char *p = text; p && *p; p = gt_next_line(p)) {
		const char *w = p + strspn(p, " \t");

		for (size_t i = 0; i < GT_ARRAY_SIZE(words); i++)
			if (gt_starts_with(w, words[i]) && strchr(BLANKS, w[strlen(words[i])]))
				return true;
	}
	return false;
}

static void take_file(struct grub *g, const char *file)
{
	gt_autofree char *text = NULL;
	unsigned line = 1;

	if (gt_fs_read(g->fs, file, &text, NULL) < 0)
		return;
	g->script = has_control_words(text);
	for (const char *p = text, *next; *p; p = next) {
		const char *w = p + strspn(p, " \t");

		if (gt_starts_with(w, "export "))
			w += strlen("export ") + strspn(w + strlen("export "), " \t");
		next = gt_starts_with(w, PREFIX) ? take_assignment(g, w, file, line) : strchrnul(p, '\n');
		line += lines_between(p, next);
		if (*next == '\n') {
			next++;
			line++;
		}
	}
}

/* ---- judgement ---- */

static const struct {
	const char *word; /* glob */
	enum sc_severity severity;
	const char *what;
} table[] = {
	{"elevator=*", SC_WARN, "does nothing on the kernels of Debian 12 and 13: block.scheduler is a disk's own"},
	{"amd_iommu=on", SC_WARN, "does nothing: AMD's IOMMU is on by itself, and 'on' is no value of it"},
	{"nouveau.blacklist=*", SC_WARN, "does nothing: nouveau has no such parameter; modprobe.blacklist=nouveau"},
	{"vm.*=*", SC_WARN, "does nothing: the kernel takes it as sysctl.vm.NAME"},
	{"kernel.*=*", SC_WARN, "does nothing: the kernel takes it as sysctl.kernel.NAME"},
	{"net.core.*=*", SC_WARN, "does nothing: the kernel takes it as sysctl.net.core.NAME"},
	{"numa=off", SC_BAD, "all memory looks as near as any other: nothing can be placed"},
	{"mem=*", SC_WARN, "the memory beyond that is not used"},
	{"maxcpus=*", SC_WARN, "the CPUs beyond that are not used"},
	{"nr_cpus=*", SC_WARN, "the CPUs beyond that are not used"},
	{"nosmp", SC_BAD, "one CPU is used"},
	{"isolcpus=*", SC_WARN,
	 "the scheduler puts nothing there by itself: loader workers pile up on the rest (boot.isolcpus)"},
	{"idle=poll", SC_WARN, "halves the busy thread of a core and takes the turbo from all (boot.idle)"},
	{"init_on_free=1", SC_NOTE, "all freed memory is written once more (boot.init_on_free)"},
	{"mce=off", SC_BAD, "broken memory goes unnoticed: wrong results in place of an error"},
	{"transparent_hugepage=never", SC_WARN, "programs that ask for huge pages get none (thp.enabled)"},
	{"pci=*disable_acs_redir=pci:0:0*", SC_WARN,
	 "for every device there is: name the bridges above the GPUs only (pcie.acs)"},
};

/* Parameters of which the kernel keeps one value. Those of modules have a dot; some of systemd's and dracut's are
 * lists. */
static bool is_single(const char *name)
{
	static const char *const single[] = {"transparent_hugepage",
					     "numa_balancing",
					     "preempt",
					     "default_hugepagesz",
					     "elevator",
					     "mitigations",
					     "init_on_alloc",
					     "init_on_free",
					     "intel_pstate",
					     "amd_pstate",
					     "idle",
					     "nmi_watchdog",
					     "pcie_aspm",
					     "selinux",
					     "apparmor",
					     "audit",
					     "mem",
					     "maxcpus",
					     "nr_cpus",
					     "numa"};

	for (size_t i = 0; i < GT_ARRAY_SIZE(single); i++)
		if (!strcmp(name, single[i]))
			return true;
	return strchr(name, '.') && !gt_starts_with(name, "rd.") && !gt_starts_with(name, "systemd.") &&
	       !gt_starts_with(name, "modprobe.") && !gt_starts_with(name, "module_blacklist.");
}

static void judge_word(struct grub *g, const struct param *p)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(table); i++)
		if (!fnmatch(table[i].word, p->word, 0)) {
			sc_find(g->out, table[i].severity, p->file, p->line,
				gt_xasprintf("%.80s: %s", p->word, table[i].what));
			return;
		}
}

static void judge_twice(struct grub *g, const struct params *all, size_t at)
{
	const struct param *p = &all->p[at], *last = NULL;
	gt_autofree char *name = gt_xstrndup(p->word, strcspn(p->word, "="));
	size_t n = strlen(name);
	bool acs = strstr(p->word, "disable_acs_redir=") && gt_starts_with(p->word, "pci=");

	for (size_t i = at + 1; i < all->n && p->word[n]; i++)
		if ((gt_starts_with(all->p[i].word, name) && all->p[i].word[n] == '=' && is_single(name)) ||
		    (acs && gt_starts_with(all->p[i].word, "pci=") && strstr(all->p[i].word, "disable_acs_redir=")))
			last = &all->p[i];
	if (last && strcmp(last->word, p->word))
		sc_find(g->out, SC_WARN, p->file, p->line,
			gt_xasprintf("%.80s: not so, %.80s of %s:%u comes later and replaces it", p->word, last->word,
				     last->file, last->line));
}

/* An IOMMU that is off translates nothing, however it is to do so. */
static void judge_iommu(struct grub *g, const struct params *all)
{
	const struct param *off = NULL, *pt = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const char *w = all->p[i].word;

		if (!strcmp(w, "iommu=off") || !strcmp(w, "intel_iommu=off") || !strcmp(w, "amd_iommu=off"))
			off = &all->p[i];
		if (!strcmp(w, "iommu=pt") || !strcmp(w, "iommu.passthrough=1"))
			pt = &all->p[i];
	}
	if (off && pt)
		sc_find(g->out, SC_WARN, pt->file, pt->line,
			gt_xasprintf("%s: has no effect beside %s of %s:%u", pt->word, off->word, off->file,
				     off->line));
}

/* Both lists of words as grub-mkconfig joins them against what this kernel was started with. */
static void judge_pending(struct grub *g, const struct params *all, const struct params *running)
{
	for (size_t i = 0; i < all->n; i++) {
		gt_auto_buf missing = {0};

		if (i && !strcmp(all->p[i].file, all->p[i - 1].file) && all->p[i].line == all->p[i - 1].line)
			continue;
		for (size_t k = i; k < all->n; k++)
			if (!strcmp(all->p[k].file, all->p[i].file) && all->p[k].line == all->p[i].line &&
			    !has_word(running, all->p[k].word))
				gt_buf_printf(&missing, "%s%s", missing.len ? " " : "", all->p[k].word);
		if (missing.len)
			sc_find(g->out, SC_NOTE, all->p[i].file, all->p[i].line,
				gt_xasprintf("this kernel was started without %.200s: no update-grub, or no reboot, "
					     "since the line was "
					     "written",
					     missing.s));
	}
}

static void judge(struct grub *g, const struct params *all)
{
	gt_autofree char *cmdline = NULL;
	struct params running = {0};

	for (size_t i = 0; i < all->n; i++) {
		judge_word(g, &all->p[i]);
		judge_twice(g, all, i);
	}
	judge_iommu(g, all);
	if (!all->n || gt_fs_read_line(g->fs, "/proc/cmdline", &cmdline) < 0)
		return;
	for (const char *p = cmdline; *p;) {
		size_t n = strcspn(p, BLANKS);

		add(&running, p, n, "/proc/cmdline", 1);
		p += n + strspn(p + n, BLANKS);
	}
	if (strstr(cmdline, "BOOT_IMAGE="))
		judge_pending(g, all, &running);
	else
		sc_find(g->out, SC_NOTE, DEFAULT, 0,
			gt_xstrdup("this kernel was not started by GRUB (no BOOT_IMAGE= in /proc/cmdline): nothing of "
				   "it applies"));
	clear(&running);
}

/* All words that reach the kernel. */
static void take_files(struct grub *g, struct params *ret)
{
	gt_auto_strv names = {0};

	take_file(g, DEFAULT);
	gt_fs_list(g->fs, DEFAULT ".d", &names);
	gt_strv_sort_bytes(&names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", DEFAULT ".d", names.v[i]);

		if (gt_ends_with(names.v[i], ".cfg") && *names.v[i] != '.')
			take_file(g, path);
	}
	for (size_t v = 0; v < N_VARS; v++) {
		for (size_t i = 0; i < g->var[v].n; i++)
			add(ret, g->var[v].p[i].word, strlen(g->var[v].p[i].word), g->var[v].p[i].file, g->var[v].p[i].line);
		clear(&g->var[v]);
	}
}

void tn_lint_grub(struct gt_fsroot *fs, struct sc_findings *ret)
{
	struct grub g = {.fs = fs, .out = ret};
	struct params all = {0};

	tn_lint_unread(fs, DEFAULT ".d", ".cfg", "update-grub", ret);
	take_files(&g, &all);
	judge(&g, &all);
	clear(&all);
}

char *tn_grub_where(struct gt_fsroot *fs, const char *begin)
{
	sc_auto_findings ignored = {0};
	struct grub g = {.fs = fs, .out = &ignored};
	struct params all = {0};
	char *where = NULL;

	take_files(&g, &all);
	for (size_t i = all.n; i-- && !where;)
		if (gt_starts_with(all.p[i].word, begin))
			where = gt_xasprintf("%s:%u", all.p[i].file, all.p[i].line);
	clear(&all);
	return where;
}
