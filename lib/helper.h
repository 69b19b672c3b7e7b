/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_HELPER_H
#define GT_HELPER_H
/*
 * A child process that answers requests during the life of its parent. It isolates vendor libraries that are called
 * repeatedly and whose calls may hang. One request is open at a time, and each answer is one line. No function here
 * exceeds its time limit.
 */
#include <sys/types.h>
#include "lib/err.h"

struct gt_helper {
	pid_t pid;       /* 0: not running */
	int ask, answer; /* the parent's ends of the pipes */
	char *line;      /* the answer received so far */
	size_t len, cap;
	bool asked;     /* a request is open */
	double since_s; /* time of the request, gt_now_s() */
};
#define GT_HELPER_INIT                                                                                                 \
	{                                                                                                              \
		.ask = -1, .answer = -1                                                                                \
	}

/* Starts the child. serve() runs in the child once per request and writes one line to fd 1. A negative result ends the
 * child. */
int gt_helper_start(struct gt_helper *h, int (*serve)(void *arg), void *arg, struct gt_err *err);
/* Sends a request. Returns -EBUSY while one is open and -EPIPE if the child has exited. */
int gt_helper_request(struct gt_helper *h);
/* Waits for the answer, at most wait_s seconds or until *cancel. On success *ret_line is the line without its newline,
 * and the caller frees it. Returns -EAGAIN if there is no answer yet, -EPIPE if the child died, -EINTR if cancelled. */
int gt_helper_answer(struct gt_helper *h, double wait_s, const volatile int *cancel, char **ret_line);
/* Kills the child. Does not wait if the child hangs in the kernel. Returns true if the child has exited; else call
 * again later. */
bool gt_helper_stop(struct gt_helper *h);
#endif
