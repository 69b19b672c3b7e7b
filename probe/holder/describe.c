/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a process from its files in /proc. Sources: proc_pid_status(5), proc_pid_stat(5). */
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

/* Returns whether a process that waits in the kernel is at the end of its exit. Reads the flags in "PID (NAME) STATE PPID PGRP
 * SESSION TTY TPGID FLAGS …". The name may contain blanks and brackets. */
static bool is_exiting(struct gt_fsroot *fs, int64_t pid)
{
	gt_autofree char *path = gt_xasprintf("/proc/%lld/stat", (long long)pid), *text = NULL;
	const char *close = gt_fs_read_prefix(fs, path, 4096, &text, NULL) < 0 ? NULL : strrchr(text, ')');
	unsigned flags;

	return close && sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & EXITING;
}

/* Returns the text after a key of /proc/PID/status, such as "\nUid:\t", or NULL. It ends at a line feed. */
static const char *field(const char *status, const char *key)
{
	const char *found = strstr(status, key);

	return found ? found + strlen(key) : NULL;
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
	gt_autofree char *dir = gt_xasprintf("/proc/%lld", (long long)p->pid), *status_path = gt_xasprintf("%s/status", dir),
			 *cgroup_path = gt_xasprintf("%s/cgroup", dir), *status = NULL, *cgroup = NULL;
	const char *name, *state, *uid;
	int r = gt_fs_read_prefix(fs, status_path, 4096, &status, NULL);

	if (r < 0) {
		p->state = see_all && (r == -ENOENT || r == -ESRCH) ? PR_HOLDER_GONE : PR_HOLDER_UNKNOWN;
		return;
	}
	name = gt_starts_with(status, "Name:\t") ? status + 6 : NULL;
	state = field(status, "\nState:\t");
	uid = field(status, "\nUid:\t");
	p->name = name ? gt_xstrndup(name, strcspn(name, "\n")) : NULL;
	p->user = uid ? user_name(passwd, uid) : NULL;
	if (state)
		p->state = *state == 'Z' || *state == 'X'			 ? PR_HOLDER_ZOMBIE :
			   *state == 'D' && is_exiting(fs, p->pid) ? PR_HOLDER_EXITING :
									   PR_HOLDER_RUNS;
	if (gt_fs_read_prefix(fs, cgroup_path, 65536, &cgroup, NULL) >= 0)
		pr_find_group(cgroup, &p->kind, &p->group);
}

void pr_holder_clear(struct pr_holder *p)
{
	free(p->name);
	free(p->user);
	free(p->group);
}
