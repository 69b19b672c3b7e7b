/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include "sysctl/sysctl.h"
#include "tune/boot/persist.h"
#include "tune/knob/list.h"
#include "tune/model/exit.h"
#include "tune/txn/persisted_files.h"

static const struct tn_tunable *knob_of_key(const char *key)
{
	gt_autofree char *want = sc_normalize(key);

	for (size_t i = 0; tn_tunables[i]; i++) {
		gt_autofree char *have = tn_tunable_key(tn_tunables[i]) ? sc_normalize(tn_tunable_key(tn_tunables[i])) : NULL;

		if (gt_streq(have, want))
			return tn_tunables[i];
	}
	return NULL;
}

/* Returns the tunable of this path. *ret_instance: the name of the device, NULL: not per device; the caller frees it. */
static const struct tn_tunable *knob_of_path(const char *path, char **ret_instance)
{
	for (size_t i = 0; tn_tunables[i]; i++) {
		const struct tn_tunable *k = tn_tunables[i];
		gt_autofree char *own = k->path ? tn_tunable_path(k, "*") : NULL;
		const char *star = own ? strchr(own, '*') : NULL;

		if (!own || fnmatch(own, path, FNM_PATHNAME | FNM_PERIOD))
			continue;
		*ret_instance = star ? gt_xstrndup(path + (star - own), strcspn(path + (star - own), "/")) : NULL;
		return k;
	}
	return NULL;
}

static void add_value(struct tn_tx *t, const struct tn_tunable *k, const char *instance, const char *value)
{
	gt_autofree char *path = tn_tunable_path(k, instance);

	tn_tx_add_value(t, k->id, instance, path, NULL, value);
}

/* Parses "KEY = VALUE", or "w PATH - - - - VALUE", as written by tn_persist_text(). udev rules are skipped: they have
 * no plain value. */
static void parse_line(struct tn_tx *t, enum tn_form form, char *line)
{
	gt_autofree char *instance = NULL;
	const struct tn_tunable *k = NULL;
	char *value = NULL;

	if (*line == '#')
		return;
	if (form == TN_SYSCTL_D && (value = strstr(line, " = "))) {
		*value = '\0';
		value += strlen(" = ");
		k = knob_of_key(line);
	} else if (form == TN_TMPFILES_D && gt_starts_with(line, "w /") && (value = strstr(line, " - - - - "))) {
		*value = '\0';
		value += strlen(" - - - - ");
		k = knob_of_path(line + 2, &instance);
	}
	if (k)
		add_value(t, k, instance, value);
}

/* Returns whether a transaction of the journal persists path. One whose files are gone does not. */
static bool is_in_journal(const struct tn_journal *j, const char *path)
{
	for (size_t i = 0; i < j->n_tx; i++) {
		enum tn_tx_status status = tn_tx_status(j, &j->tx[i]);

		for (size_t k = 0; k < j->tx[i].n_entry && status != TN_STATUS_VOID && status != TN_STATUS_PENDING; k++)
			if (!strcmp(j->tx[i].entry[k].path, path))
				return true;
	}
	return false;
}

static int take_file(struct gt_fsroot *fs, struct tn_tx *t, enum tn_form form, const struct tn_journal *but)
{
	const char *path = tn_persist_file(form);
	gt_autofree char *text = NULL, *whole = NULL;
	struct stat st;
	char *rest;
	int r = gt_fs_read(fs, path, &text, NULL);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || (but && r == -EACCES) ? 0 : r;
	if (but && (!tn_persist_is_unedited(text) || is_in_journal(but, path) ||
		    (gt_fs_lstat(fs, path, &st) >= 0 && S_ISLNK(st.st_mode))))
		return 0;
	/* an edited file cannot be compared with the text that gputune wrote */
	tn_tx_add_file(t, path, NULL, tn_persist_is_unedited(text) ? text : NULL);
	rest = whole = gt_xstrdup(text);
	for (char *line; tn_persist_is_unedited(text) && (line = strsep(&rest, "\n"));)
		parse_line(t, form, line);
	return 0;
}

int tn_persisted_load(struct gt_fsroot *fs, const struct tn_journal *but, struct tn_journal **ret, struct gt_err *err)
{
	static const enum tn_form forms[] = { TN_SYSCTL_D, TN_TMPFILES_D, TN_UDEV_RULE };
	gt_auto(tn_journal) *j = gt_xcalloc(1, sizeof(*j));
	struct tn_tx *t;

	j->boot_id = gt_xstrdup("");
	t = tn_journal_new_tx(j);
	t->state = TN_TX_COMMITTED;
	for (size_t i = 0; i < GT_ARRAY_SIZE(forms); i++) {
		int r = take_file(fs, t, forms[i], but);

		if (r < 0)
			return gt_fail_exit(err, TN_EXIT_REFUSED, -r, "cannot read %s: %s", tn_persist_file(forms[i]),
					    strerror(-r));
	}
	if (!t->n_entry)
		tn_journal_drop(j, 0);
	*ret = gt_take(j);
	return 0;
}
