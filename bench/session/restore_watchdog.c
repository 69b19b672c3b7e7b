/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "bench/session/restore_watchdog.h"
#include "lib/fsroot.h"
#include "lib/json.h"
#include "lib/signals.h"
#include "tune/txn/state_dir.h"
#include "tune/txn/txn.h"

#define TRIES 50 /* tries, .1 s apart; waiting for the journal's lock is not counted, because another process may hold it longer */

/* Returns whether the open transaction is an experiment of that process. Any other transaction is left to the user. */
static bool left_open(struct gt_fsroot *fs, pid_t pid)
{
	gt_auto_json *report = NULL;
	json_t *list, *t;
	int exit_status = 0;
	size_t i;

	if (tn_status_report(fs, &report, &exit_status, NULL) < 0)
		return false;
	list = json_object_get(report, "transactions");
	json_array_foreach(list, i, t)
		if (gt_streq(gt_json_get_str(t, "state", NULL), "interrupted") && gt_json_get_bool(t, "temporary", false) &&
		    gt_json_get_int(t, "pid", -1) == pid)
			return true;
	return false;
}

int bn_restore_watchdog_settle(struct gt_fsroot *fs, pid_t pid)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	int exit_status = 0, r = 0;

	for (int tries = 0; tries < TRIES && left_open(fs, pid); tries += r != -EBUSY) {
		r = tn_recover(fs, NULL, &exit_status, NULL);
		if (r >= 0)
			return 0;
		if (r == -EBUSY)
			tn_wait_for_lock(fs);
		nanosleep(&nap, NULL);
	}
	return r;
}

static _Noreturn void run_watchdog(pid_t pid, int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	struct gt_fsroot *fs = NULL;

	setsid(); /* signals of the terminal and the end of the session do not reach the watchdog */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	prctl(PR_SET_NAME, "gpubench-guard");
	/* No process waits for the end of the watchdog, so it keeps no pipe, lock or file open. */
	if (dup2(pidfd, 3) != 3 || syscall(SYS_close_range, 4u, ~0u, 0u) < 0)
		_exit(1);
	p.fd = 3;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	gt_hold_standard_files();
	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (gt_fs_open(NULL, &fs, NULL) < 0)
		_exit(1);
	_exit(bn_restore_watchdog_settle(fs, pid) < 0);
}

int bn_restore_watchdog_start(struct gt_fsroot *live, struct gt_err *err)
{
	static pid_t started;
	pid_t pid = getpid(), child;
	int pidfd;

	if (started == pid || !gt_fs_is_live(live))
		return 0;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0u);
	if (pidfd < 0)
		return gt_fail_errno(err, errno, "cannot open a pidfd of this process");
	child = fork();
	if (child == 0)
		run_watchdog(pid, pidfd);
	close(pidfd);
	if (child < 0)
		return gt_fail_errno(err, errno, "cannot start the restore watchdog");
	started = pid;
	return 0;
}
