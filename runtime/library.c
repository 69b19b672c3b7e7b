/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for programs that link the library. */
#include <stdarg.h>
#include <stdio.h>
#include "lib/err.h"
#include "runtime/runtime.h"

int rt_fail(struct gt_err *err, int code, const char *fmt, ...)
{
	char msg[sizeof(err->msg)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(msg, sizeof(msg), fmt, args);
	va_end(args);
	return gt_fail(err, code, "%s", msg);
}

void rt_interrupt(int signal)
{
	gt_interrupted = signal;
}
