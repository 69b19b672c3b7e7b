/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"

static void reserve(struct gt_buf *b, size_t more)
{
	if (b->s && b->cap - b->len > more)
		return;
	b->cap = GT_MAX(b->cap * 2, b->len + more + 64);
	b->s = gt_xrealloc(b->s, b->cap);
}

void gt_buf_add(struct gt_buf *b, const char *data, size_t len)
{
	reserve(b, len);
	if (len)
		memcpy(b->s + b->len, data, len);
	b->len += len;
	b->s[b->len] = '\0';
}

void gt_buf_puts(struct gt_buf *b, const char *s)
{
	gt_buf_add(b, s, strlen(s));
}

void gt_buf_printf(struct gt_buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(small)) {
		gt_buf_add(b, small, (size_t)n);
	} else if (n >= 0) {
		reserve(b, (size_t)n);
		vsnprintf(b->s + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void gt_buf_xml(struct gt_buf *b, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '&':
			gt_buf_puts(b, "&amp;");
			break;
		case '<':
			gt_buf_puts(b, "&lt;");
			break;
		case '>':
			gt_buf_puts(b, "&gt;");
			break;
		case '"':
			gt_buf_puts(b, "&quot;");
			break;
		case '\'':
			gt_buf_puts(b, "&#39;");
			break;
		default:
			gt_buf_add(b, s, 1);
		}
	}
}

void gt_buf_label(struct gt_buf *b, const char *name, const char *value)
{
	gt_buf_printf(b, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			gt_buf_puts(b, "\\n");
		else if (*value == '"' || *value == '\\')
			gt_buf_printf(b, "\\%c", *value);
		else
			gt_buf_add(b, value, 1);
	}
	gt_buf_puts(b, "\"");
}

void gt_buf_clear(struct gt_buf *b)
{
	free(b->s);
	*b = (struct gt_buf){ 0 };
}

char *gt_buf_take(struct gt_buf *b)
{
	char *s = b->s ? b->s : gt_xstrdup("");

	*b = (struct gt_buf){ 0 };
	return s;
}
