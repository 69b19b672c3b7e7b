/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "lib/helper.h"
#include "lib/signals.h"

#define ANSWER_MAX (1u << 20)

static _Noreturn void child(int questions, int answers, int null, pid_t parent, int (*serve)(void *), void *arg)
{
	sigset_t none;
	char byte;

	setpgid(0, 0); /* the parent handles ^C */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	gt_restore_signals();
	if (getppid() != parent || dup2(questions, 0) < 0 || dup2(answers, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	while (read(0, &byte, 1) == 1)
		if (serve(arg) < 0)
			break;
	_exit(0);
}

int gt_helper_start(struct gt_helper *h, int (*serve)(void *arg), void *arg, struct gt_err *err)
{
	gt_autoclose int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int to[2] = {-1, -1}, from[2] = {-1, -1};
	pid_t parent = getpid();
	int r = 0;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		r = gt_fail_errno(err, errno, "cannot create a pipe");
	fflush(NULL);
	if (!r && (h->pid = fork()) < 0) {
		h->pid = 0;
		r = gt_fail_errno(err, errno, "cannot start a process");
	} else if (!r && !h->pid) {
		child(to[0], from[1], null, parent, serve, arg);
	}
	gt_closep(&to[0]);
	gt_closep(&from[1]);
	if (r < 0) {
		gt_closep(&to[1]);
		gt_closep(&from[0]);
		return r;
	}
	setpgid(h->pid, h->pid);
	h->ask = to[1];
	h->answer = from[0];
	h->len = 0;
	h->asked = false;
	return 0;
}

int gt_helper_request(struct gt_helper *h)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
	ssize_t n;

	if (!h->pid)
		return -EPIPE;
	if (h->asked)
		return -EBUSY;
	sigaction(SIGPIPE, &ignore, &before); /* the child may have died */
	n = write(h->ask, "?", 1);
	sigaction(SIGPIPE, &before, NULL);
	if (n != 1)
		return -EPIPE;
	h->asked = true;
	h->since_s = gt_now_s();
	h->len = 0;
	return 0;
}

/* Reads available bytes. Returns 0 when the line is complete, -EAGAIN or -EPIPE. */
static int take(struct gt_helper *h)
{
	ssize_t n;

	if (h->len + 4096 > h->cap)
		h->line = gt_xrealloc(h->line, h->cap = 2 * h->cap + 8192);
	n = read(h->answer, h->line + h->len, h->cap - h->len);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return -EAGAIN;
	if (n <= 0 || h->len + (size_t)n > ANSWER_MAX)
		return -EPIPE;
	h->len += (size_t)n;
	return h->line[h->len - 1] == '\n' ? 0 : -EAGAIN;
}

int gt_helper_answer(struct gt_helper *h, double wait_s, const volatile int *cancel, char **ret_line)
{
	double deadline = gt_now_s() + wait_s;

	if (!h->pid || !h->asked)
		return -EPIPE;
	for (;;) {
		struct pollfd p = {.fd = h->answer, .events = POLLIN};
		double left = deadline - gt_now_s();
		int r;

		if (cancel && *cancel)
			return -EINTR;
		if (poll(&p, 1, left <= 0 ? 0 : left < 0.2 ? (int)(left * 1000) + 1 : 200) > 0) {
			r = take(h);
			if (!r) {
				h->asked = false;
				*ret_line = gt_xstrndup(h->line, h->len - 1);
				return 0;
			}
			if (r != -EAGAIN)
				return r;
		} else if (left <= 0) {
			return -EAGAIN;
		}
	}
}

bool gt_helper_stop(struct gt_helper *h)
{
	if (h->ask >= 0)
		close(h->ask);
	if (h->answer >= 0)
		close(h->answer);
	h->ask = h->answer = -1;
	free(h->line);
	h->line = NULL;
	h->len = h->cap = 0;
	h->asked = false;
	if (!h->pid)
		return true;
	kill(-h->pid, SIGKILL);
	kill(h->pid, SIGKILL);
	for (int i = 0; i < 20; i++) { /* a child that is not stuck in the kernel exits at once */
		struct pollfd nothing = {.fd = -1};

		if (waitpid(h->pid, NULL, WNOHANG) != 0) {
			h->pid = 0;
			return true;
		}
		poll(&nothing, 1, 5);
	}
	return false;
}
