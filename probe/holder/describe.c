/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a process from its files in /proc. Source: proc_pid_stat(5). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "probe/holder/holder.h"

#define FIRST_PID_NS "pid:[4026531836]" /* PROC_PID_INIT_INO */
#define EXITING	     0x4		/* PF_EXITING in the flags of /proc/PID/stat */

bool pr_in_first_namespace(struct gt_fsroot *fs)
{
	gt_autofree char *ns = NULL;

	return gt_fs_readlink(fs, "/proc/self/ns/pid", &ns) >= 0 && !strcmp(ns, FIRST_PID_NS);
}

bool pr_sees_all_processes(struct gt_fsroot *fs)
{
	return pr_in_first_namespace(fs) && gt_fs_exists(fs, "/proc/1/stat"); /* mount option hidepid=2 hides it */
}

/* Parses "PID (NAME) STATE PPID PGRP SESSION TTY TPGID FLAGS …". The name may contain blanks and brackets. */
static void parse_stat(const char *text, struct pr_holder *p)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned flags = 0;
	char state;

	if (!open || !close || close < open || sscanf(close + 1, " %c %*d %*d %*d %*d %*d %u", &state, &flags) < 1)
		return;
	p->name = gt_xstrndup(open + 1, (size_t)(close - open - 1));
	p->state = state == 'Z' || state == 'X'		 ? PR_HOLDER_ZOMBIE :
		   state == 'D' && (flags & EXITING) ? PR_HOLDER_EXITING :
							   PR_HOLDER_RUNS;
}

/* Returns the name of a user by the number at `uid`, which ends at a blank. The caller frees it. */
static char *user_name(const char *passwd, const char *uid)
{
	size_t n = strspn(uid, "0123456789");

	for (const char *line = passwd; line && *line; line = gt_next_line(line)) {
		size_t name = strcspn(line, ":\n");
		const char *number = line[name] == ':' ? strchr(line + name + 1, ':') : NULL;

		if (name && number && !strncmp(number + 1, uid, n) && number[1 + n] == ':')
			return gt_xstrndup(line, name);
	}
	return n ? gt_xstrndup(uid, n) : NULL;
}

void pr_describe_holder(struct gt_fsroot *fs, bool see_all, const char *passwd, struct pr_holder *p)
{
	gt_autofree char *dir = gt_xasprintf("/proc/%lld", (long long)p->pid), *stat_path = gt_xasprintf("%s/stat", dir),
			 *status_path = gt_xasprintf("%s/status", dir), *cgroup_path = gt_xasprintf("%s/cgroup", dir),
			 *stat = NULL, *status = NULL, *cgroup = NULL;
	const char *uid;
	int r = gt_fs_read_prefix(fs, stat_path, 4096, &stat, NULL);

	if (r < 0) {
		p->state = see_all && (r == -ENOENT || r == -ESRCH) ? PR_HOLDER_GONE : PR_HOLDER_UNKNOWN;
		return;
	}
	parse_stat(stat, p);
	if (gt_fs_read_prefix(fs, status_path, 4096, &status, NULL) >= 0) {
		uid = strstr(status, "\nUid:");
		p->user = uid ? user_name(passwd, uid + 5 + strspn(uid + 5, " \t")) : NULL;
	}
	if (gt_fs_read_prefix(fs, cgroup_path, 65536, &cgroup, NULL) >= 0)
		pr_find_group(cgroup, &p->kind, &p->group);
}

void pr_holder_clear(struct pr_holder *p)
{
	free(p->name);
	free(p->user);
	free(p->group);
}
