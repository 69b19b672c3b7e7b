/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the kernel command line in GRUB's files, as sh does when grub-mkconfig runs. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "probe/host/grub.h"
#include "probe/host/reading.h"

#define BLANKS  " \t\n"
#define DEFAULT PR_GRUB_DEFAULT
#define PREFIX "GRUB_CMDLINE"

/* The variables that become the kernel command line, in this order. */
enum { LINUX, LINUX_DEFAULT, N_VARS };
static const char *const vars[N_VARS] = {
	[LINUX] = "GRUB_CMDLINE_LINUX", [LINUX_DEFAULT] = "GRUB_CMDLINE_LINUX_DEFAULT"};

struct grub {
	struct gt_fsroot *fs;
	struct sc_findings *out;
	struct pr_params var[N_VARS];
	bool script; /* the file contains conditions or loops, so its assignments may not be executed */
};

void pr_params_add(struct pr_params *to, const char *word, size_t len, const char *file, unsigned line)
{
	to->p = gt_xrealloc(to->p, (to->n + 1) * sizeof(*to->p));
	to->p[to->n++] = (struct pr_param){ gt_xstrndup(word, len), gt_xstrdup(file), line };
}

void pr_params_clear(struct pr_params *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->p[i].word);
		free(l->p[i].file);
	}
	free(l->p);
	*l = (struct pr_params){ 0 };
}

bool pr_params_have(const struct pr_params *l, const char *word)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->p[i].word, word))
			return true;
	return false;
}

static void copy(struct pr_params *to, const struct pr_param *p)
{
	pr_params_add(to, p->word, strlen(p->word), p->file, p->line);
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns whether the shell text contains $NAME or ${NAME...}. */
static bool refers(const char *value, const char *name)
{
	for (const char *p = value; (p = strchr(p, '$')); p++) {
		const char *at = p + 1 + (p[1] == '{');

		if (gt_starts_with(at, name) && !is_name(at[strlen(name)]))
			return true;
	}
	return false;
}

/* Reports words of the old value that the new value lacks, one finding per line that set them. */
static void report_missing(struct grub *g, const struct pr_params *old, const struct pr_params *now, const char *name,
			   const char *file, unsigned line)
{
	for (size_t i = 0; i < old->n; i++) {
		const struct pr_param *first = &old->p[i];
		gt_auto_buf missing = {0};

		if (i && !strcmp(first->file, old->p[i - 1].file) && first->line == old->p[i - 1].line)
			continue;
		for (size_t k = i; k < old->n; k++)
			if (!strcmp(old->p[k].file, first->file) && old->p[k].line == first->line &&
			    !pr_params_have(now, old->p[k].word))
				gt_buf_printf(&missing, "%s%s", missing.len ? " " : "", old->p[k].word);
		if (missing.len)
			sc_find(g->out, SC_WARN, first->file, first->line,
				gt_xasprintf("does not reach the kernel: %.200s; %s:%u sets %s again, without $%s in the value",
					     missing.s, file, line, name, name));
	}
}

/* Assigns a variable. Words from command substitution are unknown and are omitted. */
static void assign(struct grub *g, size_t v, const char *value, const char *file, unsigned line)
{
	struct pr_params now = {0};
	bool opaque = strstr(value, "$(") || strchr(value, '`');

	if (opaque)
		return;
	for (size_t k = 0; k < N_VARS; k++)
		if (refers(value, vars[k]))
			for (size_t i = 0; i < g->var[k].n; i++)
				copy(&now, &g->var[k].p[i]);
	for (const char *p = value + strspn(value, BLANKS); *p;) {
		size_t n = strcspn(p, BLANKS);

		if (!memchr(p, '$', n))
			pr_params_add(&now, p, n, file, line);
		p += n + strspn(p + n, BLANKS);
	}
	if (!g->script)
		report_missing(g, &g->var[v], &now, vars[v], file, line);
	pr_params_clear(&g->var[v]);
	g->var[v] = now;
}

/* Reads the value of an assignment without its quotes, up to the end of the line or of the last quote. Returns the next
 * character, NULL if a quote is not closed. */
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

/* Parses NAME=VALUE at p, where NAME begins with GRUB_CMDLINE. Returns the start of the next line. */
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
	const char *end = p, *eol = strchrnul(p, '\n'), *after;
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
					"not an assignment: += is syntax of bash, but sh reads GRUB's files; write %s=\"$%s ...\"",
					name, name));
		else if (end[strspn(end, " \t")] == '=')
			sc_find(g->out, SC_WARN, file, line,
				gt_xasprintf("not an assignment: sh allows no blank before the = of %s", name));
		return eol;
	}
	after = unquote(end + 1, &value);
	if (!after) {
		sc_find(g->out, SC_BAD, file, line,
			gt_xasprintf("a quote is not closed, so update-grub fails at %s", name));
		return p + strlen(p);
	}
	for (size_t v = 0; v < N_VARS; v++)
		if (!strcmp(vars[v], name)) {
			assign(g, v, value.s ? value.s : "", file, line);
			return strchrnul(after, '\n');
		}
	if (!known)
		sc_find(g->out, SC_WARN, file, line, gt_xasprintf("has no effect: GRUB has no variable %s", name));
	return strchrnul(after, '\n');
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

void pr_grub_read(struct gt_fsroot *fs, struct pr_params *ret, struct sc_findings *problems)
{
	struct grub g = { .fs = fs, .out = problems };
	gt_auto_strv names = { 0 };

	take_file(&g, DEFAULT);
	gt_fs_list(fs, DEFAULT ".d", &names);
	gt_strv_sort_bytes(&names);
	for (size_t i = 0; i < names.n; i++) {
		gt_autofree char *path = gt_xasprintf("%s/%s", DEFAULT ".d", names.v[i]);

		if (gt_ends_with(names.v[i], ".cfg") && *names.v[i] != '.')
			take_file(&g, path);
	}
	for (size_t v = 0; v < N_VARS; v++) {
		for (size_t i = 0; i < g.var[v].n; i++)
			copy(ret, &g.var[v].p[i]);
		pr_params_clear(&g.var[v]);
	}
}

void pr_discover_grub(struct gt_fsroot *fs, struct pr_host *h)
{
	sc_auto_findings ignored = { 0 };

	pr_grub_read(fs, &h->grub, &ignored);
}
