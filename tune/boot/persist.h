/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_PERSIST_H
#define TN_PERSIST_H
/*
 * What holds after the next boot: up to three files of ours in /etc, each generated whole from all that is held, with a
 * checksum in its head so that an admin's edit is never overwritten nor removed.
 *
 * The name 90-gputune.conf: after the distribution's 10-, 50- and 60- files, before 99-sysctl.conf, so that what an admin
 * says in /etc/sysctl.conf wins. Where that happens the plan and verify say so.
 */
#include "sysctl/sysctl.h"
#include "tune/model/tunable.h"

struct tn_keep {
	const struct tn_tunable *knob;
	const char *instance, *value;
	const char *line; /* NULL: as it would be made now */
};
const char *tn_persist_file(enum tn_form form); /* NULL for TN_NO_FORM */
/* The whole text of the form's file; NULL if none of the n values has this form. The caller frees it. */
char *tn_persist_text(const struct pr_host *host, enum tn_form form, const struct tn_keep *keep, size_t n);
/* The line that keeps it, of a knob whose line says which device it is for; else NULL, also if the device is not here. The caller
 * frees it. */
char *tn_persist_line(const struct pr_host *host, const struct tn_tunable *k, const char *instance, const char *value);
/* Two such lines, made under whatever names: are they for the same device? */
bool tn_persist_same(const char *line, const char *other);
/* Is this text ours and unedited? */
bool tn_persist_is_ours(const char *text);
/* What tmpfiles.d writes at boot. Of several lines with the same path, or the same pattern, systemd-tmpfiles takes the first, in
 * the order of file names, and ignores the others ("w+" after "w" too); what is left is written in that order, so of a path and
 * the patterns that match it the last stays. */
struct tn_tmpfiles {
	struct tn_tmpfile {
		char *path, *value, *by; /* path: or a pattern; by: "FILE:LINE" */
	} *line;
	size_t n;
};
void tn_tmpfiles_load(struct gt_fsroot *fs, struct tn_tmpfiles *ret);
void tn_tmpfiles_clear(struct tn_tmpfiles *t);
const struct tn_tmpfile *tn_tmpfiles_find(const struct tn_tmpfiles *t, const char *path); /* NULL: none does */
bool tn_tmpfile_matches(const struct tn_tmpfile *l, const char *path);
/* The line that decides path though our file has, or were to have, one for it; NULL: ours decides. */
const struct tn_tmpfile *tn_tmpfiles_beating(const struct tn_tmpfiles *t, const char *path);
/* "/etc/sysctl.d/99-sysctl.conf:3 sets it to 60 and comes later", if that is so of a value that we would keep; else NULL. */
char *tn_persist_beaten_by(const struct sc_conf *boot, const struct tn_tunable *k, const char *value);
#endif
