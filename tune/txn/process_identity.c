/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "lib/fsroot.h"
#include "lib/util.h"
#include "tune/txn/process_identity.h"

/* Reads field 22 of /proc/PID/stat. The program name precedes this field and may contain spaces and parentheses. */
static int start_of(int64_t pid, int64_t *ret)
{
	gt_autofree char *path = gt_xasprintf("/proc/%ld/stat", pid), *text = NULL;
	gt_auto(gt_fsroot) *live = NULL;
	const char *p;
	long long start;
	char state;
	int r = gt_fs_open(NULL, &live, NULL);

	if (r >= 0)
		r = gt_fs_read(live, path, &text, NULL);
	if (r < 0)
		return r;
	p = strrchr(text, ')');
	if (!p || sscanf(p + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld", &state,
			 &start) != 2)
		return -EINVAL;
	if (state == 'Z' || state == 'X') /* a zombie has finished its work */
		return -ESRCH;
	*ret = start;
	return 0;
}

void tn_process_self(struct tn_process *ret)
{
	*ret = (struct tn_process){ .pid = getpid(), .by = gt_xstrdup(program_invocation_short_name), .alive = true };
	gt_make_plain(ret->by); /* argv[0] is chosen by the caller and may contain control characters */
	start_of(ret->pid, &ret->start);
}

/* If /proc hides other processes, a process that has the pid counts as this one. Its work is then not undone by
 * mistake. */
bool tn_process_alive(const struct tn_process *p)
{
	int64_t start = 0;
	int r = start_of(p->pid, &start);

	if (r >= 0)
		return start == p->start;
	return r != -ESRCH && p->pid > 0 && p->pid <= INT_MAX && (kill((pid_t)p->pid, 0) >= 0 || errno != ESRCH);
}

bool tn_process_is_self(const struct tn_process *p)
{
	return p->pid == getpid() && p->alive;
}
