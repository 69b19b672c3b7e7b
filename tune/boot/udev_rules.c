/* SPDX-License-Identifier: Apache-2.0 */
/* Files of rules into lines of tokens. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "sysctl/sysctl.h"
#include "tune/boot/udev.h"

#define BLANKS        " \t\n\r"
#define LINE_MAX_UDEV 16384 /* longer ones udevd ignores */

/* ---- keys ----------------------------------------------------------------------------------------------------------
 */

enum attr { NONE, NEEDED, MAY };
enum { COMPARE = 1, SET = 2, TAKE_AWAY = 4, EITHER = 8 /* whatever the operator: a match */ };
static const struct {
	const char *name;
	int match, assign; /* enum tn_udev_key, -1: not to be used so */
	enum attr attr;
	unsigned ops;
} keys[] = {
	{"ACTION", TN_UDEV_M_ACTION, -1, NONE, COMPARE},
	{"DEVPATH", TN_UDEV_M_DEVPATH, -1, NONE, COMPARE},
	{"KERNEL", TN_UDEV_M_KERNEL, -1, NONE, COMPARE},
	{"SYMLINK", TN_UDEV_M_SYMLINK, TN_UDEV_A_OTHER, NONE, COMPARE | SET},
	{"NAME", TN_UDEV_M_NAME, TN_UDEV_A_OTHER, NONE, COMPARE | SET},
	{"ENV", TN_UDEV_M_ENV, TN_UDEV_A_ENV, NEEDED, COMPARE | SET},
	{"CONST", TN_UDEV_M_CONST, -1, NEEDED, COMPARE},
	{"TAG", TN_UDEV_M_TAG, TN_UDEV_A_OTHER, NONE, COMPARE | SET | TAKE_AWAY},
	{"SUBSYSTEM", TN_UDEV_M_SUBSYSTEM, -1, NONE, COMPARE},
	{"DRIVER", TN_UDEV_M_DRIVER, -1, NONE, COMPARE},
	{"ATTR", TN_UDEV_M_ATTR, TN_UDEV_A_ATTR, NEEDED, COMPARE | SET},
	{"SYSCTL", TN_UDEV_M_SYSCTL, TN_UDEV_A_SYSCTL, NEEDED, COMPARE | SET},
	{"KERNELS", TN_UDEV_M_KERNELS, -1, NONE, COMPARE},
	{"SUBSYSTEMS", TN_UDEV_M_SUBSYSTEMS, -1, NONE, COMPARE},
	{"DRIVERS", TN_UDEV_M_DRIVERS, -1, NONE, COMPARE},
	{"ATTRS", TN_UDEV_M_ATTRS, -1, NEEDED, COMPARE},
	{"TAGS", TN_UDEV_M_TAGS, -1, NONE, COMPARE},
	{"TEST", TN_UDEV_M_TEST, -1, MAY, COMPARE},
	{"PROGRAM", TN_UDEV_M_PROGRAM, -1, NONE, EITHER},
	{"IMPORT", TN_UDEV_M_IMPORT, -1, NEEDED, EITHER},
	{"RESULT", TN_UDEV_M_RESULT, -1, NONE, COMPARE},
	{"OPTIONS", -1, TN_UDEV_A_OTHER, NONE, SET},
	{"OWNER", -1, TN_UDEV_A_OTHER, NONE, SET},
	{"GROUP", -1, TN_UDEV_A_OTHER, NONE, SET},
	{"MODE", -1, TN_UDEV_A_OTHER, NONE, SET},
	{"SECLABEL", -1, TN_UDEV_A_OTHER, NEEDED, SET},
	{"RUN", -1, TN_UDEV_A_RUN, MAY, SET},
	{"WAIT_FOR", TN_UDEV_M_WAIT, -1, MAY, EITHER},
	{"WAIT_FOR_SYSFS", TN_UDEV_M_WAIT, -1, MAY, EITHER},
};
static const char *const op_text[] = {"==", "!=", "+=", "-=", "=", ":="};

static bool is_one_of(const char *s, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s, list[i]))
			return true;
	return false;
}

/* What makes udevd ignore a line though its key and operator are right; NULL: nothing. */
static const char *refused(const struct tn_udev_token *t)
{
	static const char *const fixed[] = {"ACTION",  "DEVLINKS", "DEVNAME", "DEVPATH", "DEVTYPE",   "DRIVER",
					    "IFINDEX", "MAJOR",    "MINOR",   "SEQNUM",  "SUBSYSTEM", "TAGS"};
	static const char *const imports[] = {"file", "program", "builtin", "db", "cmdline", "parent"};
	static const char *const consts[] = {"arch", "virt", "cvm"};

	if (t->key == TN_UDEV_A_ENV && is_one_of(t->attr, fixed, GT_ARRAY_SIZE(fixed)))
		return "is the kernel's to set";
	if (t->key == TN_UDEV_M_IMPORT && !is_one_of(t->attr, imports, GT_ARRAY_SIZE(imports)))
		return "cannot import from there";
	if (t->key == TN_UDEV_M_CONST && !is_one_of(t->attr, consts, GT_ARRAY_SIZE(consts)))
		return "is no constant of udev's";
	if (t->key == TN_UDEV_A_RUN && t->attr && strcmp(t->attr, "program") && strcmp(t->attr, "builtin"))
		return "is neither program nor builtin";
	if (!strcmp(t->name, "NAME") && t->key == TN_UDEV_A_OTHER && (!*t->value || !strcmp(t->value, "%k")))
		return "would change nothing";
	return NULL;
}

/* Key and operator of a token that has its other parts; -EINVAL: udevd ignores the line, *why says why (the caller
 * frees it). */
static int settle_key(struct tn_udev_token *t, const char *key, char **why)
{
	bool compares = t->op == TN_UDEV_MATCH || t->op == TN_UDEV_NOMATCH;
	size_t i = 0;

	while (i < GT_ARRAY_SIZE(keys) && strcmp(keys[i].name, key))
		i++;
	if (i == GT_ARRAY_SIZE(keys)) {
		*why = gt_xasprintf("there is no key '%.40s'", key);
		return -EINVAL;
	}
	t->name = keys[i].name;
	if (keys[i].attr == NEEDED ? !t->attr || !*t->attr : keys[i].attr == NONE && t->attr) {
		*why = keys[i].attr == NEEDED ? gt_xasprintf("%s lacks its {NAME}", key)
					      : gt_xasprintf("%s takes no {%.40s}", key, t->attr);
		return -EINVAL;
	}
	if (!(keys[i].ops & EITHER ? t->op != TN_UDEV_REMOVE
	      : compares           ? keys[i].ops & COMPARE
				   : keys[i].ops & SET && (t->op != TN_UDEV_REMOVE || keys[i].ops & TAKE_AWAY))) {
		*why = gt_xasprintf("%s is not for %s", op_text[t->op], key);
		return -EINVAL;
	}
	if (keys[i].ops & EITHER && !compares)
		t->op = TN_UDEV_MATCH;
	t->key = (enum tn_udev_key)(compares || keys[i].ops & EITHER ? keys[i].match : keys[i].assign);
	if (!refused(t))
		return 0;
	*why = gt_xasprintf("%s%s%.40s%s %s", key, t->attr ? "{" : "", t->attr ? t->attr : "", t->attr ? "}" : "",
			    refused(t));
	return -EINVAL;
}

/* ---- one line ------------------------------------------------------------------------------------------------------
 */

static int digit_of(char c)
{
	return isdigit((unsigned char)c)    ? c - '0'
	       : isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10
					    : 99;
}

/* n digits of a base; -EINVAL if they are none, or stand for NUL. */
static int number(const char *s, size_t n, int base, int *ret)
{
	int v = 0;

	for (size_t i = 0; i < n; i++) {
		if (digit_of(s[i]) >= base || v > 0x10ffff)
			return -EINVAL;
		v = v * base + digit_of(s[i]);
	}
	*ret = v;
	return v ? 0 : -EINVAL;
}

static void add_utf8(struct gt_buf *b, int c)
{
	int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	char out[4];

	for (int i = more; i; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 0x3f));
	out[0] = (char)(more ? (0xf00 >> more & 0xff) | c : c);
	gt_buf_add(b, out, (size_t)more + 1);
}

/* What stands behind a backslash at s; how many characters it takes, or -EINVAL. */
static int escape(const char *s, struct gt_buf *b)
{
	static const char from[] = "abfnrtvs\\\"'", to[] = "\a\b\f\n\r\t\v \\\"'";
	static const struct {
		char c;
		int skip, digits, base, most;
	} forms[] = {{'x', 1, 2, 16, 255}, {'u', 1, 4, 16, 0xffff}, {'U', 1, 8, 16, 0x10ffff}, {0, 0, 3, 8, 255}};
	const char *plain = *s ? strchr(from, *s) : NULL;
	size_t f = 0;
	int v = 0;

	if (plain) {
		gt_buf_add(b, &to[plain - from], 1);
		return 1;
	}
	while (forms[f].c && forms[f].c != *s)
		f++;
	if (number(s + forms[f].skip, (size_t)forms[f].digits, forms[f].base, &v) < 0 || v > forms[f].most)
		return -EINVAL;
	if (forms[f].most > 255)
		add_utf8(b, v);
	else
		gt_buf_add(b, &(char){(char)v}, 1);
	return forms[f].skip + forms[f].digits;
}

/* C escapes, as in e"…". */
static int unescape(const char *s, struct gt_buf *b)
{
	while (*s) {
		int n = *s == '\\' ? escape(s + 1, b) : 0;

		if (n < 0)
			return n;
		if (*s != '\\')
			gt_buf_add(b, s, 1);
		s += 1 + n;
	}
	return 0;
}

/* A value in quotes at *p, which is moved behind it; prefixes e (escapes) and i (whatever the case). */
static int take_value(char **p, struct tn_udev_token *t)
{
	bool escaped = false;
	gt_auto_buf raw = {0}, plain = {0};
	char *s = *p;

	for (; *s == 'e' || *s == 'i'; s++) {
		escaped |= *s == 'e';
		t->any_case |= *s == 'i';
	}
	if (*s++ != '"')
		return -EINVAL;
	for (; *s != '"'; s++) {
		if (s[0] == '\\' && (escaped || s[1] == '"')) {
			if (escaped)
				gt_buf_add(&raw, s, 1);
			s++;
		}
		if (!*s)
			return -EINVAL;
		gt_buf_add(&raw, s, 1);
	}
	*p = s + 1;
	if (escaped && unescape(raw.s ? raw.s : "", &plain) < 0)
		return -EINVAL;
	t->value = gt_buf_take(escaped ? &plain : &raw);
	return 0;
}

static int take_op(char **p, enum tn_udev_op *ret)
{
	for (size_t i = 0; i < GT_ARRAY_SIZE(op_text); i++)
		if (gt_starts_with(*p, op_text[i])) {
			*ret = (enum tn_udev_op)i;
			*p += strlen(op_text[i]);
			return 0;
		}
	return -EINVAL;
}

/* KEY{ATTR} OP "VALUE" at *p, which is moved behind it. 0: nothing is left; 1: *ret_key and t are filled; -EINVAL: no
 * such form. */
static int take_token(char **p, char **ret_key, struct tn_udev_token *t)
{
	char *s = *p + strspn(*p, BLANKS ","), *end = s;

	if (!*s)
		return 0;
	while (*end && !strchr(BLANKS "={", *end) && !(strchr("+-!:", *end) && end[1] == '='))
		end++;
	if (!*end)
		return -EINVAL;
	*ret_key = gt_xstrndup(s, (size_t)(end - s));
	if (*end == '{') {
		size_t n = strcspn(end + 1, "}");

		if (!end[1 + n])
			return -EINVAL;
		t->attr = gt_xstrndup(end + 1, n);
		end += n + 2;
	}
	end += strspn(end, BLANKS);
	if (take_op(&end, &t->op) < 0)
		return -EINVAL;
	end += strspn(end, BLANKS);
	if (take_value(&end, t) < 0)
		return -EINVAL;
	*p = end;
	return 1;
}

static void token_clear(struct tn_udev_token *t)
{
	free(t->attr);
	free(t->value);
	*t = (struct tn_udev_token){0};
}

static void line_clear(struct tn_udev_line *l)
{
	for (size_t i = 0; i < l->n; i++)
		token_clear(&l->token[i]);
	free(l->token);
	free(l->label);
	free(l->wants);
	*l = (struct tn_udev_line){0};
}

/* GOTO and LABEL are of the line, not of its tokens. Returns whether it was one. */
static bool take_jump(struct tn_udev_line *l, const char *key, struct tn_udev_token *t, char **why)
{
	bool is_goto = !strcmp(key, "GOTO");
	char **where = is_goto ? &l->wants : &l->label;

	if (!is_goto && strcmp(key, "LABEL"))
		return false;
	if (t->attr || t->op != TN_UDEV_ASSIGN)
		*why = gt_xasprintf("%s is said with = and a name", key);
	else if (!is_goto || !*where) { /* of two GOTO the first counts, of two LABEL the last */
		free(*where);
		*where = gt_take(t->value);
	}
	token_clear(t);
	return true;
}

/* Stable: assignments of one kind stay in the order in which they are written. */
static void put_token(struct tn_udev_line *l, struct tn_udev_token *t)
{
	size_t at = l->n;

	l->token = gt_xrealloc(l->token, (l->n + 1) * sizeof(*l->token));
	while (at && l->token[at - 1].key > t->key)
		at--;
	memmove(&l->token[at + 1], &l->token[at], (l->n - at) * sizeof(*l->token));
	l->token[at] = *t;
	l->n++;
	*t = (struct tn_udev_token){0};
}

/* -EINVAL: udevd ignores the line whole; *why is the caller's. */
static int parse_line(char *text, struct tn_udev_line *l, char **why)
{
	for (;;) {
		gt_autofree char *key = NULL;
		struct tn_udev_token t = {0};
		int r = take_token(&text, &key, &t);

		if (!r)
			return 0;
		if (r < 0)
			*why = gt_xasprintf("'%.40s' is not KEY, operator and a value in quotes",
					    text + strspn(text, BLANKS ","));
		else if (!take_jump(l, key, &t, why))
			r = settle_key(&t, key, why);
		if (*why) {
			token_clear(&t);
			return -EINVAL;
		}
		if (t.value)
			put_token(l, &t);
	}
}

/* ---- one file ------------------------------------------------------------------------------------------------------
 */

static void complain(struct tn_udev *u, size_t file, unsigned no, char *what)
{
	u->problem = gt_xrealloc(u->problem, (u->n_problem + 1) * sizeof(*u->problem));
	u->problem[u->n_problem++] = (struct tn_udev_problem){file, no, what};
}

static void add_line(struct tn_udev *u, size_t file, unsigned no, char *text)
{
	struct tn_udev_line l = {.file = file, .no = no};
	char *why = NULL;

	if (!*text)
		return;
	if (strlen(text) >= LINE_MAX_UDEV)
		complain(u, file, no, gt_xstrdup("is too long"));
	else if (parse_line(text, &l, &why) < 0)
		complain(u, file, no, why);
	else if (l.n || l.label || l.wants) {
		u->line = gt_xrealloc(u->line, (u->n + 1) * sizeof(*u->line));
		u->line[u->n++] = l;
		return;
	}
	line_clear(&l);
}

struct labels {
	struct label {
		const char *name;
		size_t line;
	} *v;
	size_t n;
};

static struct label *find_label(const struct labels *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->v[i].name, name))
			return &l->v[i];
	return NULL;
}

/* To the next such label further down in the same file, else nowhere: from below, so that the nearest is known. */
static void resolve_jumps(struct tn_udev *u, size_t first)
{
	struct labels below = { 0 };

	for (size_t i = u->n; i-- > first;) {
		struct tn_udev_line *l = &u->line[i];
		struct label *to = l->wants ? find_label(&below, l->wants) : NULL, *own;

		if (to)
			l->go_to = to->line;
		else if (l->wants)
			complain(u, l->file, l->no,
				 gt_xasprintf("GOTO=\"%.40s\": no such LABEL further down in this file", l->wants));
		if (!l->label)
			continue;
		own = find_label(&below, l->label);
		if (!own) {
			below.v = gt_xrealloc(below.v, (below.n + 1) * sizeof(*below.v));
			own = &below.v[below.n++];
			own->name = l->label;
		}
		own->line = i;
	}
	free(below.v);
}

/* A backslash at the end joins the next line that is no comment. What is still open at the end of the file is lost. */
static void parse_file(struct tn_udev *u, size_t file, const char *text)
{
	gt_auto_buf joined = {0};
	gt_autofree char *copy = gt_xstrdup(text);
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
		if (n && line[n - 1] == '\r') /* udevd reads it as the end of a line, too */
			line[--n] = '\0';
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
		complain(u, file, begin, gt_xstrdup("ends in a backslash, and the file with it"));
	resolve_jumps(u, first);
}

/* ---- all of them ---------------------------------------------------------------------------------------------------
 */

void tn_udev_load(struct gt_fsroot *fs, enum sc_when when, struct tn_udev *u)
{
	gt_auto_strv files = {0};

	*u = (struct tn_udev){.fs = fs};
	sc_dropins(fs, "udev/rules.d", ".rules", when, NULL, &files, NULL);
	for (size_t i = 0; i < files.n; i++) {
		char *text = NULL;

		if (gt_fs_read(fs, files.v[i], &text, NULL) < 0) /* masked, or not for us to read */
			continue;
		gt_strv_add(&u->files, files.v[i]);
		gt_strv_take(&u->texts, text);
	}
}

void tn_udev_parse(struct tn_udev *u)
{
	for (size_t i = 0; i < u->files.n && !u->parsed; i++)
		parse_file(u, i, u->texts.v[i]);
	u->parsed = true;
}

void tn_udev_clear(struct tn_udev *u)
{
	for (size_t i = 0; i < u->n; i++)
		line_clear(&u->line[i]);
	for (size_t i = 0; i < u->n_problem; i++)
		free(u->problem[i].what);
	free(u->line);
	free(u->problem);
	gt_strv_clear(&u->files);
	gt_strv_clear(&u->texts);
	*u = (struct tn_udev){0};
}

/* ---- matching ------------------------------------------------------------------------------------------------------
 */

static bool one_of_words(const struct tn_udev_token *t, const char *s, bool glob)
{
	int flags = t->any_case ? FNM_CASEFOLD : 0;
	bool empty = false;

	for (const char *p = t->value;; p++) {
		size_t n = strcspn(p, "|");
		gt_autofree char *word = gt_xstrndup(p, n);

		empty |= !n;
		if (n && (glob ? !fnmatch(word, s, flags) : t->any_case ? !strcasecmp(word, s) : !strcmp(word, s)))
			return true;
		p += n;
		if (!*p)
			return empty && !*s;
	}
}

bool tn_udev_value_matches(const struct tn_udev_token *t, const char *s)
{
	static const char *const old[] = {"subsystem", "bus", "class"};

	s = s ? s : "";
	if (t->key == TN_UDEV_M_SUBSYSTEM && is_one_of(t->value, old, GT_ARRAY_SIZE(old)))
		return is_one_of(s, old, GT_ARRAY_SIZE(old));
	if (!*t->value)
		return !*s;
	if (!strcmp(t->value, "?*"))
		return *s;
	return one_of_words(t, s, strpbrk(t->value, "*?["));
}
