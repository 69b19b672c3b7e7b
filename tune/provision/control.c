/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's control file format, and valid names and versions. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/provision/deb.h"

#define PARAGRAPH_MAX (1u << 20) /* bytes; Debian's paragraphs have at most about 10 KiB */

/* Passes the complete paragraphs of the buffer to fn and keeps the rest. */
static int give(struct gt_buf *b, bool last, tn_paragraph_fn *fn, void *arg)
{
	char *p = b->s;
	int r = 0;

	while (p && *p && r >= 0) {
		char *end;

		p += strspn(p, "\n"); /* skips additional empty lines */
		end = strstr(p, "\n\n");
		if (!end && !last)
			break;
		if (end)
			*end = '\0';
		if (*p)
			r = fn(arg, p);
		p = end ? end + 2 : NULL;
	}
	if (b->s) {
		b->len = p ? strlen(p) : 0;
		memmove(b->s, p ? p : "", b->len + 1);
	}
	return r;
}

int tn_deb_paragraphs_text(char *text, tn_paragraph_fn *fn, void *arg)
{
	int r = 0;

	for (char *p = text; p && *p && r >= 0;) {
		char *end;

		p += strspn(p, "\n");
		end = strstr(p, "\n\n");
		if (end)
			*end = '\0';
		if (*p)
			r = fn(arg, p);
		p = end ? end + 2 : NULL;
	}
	return r;
}

int tn_deb_paragraphs(struct gt_fsroot *fs, const char *path, tn_paragraph_fn *fn, void *arg)
{
	gt_autoclose int fd = gt_fs_open_fd(fs, path);
	gt_autofree char *chunk = gt_xcalloc(1, 1u << 18);
	gt_auto_buf b = {0};
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return fd;
	while (r >= 0 && (n = read(fd, chunk, 1u << 18)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (memchr(chunk, '\0', (size_t)n))
			return -EILSEQ;
		gt_buf_add(&b, chunk, (size_t)n);
		r = give(&b, false, fn, arg);
		if (b.len > PARAGRAPH_MAX)
			return -EFBIG;
	}
	return r < 0 ? r : give(&b, true, fn, arg);
}

char *tn_deb_field(const char *paragraph, const char *key)
{
	size_t n = strlen(key);
	gt_auto_buf b = {0};

	for (const char *line = paragraph; line; line = gt_next_line(line)) {
		if (strncasecmp(line, key, n) || line[n] != ':')
			continue;
		line += n + 1 + strspn(line + n + 1, " \t");
		gt_buf_add(&b, line, strcspn(line, "\n"));
		while ((line = strchr(line, '\n')) && (line[1] == ' ' || line[1] == '\t' || line[1] == '#')) {
			line++;
			if (*line == '#')
				continue;
			line += strspn(line, " \t");
			if (b.len)
				gt_buf_puts(&b, " ");
			gt_buf_add(&b, line, strcspn(line, "\n"));
		}
		return gt_buf_take(&b);
	}
	return NULL;
}

bool tn_deb_is_name(const char *s)
{
	if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && !strchr("+-.", *s))
			return false;
	return true;
}

bool tn_deb_is_version(const char *s)
{
	if (!isalnum((unsigned char)*s))
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("+-.:~", *s))
			return false;
	return true;
}
