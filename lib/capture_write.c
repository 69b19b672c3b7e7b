/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/capture.h"
#include "lib/capture_write.h"
#include "lib/fsroot.h"

#define LINKS_MAX	40

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
		gt_buf_puts(out, GT_CAPTURE_MAGIC "\n");
	gt_buf_puts(out, !text ? "hex  " : ends ? "file " : "bare ");
	put_path(out, path);
	gt_buf_puts(out, "\n");
	if (text)
		put_lines(out, data, len);
	else
		put_hex(out, data, len);
}

/* Entries of the capture: the path and its text. */
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

	gt_buf_puts(&b, GT_CAPTURE_MAGIC "\n"); /* prevents gt_capture_file() from adding the magic line; removed again below */
	gt_capture_file(&b, path, data, len);
	add_entry(es, path, gt_xstrdup(b.s + strlen(GT_CAPTURE_MAGIC) + 1));
	gt_buf_clear(&b);
}

/* Adds the directory, file or denial at a physical path. */
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
	if (!S_ISREG(st.st_mode) || !content) { /* for a device node only the existence matters */
		add_file(es, path, "", 0);
		return;
	}
	r = gt_fs_read(fs, path, &data, &len);
	if (r < 0)
		add_simple(es, "deny ", path, strerrorname_np(-r));
	else
		add_file(es, path, data, len);
}

/* Resolves path as the kernel does and adds each link that it follows. */
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

/* Adds a fact that no file holds: the size of a file system or the number of a device. Returns false if `fact` is of
 * another kind. */
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

/* Sorts the longer of two entries for one path first. gt_capture_write() drops the second. */
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
		gt_buf_puts(out, GT_CAPTURE_MAGIC "\n");
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
