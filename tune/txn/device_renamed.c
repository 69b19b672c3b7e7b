/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include "tune/plan/plan.h"
#include "tune/boot/persist.h"
#include "tune/model/nvml_settings.h"
#include "tune/txn/device_renamed.h"

static const char *boot_of(const struct tn_journal *j, const struct tn_entry *e)
{
	const struct tn_tx *t = tn_entry_tx(j, e);

	return t ? t->boot_id : j->boot_id;
}

/* Returns the name of the device in this boot. NULL: the host lacks it. The caller frees it. */
static char *name_of(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_tunable *k, const char *line)
{
	gt_auto_strv instances = { 0 };
	char *found = NULL;

	k->instances(fs, host, &instances);
	for (size_t i = 0; i < instances.n && !found; i++) {
		gt_autofree char *its = tn_persist_line(host, k, instances.v[i], "");

		if (tn_persist_same(its, line))
			found = gt_xstrdup(instances.v[i]);
	}
	return found;
}

bool tn_entry_here(struct gt_fsroot *fs, const struct tn_journal *j, const struct tn_entry *e, struct pr_host **host,
		   struct tn_entry *ret)
{
	const struct tn_tunable *k = e->line ? tn_entry_knob(e) : NULL;
	const struct pr_host *now;

	*ret = *e;
	if (!k || !k->boot_line || !strcmp(boot_of(j, e), j->boot_id)) {
		ret->path = gt_xstrdup(e->path);
		ret->instance = e->instance ? gt_xstrdup(e->instance) : NULL;
		return true;
	}
	ret->path = ret->instance = NULL;
	if (!*host && tn_host_get(fs, NULL, host, &now, NULL) < 0)
		return false;
	ret->instance = name_of(fs, *host, k, e->line);
	ret->path = ret->instance ? tn_tunable_path(k, ret->instance) : NULL;
	return ret->path;
}

void tn_entry_here_clear(struct tn_entry *here)
{
	free(here->path);
	free(here->instance);
}

bool tn_entry_same(const struct tn_journal *j, const struct tn_entry *a, const struct tn_entry *b)
{
	bool by_line = a->line && b->line && strcmp(boot_of(j, a), boot_of(j, b));

	return by_line ? tn_persist_same(a->line, b->line) : !strcmp(a->path, b->path);
}

bool tn_path_hidden(struct gt_fsroot *fs, const char *path)
{
	gt_autofree char *top = gt_xstrndup(path, 1 + strcspn(path + 1, "/")), *dir = gt_xstrdup(path);
	struct stat mount, st;

	if (tn_is_nvml_path(path) && gt_fs_is_live(fs)) /* no file */
		return false;
	do
		*strrchr(dir, '/') = '\0';
	while (strlen(dir) > strlen(top) && gt_fs_stat(fs, dir, &st) < 0);
	return strlen(dir) <= strlen(top) || gt_fs_stat(fs, top, &mount) < 0 || mount.st_dev != st.st_dev;
}

bool tn_entry_gone(struct gt_fsroot *fs, const struct tn_entry *e, bool other_boot)
{
	return (other_boot || e->instance) && !tn_path_hidden(fs, e->path);
}
