/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_BUF_H
#define GT_BUF_H
/* A growing text buffer, always NUL-terminated; s is NULL only before anything was added. */
#include "lib/util.h"

struct gt_buf {
	char *s;
	size_t len, cap;
};
void gt_buf_add(struct gt_buf *b, const char *data, size_t len);
void gt_buf_puts(struct gt_buf *b, const char *s);
void gt_buf_printf(struct gt_buf *b, const char *fmt, ...) GT_PRINTF(2, 3);
void gt_buf_xml(struct gt_buf *b, const char *s); /* with & < > " ' escaped, for HTML, XML and SVG */
void gt_buf_clear(struct gt_buf *b);
char *gt_buf_take(struct gt_buf *b); /* the text, "" if nothing was added; the caller frees it */
#define gt_auto_buf	__attribute__((cleanup(gt_buf_clear))) struct gt_buf
#endif
