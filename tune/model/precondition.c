/* SPDX-License-Identifier: Apache-2.0 */
/* Preconditions of a change. They are shown with the tunable and in the plan, and evaluated again by apply. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/text.h"
#include "probe/check/distro.h"
#include "tune/model/nvml_settings.h"
#include "tune/model/tunable.h"

char *tn_precondition_text(const struct tn_tunable *k, const char *path, size_t n)
{
	gt_autofree char *any = path ? NULL : tn_tunable_path(k, k->instances ? "*" : NULL);
	size_t own = 0;

	if (k->check) /* the check reports what is missing */
		return NULL;
	if (!n && tn_is_nvml_path(k->path))
		return gt_xstrdup("NVML provides it on the GPU");
	if (!n)
		return gt_xasprintf("%s exists", path ? path : any);
	while (k->preconditions[own])
		own++;
	if (n <= own)
		return gt_xstrdup(k->preconditions[n - 1]->text);
	if (n == own + 1 && tn_is_nvml_path(k->path))
		return gt_xstrdup("root of the host changes it (a container usually cannot)");
	return n == own + 1 ? gt_xstrdup("the file is writable (it is read-only in a container)") : NULL;
}

size_t tn_preconditions_check(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	size_t n = 0;

	for (; k->preconditions[n]; n++) {
		const struct tn_precondition *p = k->preconditions[n];
		gt_auto_buf found = { 0 };

		if (p->holds(c, now, &found))
			continue;
		tn_leave(w, p->status ? p->status : TN_NOT_APPLICABLE, "requires %s%s%s", p->text, found.len ? ": " : "",
			 found.len ? found.s : "");
		break;
	}
	return n;
}

size_t tn_tunable_desired(const struct tn_tunable *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_desired *w)
{
	size_t n = tn_preconditions_check(k, c, now, w);

	if (!k->preconditions[n]) {
		gt_autofree char *reason = NULL;

		k->desired(c, now, w);
		reason = pr_for_distro(c->host, w->reason, "\t", "");
		snprintf(w->reason, sizeof(w->reason), "%s", reason);
	}
	return n;
}

/* A captured host lists its read-only directories as a fact. */
static bool is_read_only(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *dirs = NULL;

	if (gt_fs_is_live(fs)) {
		int r = gt_fs_access(fs, path, W_OK);
		struct statvfs v;

		/* -EACCES: root of a user namespace, or another user, for whom access() does not look at the mount */
		if (r == -EACCES)
			return geteuid() == 0 || (gt_fs_statvfs(fs, path, &v) >= 0 && v.f_flag & ST_RDONLY);
		return r == -EROFS;
	}
	gt_fs_fact(fs, "read_only", &dirs, NULL);
	gt_each_line(dir, dirs)
		if (gt_starts_with(path, dir) && path[strlen(dir)] == '/')
			return true;
	return false;
}

const char *tn_not_writable(struct gt_fsroot *fs, const char *path)
{
	return is_read_only(fs, path) ? "read-only, as in a container: set it on the host outside" : NULL;
}
