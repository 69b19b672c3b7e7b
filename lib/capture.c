/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/text.h"

#define ENTRIES_MAX	500000

enum kind { KIND_NONE, KIND_DIR, KIND_LINK, KIND_DENY, KIND_FILE, KIND_BARE, KIND_HEX };

struct unpack {
	const char *name; /* file name of the capture, for error messages */
	size_t line_no, n_entries;
	struct gt_tree *tree;
	struct gt_err *err;
	/* the entry that is being collected */
	enum kind kind;
	char *path;
	int deny;
	struct gt_buf content;
};

static int bad(struct unpack *u, const char *what)
{
	return gt_fail(u->err, EINVAL, "%s:%zu: %s", u->name, u->line_no, what);
}

static int hex_decode(struct gt_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++) {
		unsigned value;
		char pair[3] = { b->s[i] };

		if (isspace((unsigned char)b->s[i]))
			continue;
		if (i + 1 >= b->len || !isxdigit((unsigned char)b->s[i]) || !isxdigit((unsigned char)b->s[i + 1]))
			return -EINVAL;
		pair[1] = b->s[++i];
		value = (unsigned)strtoul(pair, NULL, 16);
		b->s[n++] = (char)value;
	}
	b->len = n;
	return 0;
}

/* Adds the collected entry to the tree. */
static int flush_entry(struct unpack *u)
{
	static const mode_t modes[] = { [KIND_DIR] = S_IFDIR | 0755,  [KIND_LINK] = S_IFLNK | 0777, [KIND_DENY] = S_IFREG | 0644,
					[KIND_FILE] = S_IFREG | 0644, [KIND_BARE] = S_IFREG | 0644, [KIND_HEX] = S_IFREG | 0644 };
	enum kind kind = u->kind;
	gt_autofree char *path = gt_take(u->path);
	size_t len;
	int r;

	u->kind = KIND_NONE;
	if (kind == KIND_NONE)
		return 0;
	if (kind == KIND_BARE && u->content.len)
		u->content.len--; /* its last line has no newline */
	if (kind == KIND_HEX && hex_decode(&u->content) < 0)
		return bad(u, "expected pairs of hex digits");
	if (u->content.s)
		u->content.s[u->content.len] = '\0';
	len = u->content.len;
	r = gt_tree_add(u->tree, path, modes[kind], gt_buf_take(&u->content), len, kind == KIND_DENY ? u->deny : 0);
	if (r < 0)
		return gt_fail(u->err, -r, "%s:%zu: cannot create %s: %s", u->name, u->line_no, path, strerror(-r));
	return 0;
}

/* Decodes \ooo in place. Returns -EINVAL if it is malformed or encodes a NUL. */
static int unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s == '\\') {
			int v = 0;

			for (int i = 1; i <= 3; i++) {
				if (s[i] < '0' || s[i] > '7')
					return -EINVAL;
				v = v * 8 + s[i] - '0';
			}
			if (!v || v > 255)
				return -EINVAL;
			*out++ = (char)v;
			s += 3;
		} else {
			*out++ = *s;
		}
	}
	*out = '\0';
	return 0;
}

static bool canonical(const char *path)
{
	if (*path != '/' || !path[1] || strlen(path) > 4000)
		return false;
	for (const char *p = path; p; p = strchr(p + 1, '/')) {
		size_t len = strcspn(p + 1, "/");

		if (!len || len > 255 || (p[1] == '.' && (len == 1 || (len == 2 && p[2] == '.'))))
			return false;
	}
	return true;
}

static int errno_of(const char *name)
{
	for (int e = 1; e < 200; e++)
		if (gt_streq(strerrorname_np(e), name))
			return e;
	return 0;
}

static int start_deny(struct unpack *u, const char *code_name)
{
	int code = code_name ? errno_of(code_name) : 0;

	if (!code)
		return bad(u, "deny needs the name of an error, such as EACCES");
	u->deny = code;
	return 0;
}

static int start_entry(struct unpack *u, char *line)
{
	static const struct {
		const char *word;
		enum kind kind;
	} words[] = { { "dir", KIND_DIR },   { "link", KIND_LINK }, { "deny", KIND_DENY },
		      { "file", KIND_FILE }, { "bare", KIND_BARE }, { "hex", KIND_HEX } };
	char *rest = line, *word = gt_cut(&rest, " "), *path = gt_cut(&rest, " "), *arg = gt_cut(&rest, " ");

	for (size_t i = 0; word && i < GT_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i].word))
			u->kind = words[i].kind;
	if (u->kind == KIND_NONE || !path)
		return bad(u, "expected dir, link, deny, file, bare or hex, and a path");
	if (unescape(path) < 0 || !canonical(path)) {
		u->kind = KIND_NONE;
		return bad(u, "the path must be absolute, without \".\" and \"..\"");
	}
	if (++u->n_entries > ENTRIES_MAX)
		return bad(u, "too many entries for one host");
	free(u->path);
	u->path = gt_xstrdup(path);
	if (u->kind == KIND_DENY)
		return start_deny(u, arg);
	if (u->kind == KIND_LINK) {
		if (!arg || unescape(arg) < 0)
			return bad(u, "a link needs its target");
		gt_buf_puts(&u->content, arg);
	}
	return 0;
}

static int take_line(struct unpack *u, char *line, size_t len)
{
	int r;

	if (*line == '\t') {
		if (u->kind != KIND_FILE && u->kind != KIND_BARE && u->kind != KIND_HEX)
			return bad(u, "content without a preceding file");
		gt_buf_add(&u->content, line + 1, len - 1);
		gt_buf_add(&u->content, "\n", 1);
		return 0;
	}
	r = flush_entry(u);
	if (r < 0 || *line == '#' || !*line)
		return r;
	if (strlen(line) != len)
		return bad(u, "a NUL byte; this is not a captured host");
	return start_entry(u, line);
}

static int take_lines(struct unpack *u, char *text, size_t len)
{
	char *end = text + len;

	while (text < end) {
		char *nl = memchr(text, '\n', (size_t)(end - text));
		int r = 0;

		if (nl)
			*nl = '\0';
		u->line_no++;
		if (u->line_no == 1 && strcmp(text, GT_CAPTURE_MAGIC))
			return gt_fail(u->err, EINVAL, "%s is not a captured host: its first line is not \"%s\"", u->name,
				       GT_CAPTURE_MAGIC);
		if (!nl)
			return bad(u, "the last line has no newline; the capture is truncated");
		if (u->line_no > 1)
			r = take_line(u, text, (size_t)(nl - text));
		if (r < 0)
			return r;
		text = nl + 1;
	}
	if (!u->line_no)
		return gt_fail(u->err, EINVAL,
			       "%s is empty; the first line of a captured host is \"%s\"", u->name, GT_CAPTURE_MAGIC);
	return flush_entry(u);
}

int gt_capture_parse(const char *text, size_t len, const char *name, struct gt_tree **ret, struct gt_err *err)
{
	gt_auto(gt_tree) *tree = gt_tree_new();
	struct unpack u = { .name = name, .tree = tree, .err = err };
	gt_autofree char *copy = gt_xcalloc(len + 1, 1);
	int r;

	memcpy(copy, text, len);
	r = take_lines(&u, copy, len);
	free(u.path);
	gt_buf_clear(&u.content);
	if (r < 0)
		return r;
	*ret = gt_take(tree);
	return 0;
}

int gt_capture_unpack(const char *text, size_t len, const char *name, int dirfd, struct gt_err *err)
{
	gt_auto(gt_tree) *tree = NULL;
	gt_autofree char *at = NULL;
	int r = gt_capture_parse(text, len, name, &tree, err);

	if (r < 0)
		return r;
	r = gt_tree_write(tree, dirfd, &at);
	return r < 0 ? gt_fail(err, -r, "%s: cannot create %s: %s", name, at, strerror(-r)) : 0;
}
