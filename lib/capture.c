/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/fsroot.h"

#define MAGIC		"gpuprobe-capture/1"
#define ENTRIES_MAX	500000
#define LINKS_MAX	40

/* ---- reading -------------------------------------------------------------------------------------------------- */

enum kind { KIND_NONE, KIND_DIR, KIND_LINK, KIND_DENY, KIND_FILE, KIND_BARE, KIND_HEX };

struct unpack {
	const char *name; /* of the capture, for sentences */
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

/* Put the entry collected so far into the tree. */
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
		return bad(u, "hex digits expected, in pairs");
	if (u->content.s)
		u->content.s[u->content.len] = '\0';
	len = u->content.len;
	r = gt_tree_add(u->tree, path, modes[kind], gt_buf_take(&u->content), len, kind == KIND_DENY ? u->deny : 0);
	if (r < 0)
		return gt_fail(u->err, -r, "%s:%zu: cannot make %s: %s", u->name, u->line_no, path, strerror(-r));
	return 0;
}

/* Undo \ooo in place; -EINVAL if it is malformed or hides a NUL. */
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
	char *save = NULL, *word = strtok_r(line, " ", &save), *path = strtok_r(NULL, " ", &save),
	     *arg = strtok_r(NULL, " ", &save);

	for (size_t i = 0; word && i < GT_ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i].word))
			u->kind = words[i].kind;
	if (u->kind == KIND_NONE || !path)
		return bad(u, "expected dir, link, deny, file, bare or hex and a path");
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
			return bad(u, "content without a file before it");
		gt_buf_add(&u->content, line + 1, len - 1);
		gt_buf_add(&u->content, "\n", 1);
		return 0;
	}
	r = flush_entry(u);
	if (r < 0 || *line == '#' || !*line)
		return r;
	if (strlen(line) != len)
		return bad(u, "a NUL byte; this is no capture");
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
		if (u->line_no == 1 && strcmp(text, MAGIC))
			return gt_fail(u->err, EINVAL, "%s is not a captured host: its first line is not \"%s\"", u->name, MAGIC);
		if (!nl)
			return bad(u, "the last line has no end; the capture is truncated");
		if (u->line_no > 1)
			r = take_line(u, text, (size_t)(nl - text));
		if (r < 0)
			return r;
		text = nl + 1;
	}
	if (!u->line_no)
		return gt_fail(u->err, EINVAL, "%s is empty; a captured host begins with \"%s\"", u->name, MAGIC);
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
	return r < 0 ? gt_fail(err, -r, "%s: cannot make %s: %s", name, at, strerror(-r)) : 0;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static void put_path(struct gt_buf *out, const char *path)
{
	for (const unsigned char *p = (const unsigned char *)path; *p; p++)
		if (*p <= ' ' || *p == '\\' || *p == 0x7f)
			gt_buf_printf(out, "\\%03o", *p);
		else
			gt_buf_add(out, (const char *)p, 1);
}

static bool is_text(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)data[i] < ' ' && data[i] != '\n' && data[i] != '\t')
			return false;
	return true;
}

static void put_lines(struct gt_buf *out, const char *data, size_t len)
{
	while (len) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl ? (size_t)(nl - data) : len;

		gt_buf_puts(out, "\t");
		gt_buf_add(out, data, n);
		gt_buf_puts(out, "\n");
		n += nl != NULL;
		data += n;
		len -= n;
	}
}

static void put_hex(struct gt_buf *out, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		gt_buf_printf(out, "%s%02x%s", i % 32 ? "" : "\t", (unsigned char)data[i],
			      i % 32 == 31 || i + 1 == len ? "\n" : "");
}

void gt_capture_file(struct gt_buf *out, const char *path, const char *data, size_t len)
{
	bool text = is_text(data, len), ends = !len || data[len - 1] == '\n';

	if (!out->len)
		gt_buf_puts(out, MAGIC "\n");
	gt_buf_puts(out, !text ? "hex  " : ends ? "file " : "bare ");
	put_path(out, path);
	gt_buf_puts(out, "\n");
	if (text)
		put_lines(out, data, len);
	else
		put_hex(out, data, len);
}

/* What is found on the way to the recorded paths: path -> its text in the capture. */
struct entry {
	char *path, *text;
};
struct entries {
	struct entry *v;
	size_t n;
};

static void add_entry(struct entries *es, const char *path, char *text)
{
	if ((es->n & (es->n - 1)) == 0)
		es->v = gt_xrealloc(es->v, GT_MAX(16, es->n * 2) * sizeof(*es->v));
	es->v[es->n++] = (struct entry){ gt_xstrdup(path), text };
}

static void add_simple(struct entries *es, const char *word, const char *path, const char *arg)
{
	struct gt_buf b = { 0 };

	gt_buf_puts(&b, word);
	put_path(&b, path);
	if (arg) {
		gt_buf_puts(&b, " ");
		put_path(&b, arg);
	}
	gt_buf_puts(&b, "\n");
	add_entry(es, path, gt_buf_take(&b));
}

static void add_file(struct entries *es, const char *path, const char *data, size_t len)
{
	struct gt_buf b = { 0 };

	gt_buf_puts(&b, MAGIC "\n"); /* so that gt_capture_file adds none; cut off again */
	gt_capture_file(&b, path, data, len);
	add_entry(es, path, gt_xstrdup(b.s + strlen(MAGIC) + 1));
	gt_buf_clear(&b);
}

/* What lies at a physical path: directory, content or denial. */
static void add_final(struct gt_fsroot *fs, struct entries *es, const char *path, bool content)
{
	gt_autofree char *data = NULL;
	struct stat st;
	size_t len = 0;
	int r = gt_fs_stat(fs, path, &st);

	if (r < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		add_simple(es, "dir  ", path, NULL);
		return;
	}
	r = S_ISCHR(st.st_mode) ? gt_fs_access(fs, path, R_OK | W_OK) : content ? 0 : gt_fs_access(fs, path, R_OK);
	if (r == -EACCES || r == -EPERM) {
		add_simple(es, "deny ", path, strerrorname_np(-r));
		return;
	}
	if (!S_ISREG(st.st_mode) || !content) { /* of a device node too, that it is there is what matters */
		add_file(es, path, "", 0);
		return;
	}
	r = gt_fs_read(fs, path, &data, &len);
	if (r < 0)
		add_simple(es, "deny ", path, strerrorname_np(-r));
	else
		add_file(es, path, data, len);
}

/* Follow path as the kernel would, noting each link on the way. */
static void add_path(struct gt_fsroot *fs, struct entries *es, const char *path)
{
	bool content = *path != '?';
	gt_autofree char *rest = gt_xstrdup(path + !content);
	gt_auto_buf at = { 0 };
	unsigned links = 0;

	gt_buf_puts(&at, "");
	while (*rest) {
		size_t skip = strspn(rest, "/"), len = strcspn(rest + skip, "/");
		gt_autofree char *name = gt_xstrndup(rest + skip, len), *target = NULL;
		size_t before = at.len;
		char *next;

		memmove(rest, rest + skip + len, strlen(rest + skip + len) + 1);
		if (!len || !strcmp(name, "."))
			continue;
		if (!strcmp(name, "..")) {
			char *slash = strrchr(at.s, '/');

			at.len = slash ? (size_t)(slash - at.s) : 0;
			at.s[at.len] = '\0';
			continue;
		}
		gt_buf_printf(&at, "/%s", name);
		if (gt_fs_readlink(fs, at.s, &target) < 0)
			continue;
		if (++links > LINKS_MAX)
			return;
		add_simple(es, "link ", at.s, target);
		next = gt_xasprintf("%s/%s", target, rest);
		free(rest);
		rest = next;
		at.len = *target == '/' ? 0 : before;
		at.s[at.len] = '\0';
	}
	if (at.len)
		add_final(fs, es, at.s, content);
}

/* What a tree of files cannot hold: the size of a file system, the number of a device. False: the fact is none of these. */
static bool add_number(struct gt_fsroot *fs, struct entries *es, const char *fact)
{
	bool device = gt_starts_with(fact, "/.facts/device!"), room = gt_starts_with(fact, "/.facts/statvfs!");
	gt_autofree char *path = device || room ? gt_xstrdup(strchr(fact, '!')) : NULL, *text = NULL;
	unsigned major, minor;
	struct statvfs v;

	for (char *p = path; p && *p; p++)
		if (*p == '!')
			*p = '/';
	if (device && gt_fs_device(fs, path, &major, &minor) >= 0)
		text = gt_xasprintf("%u:%u\n", major, minor);
	else if (room && gt_fs_statvfs(fs, path, &v) >= 0)
		text = gt_xasprintf("bsize %lu blocks %lu bfree %lu bavail %lu\n", v.f_frsize, v.f_blocks, v.f_bfree, v.f_bavail);
	if (text)
		add_file(es, fact, text, strlen(text));
	return device || room;
}

/* Of two entries for one path the one with content comes first, and is kept. */
static int by_path(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->path, y->path);
	size_t n = strlen(x->text), m = strlen(y->text);

	return order ? order : n > m ? -1 : n < m;
}

void gt_capture_write(struct gt_fsroot *fs, const struct gt_strv *paths, struct gt_buf *out)
{
	struct entries es = { 0 };

	if (!out->len)
		gt_buf_puts(out, MAGIC "\n");
	for (size_t i = 0; i < paths->n; i++) {
		if (!add_number(fs, &es, paths->v[i]))
			add_path(fs, &es, paths->v[i]);
	}
	if (es.n)
		qsort(es.v, es.n, sizeof(*es.v), by_path);
	for (size_t i = 0; i < es.n; i++)
		if (!i || strcmp(es.v[i - 1].path, es.v[i].path))
			gt_buf_puts(out, es.v[i].text);
	for (size_t i = 0; i < es.n; i++) {
		free(es.v[i].path);
		free(es.v[i].text);
	}
	free(es.v);
}
