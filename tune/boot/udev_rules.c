/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of udev rules. */
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/boot/udev.h"

#define BLANKS        " \t\n\r"
#define LINE_MAX_UDEV 16384 /* udevd ignores longer lines */

static const char *const op_text[] = {"==", "!=", "+=", "-=", "=", ":="};

/* The keys of udev(7), grouped by their operators and by whether a {NAME} follows. */
enum { COMPARE = 1, SET = 2 };
static const struct {
	const char *keys;
	unsigned ops;
	enum { NONE, NEEDED, OPTIONAL } name;
} groups[] = {
	{" ACTION DEVPATH KERNEL SUBSYSTEM DRIVER KERNELS SUBSYSTEMS DRIVERS TAGS RESULT ", COMPARE, NONE},
	{" CONST ATTRS ", COMPARE, NEEDED},
	{" TEST ", COMPARE, OPTIONAL},
	{" SYMLINK NAME TAG PROGRAM ", COMPARE | SET, NONE},
	{" ENV ATTR SYSCTL IMPORT ", COMPARE | SET, NEEDED},
	{" WAIT_FOR WAIT_FOR_SYSFS ", COMPARE | SET, OPTIONAL},
	{" OPTIONS OWNER GROUP MODE GOTO LABEL ", SET, NONE},
	{" SECLABEL ", SET, NEEDED},
	{" RUN ", SET, OPTIONAL},
};

static bool is_word_of(const char *word, const char *list)
{
	size_t n = strlen(word);

	for (const char *p = list; n && (p = strstr(p, word)); p++)
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

bool tn_udev_compares(const struct tn_udev_token *t)
{
	return t->op == TN_UDEV_MATCH || t->op == TN_UDEV_NOMATCH;
}

/* ---- one line ---- */

/* Reads the quoted value at *p and moves *p past it. Prefix e: C escapes; prefix i, since version 256: ignore case. */
static int parse_value(char **p, struct tn_udev_token *t)
{
	char *s = *p + strspn(*p, "ei");
	bool escapes = memchr(*p, 'e', (size_t)(s - *p));
	gt_auto_buf b = {0};

	t->literal = !memchr(*p, 'i', (size_t)(s - *p));
	if (*s++ != '"')
		return -EINVAL;
	for (; *s != '"'; s++) {
		t->literal &= !strchr("%$", *s) && !(escapes && *s == '\\');
		if (*s == '\\' && (escapes || s[1] == '"'))
			s++;
		if (!*s)
			return -EINVAL;
		gt_buf_add(&b, s, 1);
	}
	*p = s + 1;
	t->value = gt_buf_take(&b);
	return 0;
}

/* Reads KEY{NAME} OP "VALUE" at *p and moves *p past it. Returns 1, 0 at the end of the line, or -EINVAL. */
static int parse_token(char **p, struct tn_udev_rule *r)
{
	char *s = *p + strspn(*p, BLANKS ","), *end = s;
	struct tn_udev_token *t;

	if (!*s)
		return 0;
	r->token = gt_xrealloc(r->token, (r->n + 1) * sizeof(*r->token));
	t = &r->token[r->n++];
	while (*end && !strchr(BLANKS "={", *end) && !(strchr("+-!:", *end) && end[1] == '='))
		end++;
	*t = (struct tn_udev_token){.key = gt_xstrndup(s, (size_t)(end - s))};
	if (*end == '{') {
		size_t n = strcspn(end + 1, "}");

		if (!end[1 + n])
			return -EINVAL;
		t->name = gt_xstrndup(end + 1, n);
		end += n + 2;
	}
	end += strspn(end, BLANKS);
	for (t->op = TN_UDEV_MATCH; !gt_starts_with(end, op_text[t->op]); t->op++)
		if (t->op == TN_UDEV_FINAL)
			return -EINVAL;
	end += strlen(op_text[t->op]);
	end += strspn(end, BLANKS);
	if (parse_value(&end, t) < 0)
		return -EINVAL;
	*p = end;
	return 1;
}

/* Returns why udevd ignores the line; NULL: it does not. */
static char *rejected(const struct tn_udev_token *t)
{
	unsigned ops = tn_udev_compares(t) ? COMPARE : SET;
	size_t g = 0;

	while (g < GT_ARRAY_SIZE(groups) && !is_word_of(t->key, groups[g].keys))
		g++;
	if (g == GT_ARRAY_SIZE(groups))
		return gt_xasprintf("unknown key '%.40s'", t->key);
	if (groups[g].name == NEEDED && (!t->name || !*t->name))
		return gt_xasprintf("%s needs a {NAME}", t->key);
	if (groups[g].name == NONE && t->name)
		return gt_xasprintf("%s has no {%.40s}", t->key, t->name);
	if (!(groups[g].ops & ops) || (t->op != TN_UDEV_ASSIGN && is_word_of(t->key, " GOTO LABEL ")) ||
	    (t->op == TN_UDEV_REMOVE && !is_word_of(t->key, " TAG SYMLINK ")))
		return gt_xasprintf("operator %s is not allowed for %s", op_text[t->op], t->key);
	return NULL;
}

/* Returns false if the token may make udevd skip or reject the line in a way that is not evaluated. */
static bool is_evaluated(const struct tn_udev_token *t)
{
	if (tn_udev_compares(t))
		return t->literal && is_word_of(t->key, " ACTION KERNEL SUBSYSTEM ATTR ") && !(t->name && strpbrk(t->name, "[%$"));
	return is_word_of(t->key, " ATTR SYSCTL ") || (t->literal && is_word_of(t->key, " GOTO LABEL ")) ||
	       (!t->name && !strcmp(t->key, "RUN"));
}

static void set_unread(struct tn_udev_rule *r, const char *key, const char *name)
{
	if (!r->unread)
		r->unread = name ? gt_xasprintf("%s{%s}", key, name) : gt_xstrdup(key);
}

/*
 * Returns why udevd ignores the line; NULL: it does not. If a line has two GOTO, the first counts; if it has two LABEL,
 * the last.
 */
static char *parse_line(char *text, struct tn_udev_rule *r)
{
	int more;

	while ((more = parse_token(&text, r)) > 0) {
		struct tn_udev_token *t = &r->token[r->n - 1];
		char *why = rejected(t);

		if (why)
			return why;
		t->evaluated = is_evaluated(t);
		if (!t->evaluated)
			set_unread(r, t->key, t->name);
		if (!strcmp(t->key, "LABEL"))
			r->label = t->value;
		else if (!strcmp(t->key, "GOTO") && !r->wants)
			r->wants = t->value;
	}
	text += strspn(text, BLANKS ",");
	return more < 0 ? gt_xasprintf("'%.40s' is not a key, an operator and a value in quotes", text) : NULL;
}

/* ---- one file ---- */

static void rule_clear(struct tn_udev_rule *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->token[i].key);
		free(r->token[i].name);
		free(r->token[i].value);
	}
	free(r->token);
	free(r->unread);
}

static void complain(struct tn_udev *u, size_t file, unsigned line, char *what)
{
	u->problem = gt_xrealloc(u->problem, (u->n_problem + 1) * sizeof(*u->problem));
	u->problem[u->n_problem++] = (struct tn_udev_problem){file, line, what};
}

static void add_line(struct tn_udev *u, size_t file, unsigned line, char *text)
{
	struct tn_udev_rule r = {.file = file, .line = line};
	char *why = strlen(text) >= LINE_MAX_UDEV ? gt_xstrdup("is too long") : parse_line(text, &r);

	if (why) {
		complain(u, file, line, why);
		rule_clear(&r);
		return;
	}
	u->rule = gt_xrealloc(u->rule, (u->n + 1) * sizeof(*u->rule));
	u->rule[u->n++] = r;
}

/* Resolves each GOTO to the next rule below that has its label. Jumps to the same label share one search. If udevd may
 * read other labels than this code, nothing in the file is certain. */
static void resolve_jumps(struct tn_udev *u, size_t first)
{
	const char *wants = NULL;
	bool unclear = false;
	size_t to = 0;

	for (size_t i = first; i < u->n; i++) {
		struct tn_udev_rule *r = &u->rule[i];

		unclear |= r->label && r->unread;
		if (!r->wants)
			continue;
		if (!gt_streq(wants, r->wants) || to <= i)
			for (to = i + 1, wants = r->wants; to < u->n && !gt_streq(u->rule[to].label, wants);)
				to++;
		if (to < u->n) {
			r->go_to = to;
			continue;
		}
		unclear |= r->unread != NULL;
		complain(u, r->file, r->line, gt_xasprintf("GOTO=\"%.40s\": no such LABEL below in this file", wants));
	}
	for (size_t i = first; i < u->n && unclear; i++)
		set_unread(&u->rule[i], "GOTO", NULL);
}

/* A backslash at the end joins the next line that is no comment. udevd drops such a line at the end of the file. */
static void parse_file(struct tn_udev *u, size_t file)
{
	gt_autofree char *copy = gt_xstrdup(u->texts.v[file]);
	gt_auto_buf joined = {0};
	unsigned no = 0, begin = 0;
	size_t first = u->n;
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));) {
		size_t n;

		no++;
		line += strspn(line, BLANKS);
		if (*line == '#')
			continue;
		n = strlen(line);
		n -= n && line[n - 1] == '\r';
		begin = begin ? begin : no;
		if (n && line[n - 1] == '\\') {
			gt_buf_add(&joined, line, n - 1);
			continue;
		}
		gt_buf_add(&joined, line, n);
		if (joined.len)
			add_line(u, file, begin, joined.s);
		gt_buf_clear(&joined);
		begin = 0;
	}
	if (joined.len)
		complain(u, file, begin, gt_xstrdup("ends in a backslash at the end of the file"));
	resolve_jumps(u, first);
}

/* ---- all of them ---- */

void tn_udev_load(struct gt_fsroot *fs, enum sc_when when, struct tn_udev *u)
{
	gt_auto_strv files = {0};

	*u = (struct tn_udev){.fs = fs};
	sc_dropins(fs, "udev/rules.d", ".rules", when, NULL, &files, NULL);
	for (size_t i = 0; i < files.n; i++) {
		char *text = NULL;

		if (gt_fs_read(fs, files.v[i], &text, NULL) < 0) /* masked or unreadable */
			continue;
		gt_strv_add(&u->files, files.v[i]);
		gt_strv_take(&u->texts, text);
	}
}

void tn_udev_parse(struct tn_udev *u)
{
	for (size_t i = 0; i < u->files.n && !u->parsed; i++)
		parse_file(u, i);
	u->parsed = true;
}

void tn_udev_clear(struct tn_udev *u)
{
	for (size_t i = 0; i < u->n; i++)
		rule_clear(&u->rule[i]);
	for (size_t i = 0; i < u->n_problem; i++)
		free(u->problem[i].what);
	free(u->rule);
	free(u->problem);
	gt_strv_clear(&u->files);
	gt_strv_clear(&u->texts);
	*u = (struct tn_udev){0};
}
