/* SPDX-License-Identifier: Apache-2.0 */
/* What has to hold before a knob is turned: shown with the knob and in the plan, and looked at again when it is applied. */
#include <errno.h>
#include <string.h>
#include "lib/text.h"
#include "probe/check/distro.h"
#include "tune/model/knob.h"

static size_t own_needs(const struct tn_knob *k)
{
	size_t n = 0;

	while (k->needs && k->needs[n].what)
		n++;
	return n;
}

char *tn_need_text(const struct tn_knob *k, const char *path, size_t n)
{
	gt_autofree char *any = path ? NULL : tn_knob_path(k, k->instances ? "*" : NULL);

	if (k->check) /* it reports itself what it lacks */
		return NULL;
	if (!n)
		return gt_xasprintf("%s is there", path ? path : any);
	if (n <= own_needs(k))
		return gt_xstrdup(k->needs[n - 1].what);
	return n == own_needs(k) + 1 ? gt_xstrdup("it can be written (in a container it is read-only)") : NULL;
}

size_t tn_needs_check(const struct tn_knob *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	size_t n = own_needs(k);

	for (size_t i = 0; i < n; i++) {
		k->needs[i].check(c, now, w);
		if (*w->reason)
			return i;
	}
	return n;
}

size_t tn_knob_wish(const struct tn_knob *k, const struct tn_ctx *c, const struct tn_now *now, struct tn_wish *w)
{
	size_t n = tn_needs_check(k, c, now, w);

	if (n == own_needs(k)) {
		gt_autofree char *reason = NULL;

		k->desired(c, now, w);
		reason = pr_for_distro(c->host, w->reason, "\t", "");
		snprintf(w->reason, sizeof(w->reason), "%s", reason);
	}
	return n;
}

/* A capture has the read-only directories as a fact. */
static bool is_read_only(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *dirs = NULL;

	if (gt_fs_is_live(fs))
		return gt_fs_access(fs, path, W_OK) == -EROFS;
	gt_fs_fact(fs, "read_only", &dirs, NULL);
	gt_each_line(dir, dirs)
		if (gt_starts_with(path, dir) && path[strlen(dir)] == '/')
			return true;
	return false;
}

const char *tn_need_writable(struct gt_fsroot *fs, const char *path)
{
	return is_read_only(fs, path) ? "read-only here, as in a container: to be set on the host beneath" : NULL;
}
