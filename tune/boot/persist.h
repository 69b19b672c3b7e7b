/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PERSIST_H
#define TN_PERSIST_H
/*
 * Persistence over a boot: up to three files of gputune in /etc. Each file is always generated from all applied settings. A
 * checksum in its head protects a local edit from being overwritten or removed.
 *
 * The name 90-gputune.conf sorts after the distribution's 10-, 50- and 60- files and before 99-sysctl.conf.
 * /etc/sysctl.conf therefore overrides it. The plan and verify report such a line.
 */
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"

struct tn_persisted {
	const struct tn_tunable *knob;
	const char *instance, *value;
	const char *line; /* NULL: generated for this host */
};
const char *tn_persist_file(enum tn_form form); /* NULL for TN_NO_FORM */
/* Returns the text of the form's file, or NULL if none of the n values has this form. The caller frees it. */
char *tn_persist_text(const struct pr_host *host, enum tn_form form, const struct tn_persisted *keep, size_t n);
/*
 * Returns the line that persists the value of a tunable whose devices may be renamed. The line identifies the device by
 * more than its name. NULL: another tunable, or the device is absent. The caller frees it.
 */
char *tn_persist_line(const struct pr_host *host, const struct tn_tunable *k, const char *instance, const char *value);
/* Returns whether two such lines are for the same device, even if its name differs. */
bool tn_persist_same(const char *line, const char *other);
/* Returns whether gputune wrote this text and it has not been edited since. */
bool tn_persist_is_unedited(const char *text);
/* Values that tmpfiles.d writes at boot. If several lines have the same path or pattern, systemd-tmpfiles uses the
 * first in the order of file names. It ignores the others ("w+" after "w" too). The remaining lines are written in that
 * order. For a path and patterns that match it, the last one therefore decides. */
struct tn_tmpfiles {
	struct tn_tmpfile {
		char *path, *value, *by; /* path or pattern; by: "FILE:LINE" */
	} *line;
	size_t n;
};
void tn_tmpfiles_load(struct gt_fsroot *fs, struct tn_tmpfiles *ret);
void tn_tmpfiles_clear(struct tn_tmpfiles *t);
const struct tn_tmpfile *tn_tmpfiles_find(const struct tn_tmpfiles *t, const char *path); /* NULL: no line */
bool tn_tmpfile_matches(const struct tn_tmpfile *l, const char *path);
/* Returns the line that sets path at boot although gputune's file sets it too, or would. NULL: gputune's line decides. */
const struct tn_tmpfile *tn_tmpfiles_overriding(const struct tn_tmpfiles *t, const char *path);
/* Returns a sentence such as "/etc/sysctl.d/99-sysctl.conf:3 sets it to 60 and comes later" if a line overrides a value
 * that gputune would persist; else NULL. The caller frees it. */
char *tn_persist_overridden_by(const struct sc_conf *boot, const struct tn_tunable *k, const char *value);
#endif
