/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SPAWN_H
#define GT_SPAWN_H
/* Runs a program, or a function in a child process, with a time limit and bounded output. Never uses a shell. */
#include <sys/resource.h>
#include "lib/err.h"

struct gt_spawn {
	/* input */
	char *const *argv;    /* argv[0] is searched in PATH unless it contains a slash */
	char *const *envp;    /* NULL: the environment of this process */
	double timeout_s;     /* 0: no limit. On time-out the child's process group gets SIGTERM and 2 s later SIGKILL. After
			       * another second gt_spawn() stops waiting, because a child that hangs in the kernel cannot be
			       * reaped */
	size_t max_output;    /* bytes per stream, 0 = 1 MiB; more is discarded and sets `truncated` */
	bool inherit_stderr;  /* the child writes to the parent's stderr */
	bool outlives;	      /* the child must complete even if this process is killed. It then gets no signal, and its output
			       * goes to a memory file, because writing to a pipe without a reader would kill it */
	int (*in_child)(void *arg, struct gt_err *err); /* called after fork, before exec. If argv is NULL it replaces exec: it
							 * writes its output to fd 1 and returns the exit status */
	void *arg;
	const volatile int *cancel; /* a non-zero value ends the child, and gt_spawn() returns -EINTR */
	/* output */
	char *out, *errout;   /* NUL-terminated; the caller frees them with gt_spawn_clear() */
	size_t out_len;
	int status;	      /* exit status, or 128 + number of the signal that killed the child */
	bool timed_out, truncated;
	bool left_running;    /* a descendant, such as a daemon, still held the output open when the child exited */
	struct rusage usage;
	double wall_s;	      /* time until the child exited, even if a descendant still held its output open */
};
/* Returns 0 if the program was started and reaped, whatever its exit status. Otherwise a negative errno; -ETIMEDOUT if
 * the time limit passed. */
int gt_spawn(struct gt_spawn *s, struct gt_err *err);
void gt_spawn_clear(struct gt_spawn *s);
#define gt_auto_spawn	__attribute__((cleanup(gt_spawn_clear))) struct gt_spawn
#endif
