/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_BOOT_H
#define TN_BOOT_H
/* Predicts the value of a tunable after the next boot and finds the line that sets it, from sysctl.d, tmpfiles.d and
 * udev rules together. */
#include "tune/boot/persist.h"
#include "tune/boot/udev.h"

struct tn_boot {
	struct sc_conf *sysctl, *others; /* others: without gputune's own files */
	struct tn_tmpfiles tmpfiles;
	struct tn_udev udev;
};
/* Fails only if an existing directory cannot be listed. The caller clears b, also after a failure. */
int tn_boot_load(struct gt_fsroot *fs, struct tn_boot *b, struct gt_err *err);
void tn_boot_clear(struct tn_boot *b);
/* Returns whether any configuration file can set the tunable at boot. */
bool tn_boot_knows(const struct tn_tunable *k);
/*
 * For one of a pair such as dirty_ratio and dirty_bytes: returns the line that sets the other form, if that line is the later
 * one. It then decides at boot. The kernel then sets this form to 0. Otherwise NULL.
 */
const struct sc_assign *tn_boot_pair(const struct sc_conf *boot, const struct tn_tunable *k);
/*
 * For a tunable that is only raised or only lowered: returns the value of another program's sysctl.d line or udev rule, if it
 * exceeds `than` in that direction. At least one of several numbers must exceed it. gputune does not reduce such a value. NULL:
 * there is none. *ret_by: "FILE:LINE". The caller frees both.
 */
char *tn_boot_further(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *than, char **ret_by);
/* Predicts the value from the current files. path: the tunable's kernel file. The caller clears the answer
 * (tn_udev_answer_clear). */
void tn_boot_ask(struct tn_boot *b, const struct tn_tunable *k, const char *path, struct tn_udev_answer *ret);
/* Returns the answer as JSON: {"value", "decided_by", "may"}. */
json_t *tn_boot_json(const char *value, const char *by, const char *may);
/*
 * Returns a sentence about the line that sets another value although gputune's file has a value for the tunable, or
 * would have one. NULL: no such line. *ret_may (not NULL): lines that may do so. The caller frees both.
 */
char *tn_boot_overridden(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *value, char **ret_may);
#endif
