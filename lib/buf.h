/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_BUF_H
#define GT_BUF_H
/* A growing text buffer. s is NULL until something is added, then always NUL-terminated. */
#include "lib/util.h"

struct gt_buf {
	char *s;
	size_t len, cap;
};
void gt_buf_add(struct gt_buf *b, const char *data, size_t len);
void gt_buf_puts(struct gt_buf *b, const char *s);
void gt_buf_printf(struct gt_buf *b, const char *fmt, ...) GT_PRINTF(2, 3);
void gt_buf_xml(struct gt_buf *b, const char *s); /* appends s with & < > " ' escaped, for HTML, XML and SVG */
/* Appends name="value" as a label of OpenMetrics: backslash, quote and newline are escaped. */
void gt_buf_label(struct gt_buf *b, const char *name, const char *value);
void gt_buf_clear(struct gt_buf *b);
char *gt_buf_take(struct gt_buf *b); /* returns the text and resets the buffer; "" if nothing was added; the caller frees it */
#define gt_auto_buf	__attribute__((cleanup(gt_buf_clear))) struct gt_buf
#endif
