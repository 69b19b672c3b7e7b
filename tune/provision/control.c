/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's control format and version order. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/provision/deb.h"

#define PARAGRAPH_MAX (1u << 20) /* none of Debian's is longer than some 10 KiB */

/* Give the whole paragraphs of the buffer away, keep the rest. */
static int give(struct gt_buf *b, bool last, tn_paragraph_fn *fn, void *arg)
{
	char *p = b->s;
	int r = 0;

	while (p && *p && r >= 0) {
		char *end;

		p += strspn(p, "\n"); /* more than one empty line */
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

	for (const char *line = paragraph; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
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

/* dpkg's order of one character: '~' before the end, the end before letters, letters before the rest. */
static int order(int c)
{
	if (isdigit(c) || !c)
		return 0;
	return isalpha(c) ? c : c == '~' ? -1 : c + 256;
}

/* One part of a version, up to `end`: text and numbers in turn. */
static int part_cmp(const char *a, const char *a_end, const char *b, const char *b_end)
{
	while (a < a_end || b < b_end) {
		int first = 0;

		while ((a < a_end && !isdigit((unsigned char)*a)) || (b < b_end && !isdigit((unsigned char)*b))) {
			int ac = a < a_end ? order((unsigned char)*a) : 0, bc = b < b_end ? order((unsigned char)*b) : 0;

			if (ac != bc)
				return ac - bc;
			a += a < a_end;
			b += b < b_end;
		}
		while (a < a_end && *a == '0')
			a++;
		while (b < b_end && *b == '0')
			b++;
		for (; a < a_end && b < b_end && isdigit((unsigned char)*a) && isdigit((unsigned char)*b); a++, b++)
			if (!first)
				first = *a - *b;
		if (a < a_end && isdigit((unsigned char)*a))
			return 1;
		if (b < b_end && isdigit((unsigned char)*b))
			return -1;
		if (first)
			return first;
	}
	return 0;
}

int tn_deb_version_cmp(const char *a, const char *b)
{
	const char *a_colon = strchr(a, ':'), *b_colon = strchr(b, ':'), *a_dash, *b_dash, *end;
	long a_epoch = a_colon ? strtol(a, NULL, 10) : 0, b_epoch = b_colon ? strtol(b, NULL, 10) : 0;
	int r;

	if (a_epoch != b_epoch)
		return a_epoch < b_epoch ? -1 : 1;
	a = a_colon ? a_colon + 1 : a;
	b = b_colon ? b_colon + 1 : b;
	a_dash = strrchr(a, '-');
	b_dash = strrchr(b, '-');
	end = b_dash ? b_dash : b + strlen(b);
	r = part_cmp(a, a_dash ? a_dash : a + strlen(a), b, end);
	if (r)
		return r;
	a = a_dash ? a_dash + 1 : "";
	b = b_dash ? b_dash + 1 : "";
	return part_cmp(a, a + strlen(a), b, b + strlen(b));
}
