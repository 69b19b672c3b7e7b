/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include "lib/buf.h"
#include "lib/signals.h"
#include "lib/spawn.h"

#define KILL_AFTER_S	2.0 /* seconds between SIGTERM and SIGKILL */
#define LEAVE_AFTER_S	1.0 /* seconds after SIGKILL; a process that still exists hangs in the kernel, for example in a driver */
#define LATE_OUTPUT_S	0.5 /* seconds for descendants, such as tee, to write the rest after the child has exited */

/* The error that a child reports to its parent if it could not execute the program. */
struct failure {
	int code;
	char msg[sizeof(((struct gt_err *)0)->msg)];
};

static _Noreturn void child(struct gt_spawn *s, int out, int errout, int fail_fd)
{
	struct gt_err err = { 0 };
	struct failure f = { 0 };
	sigset_t none;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), r = 0;

	setpgid(0, 0);
	if (!s->outlives)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the child does not survive a killed parent */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	gt_restore_signals();
	if (null < 0)
		r = gt_fail_errno(&err, errno, "cannot open /dev/null");
	else if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || (!s->inherit_stderr && dup2(errout, 2) < 0))
		r = gt_fail_errno(&err, errno, "cannot set up the child's files");
	if (!r && s->in_child)
		r = s->in_child(s->arg, &err);
	if (!s->argv && r >= 0)
		_exit(r);
	if (r >= 0) {
		if (s->envp)
			environ = (char **)s->envp;
		execvp(s->argv[0], s->argv);
		r = gt_fail_errno(&err, errno, "cannot run %s", s->argv[0]);
	}
	f.code = -r;
	memcpy(f.msg, err.msg, sizeof(f.msg));
	if (write(fail_fd, &f, sizeof(f)) < 0)
		_exit(126);
	_exit(127);
}

struct stream {
	int fd;
	struct gt_buf buf;
	size_t max;
	bool truncated;
};

static void drain(struct stream *st)
{
	char chunk[16384];
	ssize_t n = read(st->fd, chunk, sizeof(chunk));
	size_t room;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close(st->fd);
		st->fd = -1;
		return;
	}
	room = st->max - st->buf.len;
	st->truncated |= (size_t)n > room;
	gt_buf_add(&st->buf, chunk, GT_MIN((size_t)n, room));
}

/* Reads both streams until they end, the time limit passes (-ETIMEDOUT) or the caller cancels (-EINTR). *ret_ended_s:
 * the time at which the child exited while a descendant, such as a daemon, held a stream open. Descendants get
 * LATE_OUTPUT_S to finish. */
static int collect(struct gt_spawn *s, struct stream st[2], int pidfd, double deadline, double *ret_ended_s)
{
	while (st[0].fd >= 0 || st[1].fd >= 0) {
		struct pollfd p[3] = { { .fd = st[0].fd, .events = POLLIN }, { .fd = st[1].fd, .events = POLLIN },
				       { .fd = *ret_ended_s > 0 ? -1 : pidfd, .events = POLLIN } };
		double now = gt_now_s(), left = s->timeout_s > 0 ? deadline - now : INFINITY;

		if (s->cancel && *s->cancel)
			return -EINTR;
		if (left <= 0)
			return -ETIMEDOUT;
		if (*ret_ended_s > 0) {
			left = fmin(left, *ret_ended_s + LATE_OUTPUT_S - now);
			if (left <= 0) {
				s->left_running = true;
				return 0;
			}
		}
		/* wake up often enough to notice a cancel or a deadline */
		poll(p, 3, left < 0.2 ? (int)(left * 1000) + 1 : 200);
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				drain(&st[i]);
		if (p[2].revents)
			*ret_ended_s = gt_now_s();
	}
	return 0;
}

/* Waits for the child. Ends it if r is an error or becomes one. Returns r. */
static int reap(struct gt_spawn *s, pid_t pid, int pidfd, int r, double deadline)
{
	double give_up = 0;
	bool killed = false;
	int status = 0;
	pid_t got;

	while ((got = wait4(pid, &status, r || s->timeout_s > 0 || s->cancel ? WNOHANG : 0, &s->usage)) != pid) {
		double now = gt_now_s();
		struct pollfd end = { .fd = pidfd, .events = POLLIN };

		if (got < 0 && errno != EINTR)
			break;
		if (!r && s->timeout_s > 0 && now > deadline)
			r = -ETIMEDOUT;
		if (!r && s->cancel && *s->cancel)
			r = -EINTR;
		if (r && !give_up) {
			kill(-pid, SIGTERM);
			give_up = now + KILL_AFTER_S;
		} else if (r && now > give_up && killed) {
			status = SIGKILL; /* a child that hangs in the kernel is not waited for */
			break;
		} else if (r && now > give_up) {
			kill(-pid, SIGKILL);
			killed = true;
			give_up = now + LEAVE_AFTER_S;
		}
		poll(&end, 1, 5); /* the streams close a moment before the child exits */
	}
	s->timed_out = r == -ETIMEDOUT;
	s->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	kill(-pid, SIGKILL); /* remaining processes of the group */
	return r;
}

static int make_pipes(const struct gt_spawn *s, int fds[3][2], struct gt_err *err)
{
	for (int i = 0; i < 3; i++) {
		if (s->outlives && i < 2) {
			fds[i][1] = memfd_create("output", MFD_CLOEXEC);
			fds[i][0] = fds[i][1] < 0 ? -1 : fcntl(fds[i][1], F_DUPFD_CLOEXEC, 0);
		}
		if (s->outlives && i < 2 ? fds[i][0] < 0 : pipe2(fds[i], O_CLOEXEC) < 0)
			return gt_fail_errno(err, errno, "cannot create a pipe");
	}
	return 0;
}

/* Reads the output from the memory file. */
static void drain_file(struct stream *st)
{
	if (st->fd >= 0)
		lseek(st->fd, 0, SEEK_SET);
	while (st->fd >= 0)
		drain(st);
}

int gt_spawn(struct gt_spawn *s, struct gt_err *err)
{
	int fds[3][2] = { { -1, -1 }, { -1, -1 }, { -1, -1 } }; /* stdout, stderr, failure */
	double start = gt_now_s(), deadline = start + s->timeout_s, ended_s = 0;
	size_t max = s->max_output ? s->max_output : 1u << 20;
	struct failure f = { 0 };
	struct stream st[2];
	int pidfd = -1, r;
	pid_t pid = -1;

	r = make_pipes(s, fds, err);
	fflush(NULL);
	if (!r && (pid = fork()) < 0)
		r = gt_fail_errno(err, errno, "cannot start a process");
	if (pid == 0)
		child(s, fds[0][1], fds[1][1], fds[2][1]);
	for (int i = 0; i < 3; i++)
		if (fds[i][1] >= 0)
			close(fds[i][1]);
	if (r < 0) {
		for (int i = 0; i < 3; i++)
			if (fds[i][0] >= 0)
				close(fds[i][0]);
		return r;
	}
	setpgid(pid, pid);
	st[0] = (struct stream){ .fd = fds[0][0], .max = max };
	st[1] = (struct stream){ .fd = fds[1][0], .max = max };
	pidfd = pidfd_open(pid, 0);
	r = s->outlives ? 0 : collect(s, st, pidfd, deadline, &ended_s);
	for (int i = 0; i < 2 && !s->outlives; i++)
		if (st[i].fd >= 0)
			close(st[i].fd);
	r = reap(s, pid, pidfd, r, deadline);
	if (pidfd >= 0)
		close(pidfd);
	for (int i = 0; i < 2 && s->outlives; i++)
		drain_file(&st[i]);
	s->wall_s = (ended_s > 0 ? ended_s : gt_now_s()) - start;
	s->out_len = st[0].buf.len;
	s->out = gt_buf_take(&st[0].buf);
	s->errout = gt_buf_take(&st[1].buf);
	s->truncated = st[0].truncated || st[1].truncated;
	fcntl(fds[2][0], F_SETFL, O_NONBLOCK); /* a grandchild may still hold the other end open */
	if (read(fds[2][0], &f, sizeof(f)) == (ssize_t)sizeof(f))
		r = gt_fail(err, f.code, "%s", f.msg);
	else if (r == -ETIMEDOUT)
		gt_fail(err, ETIMEDOUT, "%s did not exit within %g s", s->argv ? s->argv[0] : "a child process",
			s->timeout_s);
	else if (r == -EINTR)
		gt_fail(err, EINTR, "interrupted");
	close(fds[2][0]);
	return r;
}

void gt_spawn_clear(struct gt_spawn *s)
{
	free(s->out);
	free(s->errout);
	s->out = s->errout = NULL;
}
