/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that gputune does not trust completely: journal, history and profile, as written by an attacker with access to
 * the state directory. Each is rejected with a message or read. Undoing a journal writes only to files that gputune
 * itself writes.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fsroot.h"
#include "tests/fuzz/fuzz.h"
#include "tune/txn/history.h"
#include "tune/txn/txn.h"
#include "tune/profiles/profile.h"
#include "tune/model/value.h"

const unsigned fuzz_rounds = 60;

#define CANARY "root:x:0:0\n"

static char dir[32];

static int rm_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void clean(void)
{
	nftw(dir, rm_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const void *data, size_t size)
{
	gt_autofree char *full = gt_xasprintf("%s%s", dir, path);
	gt_autoclose int fd = -1;

	for (char *p = full + strlen(dir) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0755);
		*p = '/';
	}
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FUZZ_ASSERT(fd >= 0 && write(fd, data, size) == (ssize_t)size);
}

static void put_text(const char *path, const char *text)
{
	put(path, text, strlen(text));
}

static void set_up(void)
{
	/* uses /dev/shm if present, because every input is synced to disk */
	strcpy(dir, access("/dev/shm", W_OK) ? "/tmp/fuzz-state-XXXXXX" : "/dev/shm/fuzz-state-XXXXXX");
	FUZZ_ASSERT(mkdtemp(dir));
	atexit(clean);
	put_text("/proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
	put_text("/etc/passwd", CANARY);
	put_text("/proc/sys/kernel/core_pattern", CANARY);
}

static void undo_journal(struct gt_fsroot *fs)
{
	gt_autofree char *passwd = NULL, *pattern = NULL;
	struct gt_err err = {0};
	json_t *report = NULL;
	int status = 0;

	put_text("/proc/sys/vm/swappiness", "10\n");
	if (tn_verify(fs, &report, &status, &err) < 0)
		FUZZ_ASSERT(err.msg[0] && err.exit_status);
	json_decref(report);
	report = NULL;
	gt_err_clear(&err);
	if (tn_recover(fs, &report, &status, &err) < 0)
		FUZZ_ASSERT(err.msg[0] && err.exit_status);
	json_decref(report);
	report = NULL;
	gt_err_clear(&err);
	if (tn_revert(fs, &report, &status, &err) < 0)
		FUZZ_ASSERT(err.msg[0] && err.exit_status);
	json_decref(report);
	FUZZ_ASSERT(gt_fs_read(fs, "/etc/passwd", &passwd, NULL) >= 0 && !strcmp(passwd, CANARY));
	FUZZ_ASSERT(gt_fs_read(fs, "/proc/sys/kernel/core_pattern", &pattern, NULL) >= 0 && !strcmp(pattern, CANARY));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pr_host host;
	gt_auto(gt_fsroot) *fs = NULL;
	gt_auto(tn_profile) *profile = NULL;
	json_t *history = NULL;
	struct gt_err err = {0};
	static bool ready;

	if (!ready)
		set_up();
	ready = true;
	FUZZ_ASSERT(!gt_fs_open(dir, &fs, &err));
	put(TN_STATE_DIR "/history", data, size);
	FUZZ_ASSERT(tn_history_load(fs, &history, &err) >= 0);
	json_decref(history);
	put("/etc/gputune/profiles/input.conf", data, size);
	if (tn_profile_load(fs, &host, "input", &profile, &err) < 0)
		FUZZ_ASSERT(err.msg[0] && err.exit_status);
	put(TN_STATE_DIR "/journal", data, size);
	undo_journal(fs);
	return 0;
}
