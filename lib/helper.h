/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_HELPER_H
#define GT_HELPER_H
/*
 * A child process that answers questions for as long as we live: for vendor libraries that are asked again and again,
 * and whose calls may never return. One question at a time, one line per answer; nothing here waits longer than it was
 * told.
 */
#include <sys/types.h>
#include "lib/err.h"

struct gt_helper {
	pid_t pid;       /* 0: not running */
	int ask, answer; /* our ends of its pipes */
	char *line;      /* the answer so far */
	size_t len, cap;
	bool asked;     /* a question is open */
	double since_s; /* when it was put, gt_now_s() */
};
#define GT_HELPER_INIT                                                                                                 \
	{                                                                                                              \
		.ask = -1, .answer = -1                                                                                \
	}

/* Start it: serve() runs in the child and is called for each question; it writes one line to fd 1. It returns 0 to go
 * on. */
int gt_helper_start(struct gt_helper *h, int (*serve)(void *arg), void *arg, struct gt_err *err);
/* Put a question; -EBUSY while one is open, -EPIPE when the child is gone. */
int gt_helper_ask(struct gt_helper *h);
/* Wait for the answer, at most wait_s seconds or until *cancel. 0: *ret_line is the line without its newline, the
 * caller frees it. -EAGAIN: not yet, -EPIPE: the child died, -EINTR: cancelled. */
int gt_helper_answer(struct gt_helper *h, double wait_s, const volatile int *cancel, char **ret_line);
/* End it, without waiting for one that hangs in the kernel. True: it is gone; false: call again later. */
bool gt_helper_stop(struct gt_helper *h);
#endif
