/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/err.h"

/* Replaces control characters. A sentence may quote untrusted text, which must not start a new line or control the terminal. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

static int vfail(struct gt_err *err, int exit_status, int code, const char *fmt, va_list ap)
{
	if (err) {
		err->code = code;
		err->exit_status = exit_status;
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		one_line(err->msg);
	}
	return -code;
}

int gt_fail(struct gt_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfail(err, 0, code, fmt, ap);
	va_end(ap);
	return -code;
}

int gt_fail_exit(struct gt_err *err, int exit_status, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfail(err, exit_status, code, fmt, ap);
	va_end(ap);
	return -code;
}

int gt_fail_errno(struct gt_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfail(err, 0, code, fmt, ap);
	va_end(ap);
	if (err) {
		size_t n = strlen(err->msg);

		snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(code));
	}
	return -code;
}

int gt_fail_prefix(struct gt_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list ap;
	size_t n;

	if (!err)
		return -1;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", old);
	one_line(err->msg);
	return -err->code;
}

void gt_fail_suffix(struct gt_err *err, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!err)
		return;
	n = strlen(err->msg);
	va_start(ap, fmt);
	vsnprintf(err->msg + n, sizeof(err->msg) - n, fmt, ap);
	va_end(ap);
	one_line(err->msg);
}

int gt_fail_as(struct gt_err *err, int exit_status, int r)
{
	if (r < 0 && err)
		err->exit_status = exit_status;
	return r;
}

void gt_err_clear(struct gt_err *err)
{
	*err = (struct gt_err){ 0 };
}
