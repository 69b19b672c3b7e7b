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
#include "tune/knob.h"

struct tn_keep {
	const struct tn_knob *knob;
	const char *instance, *value;
};
const char *tn_persist_file(enum tn_form form); /* NULL for TN_NO_FORM */
/* The whole text of the form's file; NULL if none of the n values has this form. The caller frees it. */
char *tn_persist_text(const struct pr_host *host, enum tn_form form, const struct tn_keep *keep, size_t n);
/* Is this text ours and unedited? */
bool tn_persist_is_ours(const char *text);
/* What tmpfiles.d writes at boot: of several lines for one path systemd-tmpfiles takes the first, in the order of file names,
 * and ignores the others. Patterns are not looked at. */
struct tn_tmpfiles {
	struct tn_tmpfile {
		char *path, *value, *by; /* by: "FILE:LINE" */
	} *line;
	size_t n;
};
void tn_tmpfiles_load(struct gt_fsroot *fs, struct tn_tmpfiles *ret);
void tn_tmpfiles_clear(struct tn_tmpfiles *t);
const struct tn_tmpfile *tn_tmpfiles_find(const struct tn_tmpfiles *t, const char *path); /* NULL: none does */
/* Does a file ("/etc/tmpfiles.d/10-x.conf" or with ":LINE") come before ours in tmpfiles.d? */
bool tn_persist_before_ours(const char *file);
/* "/etc/sysctl.d/99-sysctl.conf:3 sets it to 60 and comes later", if that is so of a value that we would keep; else NULL. */
char *tn_persist_beaten_by(const struct sc_conf *boot, const struct tn_knob *k, const char *value);
#endif
