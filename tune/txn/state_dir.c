/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "tune/model/exit.h"
#include "tune/model/value.h"
#include "tune/txn/journal.h"
#include "tune/txn/state_dir.h"

#define LOCK_PATH TN_STATE_DIR "/lock"

/* A user who can write the journal decides which values are restored. Only root may, or the user who runs this on a tree of
 * their own. */
static const char *untrusted(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return "is a link";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "can be written by others" : NULL;
}

int tn_state_dir_check(struct gt_fsroot *fs, struct gt_err *err)
{
	const char *why, *what = TN_STATE_DIR;
	struct stat st;

	if (!gt_fs_dir(fs) || gt_fs_lstat(fs, TN_STATE_DIR, &st) < 0) /* a captured host has no owners */
		return 0;
	why = untrusted(&st);
	if (!why && gt_fs_lstat(fs, TN_JOURNAL_PATH, &st) >= 0) {
		what = TN_JOURNAL_PATH;
		why = untrusted(&st);
		if (!why && S_ISREG(st.st_mode) && st.st_nlink > 1)
			why = "has another hard link";
	}
	if (!why)
		return 0;
	return gt_fail_exit(err, TN_EXIT_REFUSED, EPERM,
			    "%s %s, so it is not trusted, and nothing is changed; find out which program created it, then "
			    "correct its owner and mode or move it away", what, why);
}

/* Directories above it are readable by all users. */
static int make_state_dir(struct gt_fsroot *fs)
{
	int r = gt_fs_mkdirs(fs, "/var/lib", 0755);

	return r < 0 ? r : gt_fs_mkdirs(fs, TN_STATE_DIR, 0700);
}

void tn_wait_for_lock(struct gt_fsroot *fs)
{
	gt_fs_wait_lock(fs, LOCK_PATH);
}

/* A child that calls NVML holds the lock, too. If gputune is killed, the child can hang in the driver for longer. */
static int still_locked(double waited_s, struct gt_err *err)
{
	if (waited_s > 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, EBUSY,
				    "another process has held %s for %g s (another gputune, or a call of NVML that does not end): "
				    "nothing is changed; fuser -v %s shows the process", LOCK_PATH, waited_s, LOCK_PATH);
	return gt_fail_exit(err, TN_EXIT_REFUSED, EBUSY,
			    "another gputune is running (it holds %s): nothing is changed; try again later", LOCK_PATH);
}

int tn_journal_lock(struct gt_fsroot *fs, double wait_s, int *ret_fd, struct gt_err *err)
{
	int r = tn_state_dir_check(fs, err);

	if (r < 0)
		return r;
	r = make_state_dir(fs);
	if (r >= 0)
		r = gt_fs_lock(fs, LOCK_PATH, wait_s, ret_fd);
	if (r == -EWOULDBLOCK)
		return still_locked(wait_s, err);
	if (r < 0)
		return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot write a journal in %s (%s): nothing is changed%s",
				    TN_STATE_DIR, strerror(-r),
				    r == -EACCES && geteuid() ? "; only root may do so: use sudo" : "");
	return 0;
}
