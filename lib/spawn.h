/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SPAWN_H
#define GT_SPAWN_H
/* Run another program, or a function in a child of its own, with a time limit and bounded output. Never a shell. */
#include <sys/resource.h>
#include "lib/err.h"

struct gt_spawn {
	/* in */
	char *const *argv;    /* argv[0] is looked up in PATH unless it has a slash */
	char *const *envp;    /* NULL: our own environment */
	double timeout_s;     /* 0: none. On time-out the child's process group gets SIGTERM, 2 s later SIGKILL, and a second
				 after that it is left behind: a child that is stuck in the kernel cannot be waited for */
	size_t max_output;    /* per stream, 0 = 1 MiB; more is dropped and `truncated` set */
	bool inherit_stderr;  /* leave stderr as it is */
	bool outlives;	      /* it comes to its end also if we are killed: no signal then, and what it writes goes to memory
				 of its own, for a pipe whose reader is gone would end it */
	int (*in_child)(void *arg, struct gt_err *err); /* called after fork, before exec; or instead, if argv is NULL:
							   then it writes its answer to fd 1 and its return value is the status */
	void *arg;
	const volatile int *cancel; /* if it becomes non-zero, the child is ended and -EINTR returned */
	/* out */
	char *out, *errout;   /* NUL-terminated; the caller frees them with gt_spawn_clear() */
	size_t out_len;
	int status;	      /* exit status, or 128 + signal */
	bool timed_out, truncated;
	bool left_running;    /* what it started, such as a daemon, still held its output open when it had ended */
	struct rusage usage;
	double wall_s;	      /* until it ended, whoever still held its output then */
};
/* 0 when the program was started and reaped, whatever its status; negative errno when it could not be started,
 * -ETIMEDOUT when the limit passed. */
int gt_spawn(struct gt_spawn *s, struct gt_err *err);
void gt_spawn_clear(struct gt_spawn *s);
#endif
