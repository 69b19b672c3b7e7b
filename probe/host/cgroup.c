/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "lib/text.h"
#include "probe/host/reading.h"

/* Modifies group. */
static void walk(struct gt_fsroot *fs, char *group, bool v2, pr_cgroup_fn see, void *arg)
{
	for (;;) {
		char *slash = strrchr(group, '/');

		if (!strcmp(group, "/"))
			*group = '\0';
		see(fs, arg, group, v2);
		if (!slash || !*group)
			return;
		*slash = '\0';
	}
}

/* Returns whether the list contains the controller, such as "cpu" in "cpu,cpuacct". */
static bool names(const char *controllers, const char *one)
{
	size_t n = strlen(one);

	for (const char *p = controllers; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (len == n && !strncmp(p, one, n))
			return true;
		p += len;
	}
	return false;
}

/* Lines are ID:CONTROLLERS:PATH. For version 2 CONTROLLERS is empty. */
void pr_each_cgroup(struct gt_fsroot *fs, const char *controller, pr_cgroup_fn see, void *arg)
{
	gt_autofree char *text = NULL;

	if (gt_fs_read_prefix(fs, "/proc/self/cgroup", 65536, &text, NULL) < 0)
		return;
	gt_each_line(line, text) {
		char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!group || group[1] != '/')
			continue;
		*group++ = '\0';
		controllers++;
		if (!*controllers || names(controllers, controller))
			walk(fs, group, !*controllers, see, arg);
	}
}
