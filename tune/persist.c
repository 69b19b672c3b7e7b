/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "tune/persist.h"
#include "tune/value.h"

#define HEAD	   "# Written by gputune. Not to be edited: a changed file is neither overwritten nor removed.\n# checksum: "
#define HEAD_SIZE  (sizeof(HEAD) - 1)

const char *tn_persist_file(enum tn_form form)
{
	static const char *const path[] = { [TN_NO_FORM] = NULL,
					    [TN_SYSCTL_D] = TN_SYSCTL_D_PATH,
					    [TN_TMPFILES_D] = TN_TMPFILES_D_PATH,
					    [TN_UDEV_RULE] = TN_UDEV_RULE_PATH };

	return path[form];
}

static char *line_of(const struct pr_host *host, const struct tn_keep *k)
{
	gt_autofree char *path = NULL;

	if (k->knob->boot_line)
		return k->knob->boot_line(host, k->instance, k->value);
	if (k->knob->key)
		return gt_xasprintf("%s = %s", k->knob->key, k->value);
	path = tn_knob_path(k->knob, k->instance);
	return gt_xasprintf("w %s - - - - %s", path, k->value);
}

char *tn_persist_text(const struct pr_host *host, enum tn_form form, const struct tn_keep *keep, size_t n)
{
	gt_auto_buf body = { 0 };

	for (size_t i = 0; i < n; i++) {
		gt_autofree char *line = keep[i].knob->form == form ? line_of(host, &keep[i]) : NULL;

		if (line)
			gt_buf_printf(&body, "%s\n", line);
	}
	return body.len ? gt_xasprintf(HEAD "%08x\n%s", gt_crc32c(body.s, body.len), body.s) : NULL;
}

bool tn_persist_is_ours(const char *text)
{
	const char *body;
	char sum[16];

	if (!gt_starts_with(text, HEAD) || strlen(text) < HEAD_SIZE + 9 || text[HEAD_SIZE + 8] != '\n')
		return false;
	body = text + HEAD_SIZE + 9;
	snprintf(sum, sizeof(sum), "%08x", gt_crc32c(body, strlen(body)));
	return !strncmp(sum, text + HEAD_SIZE, 8);
}

static bool later_than_ours(const char *file)
{
	return strcmp(strrchr(file, '/'), strrchr(TN_SYSCTL_D_PATH, '/')) > 0;
}

char *tn_persist_beaten_by(const struct sc_conf *boot, const struct tn_knob *k, const char *value)
{
	const struct sc_key *key = sc_key_find(k->key);
	const struct sc_assign *a = sc_boot_value(boot, k->key);

	/* a glob yields to our exact key wherever it stands */
	if (a && !a->glob && later_than_ours(a->file) && !sc_value_equal(a->value, value))
		return gt_xasprintf("%s:%u sets it to %s and comes after %s", a->file, a->line, a->value, TN_SYSCTL_D_PATH);
	a = key && key->counterpart ? sc_boot_value(boot, key->counterpart) : NULL;
	if (a && later_than_ours(a->file) && strcmp(a->value, "0"))
		return gt_xasprintf("%s:%u sets %s, which takes its place, and comes after %s", a->file, a->line,
				    key->counterpart, TN_SYSCTL_D_PATH);
	return NULL;
}
