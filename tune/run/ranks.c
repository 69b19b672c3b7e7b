/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include "lib/log.h"
#include "lib/signals.h"
#include "tune/launch/program.h"
#include "tune/run/ranks.h"
#include "tune/run/run.h"

#define PATIENCE_S  10.0 /* seconds between SIGTERM and SIGKILL */
#define NOT_STARTED 126

struct ranks {
	pid_t *pid; /* 0: it has ended */
	unsigned n, left;
	int status;
	double kill_at; /* time for SIGKILL; 0: none */
};

/* Returns a TCP port that is free now, for the rendezvous of the ranks. */
static unsigned free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	gt_autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) < 0 || getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return 29500; /* default of torch.distributed */
	return ntohs(a.sin_port);
}

static void set_num(const char *name, unsigned v)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", v);
	setenv(name, text, 1);
}

static void name_rank(unsigned rank, unsigned n)
{
	set_num("RANK", rank);
	set_num("LOCAL_RANK", rank);
	set_num("WORLD_SIZE", n);
	set_num("LOCAL_WORLD_SIZE", n);
}

static _Noreturn void exec_rank(const char *program, char *const *argv, const struct tn_run *run, unsigned rank,
				unsigned n, pid_t parent)
{
	struct gt_err err = {0};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM); /* the ranks end with this process, even if it is killed */
	if (getppid() != parent)
		_exit(NOT_STARTED);
	name_rank(rank, n);
	if (tn_run_enter(run, &err) < 0)
		gt_log(GT_LOG_ERROR, "rank %u: %s", rank, err.msg);
	else {
		gt_restore_signals();
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		execve(program, argv, environ);
		gt_log(GT_LOG_ERROR, "rank %u: cannot start %s: %s", rank, program, tn_program_why(errno));
	}
	_exit(NOT_STARTED);
}

static void signal_all(const struct ranks *r, int sig)
{
	for (unsigned i = 0; i < r->n; i++)
		if (r->pid[i])
			kill(r->pid[i], sig);
}

static void end_all(struct ranks *r, int sig)
{
	signal_all(r, sig);
	if (!r->kill_at)
		r->kill_at = gt_now_s() + PATIENCE_S;
}

static void reap(struct ranks *r)
{
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0)
		for (unsigned i = 0; i < r->n; i++) {
			int code = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);

			if (r->pid[i] != pid)
				continue;
			r->pid[i] = 0;
			r->left--;
			if (!code || r->status)
				continue;
			r->status = code;
			if (r->left && !r->kill_at) {
				gt_warn("rank %u ended with status %d: ending the others", i, code);
				end_all(r, SIGTERM);
			}
		}
}

/* The relevant signals are blocked and fetched here, so that none arrives between the check and the wait. */
static void wait_all(struct ranks *r, const sigset_t *set)
{
	while (r->left) {
		struct timespec step = {.tv_sec = 1};
		int sig = sigtimedwait(set, NULL, &step);

		if (sig > 0 && sig != SIGCHLD)
			end_all(r, sig);
		reap(r);
		if (r->left && r->kill_at && gt_now_s() > r->kill_at)
			signal_all(r, SIGKILL);
	}
}

static void meeting_point(void)
{
	setenv("MASTER_ADDR", "127.0.0.1", 0);
	if (!getenv("MASTER_PORT"))
		set_num("MASTER_PORT", free_port());
}

/* A single process replaces this one, so that no process has to wait for it. */
static int exec_single(const char *program, char *const *argv, const struct tn_run *run, struct gt_err *err)
{
	int r;

	name_rank(0, 1);
	r = tn_run_enter(run, err);
	if (r < 0)
		return r;
	gt_restore_signals();
	execve(program, argv, environ);
	return gt_fail_exit(err, NOT_STARTED, errno, "cannot start %s: %s", program, tn_program_why(errno));
}

int tn_ranks_run(const char *program, char *const *argv, struct tn_run *const *run, unsigned n, int *ret_status,
		 struct gt_err *err)
{
	struct ranks r = {.pid = gt_xcalloc(n, sizeof(pid_t)), .n = n};
	static const int sigs[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
	pid_t self = getpid();
	struct sigaction now;
	sigset_t set, old;
	int code = 0;

	meeting_point();
	if (n == 1) {
		free(r.pid);
		return exec_single(program, argv, run[0], err);
	}
	sigemptyset(&set);
	for (size_t i = 0; i < GT_ARRAY_SIZE(sigs); i++) /* a signal that nohup set to ignored stays ignored */
		if (sigaction(sigs[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, sigs[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	for (unsigned i = 0; i < n && !code; i++) {
		r.pid[i] = fork();
		if (!r.pid[i])
			exec_rank(program, argv, run[i], i, n, self);
		code = r.pid[i] < 0 ? errno : 0;
		if (code) {
			r.pid[i] = 0;
			end_all(&r, SIGTERM);
		}
		r.left += !code;
	}
	wait_all(&r, &set);
	sigprocmask(SIG_SETMASK, &old, NULL);
	free(r.pid);
	if (code)
		return gt_fail_errno(err, code, "cannot start %u processes", n);
	*ret_status = r.status;
	return 0;
}
