/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_BOOT_H
#define TN_BOOT_H
/* What the next boot will make of a knob, and which line decides it: sysctl.d, tmpfiles.d and the rules of udev together. */
#include "tune/boot/persist.h"
#include "tune/boot/udev.h"

struct tn_boot {
	struct sc_conf *sysctl, *others; /* others: as it were without our own file */
	struct tn_tmpfiles tmpfiles;
	struct tn_udev udev;
};
/* Fails only if a directory that exists cannot be listed. b is the caller's to clear, also then. */
int tn_boot_load(struct gt_fsroot *fs, struct tn_boot *b, struct gt_err *err);
void tn_boot_clear(struct tn_boot *b);
/* Is it one of those that files can set at boot? */
bool tn_boot_knows(const struct tn_tunable *k);
/* The line that sets the other form of a pair, if that is the one that is in force after the boot, which leaves this one at 0: the
 * later of the two; else NULL. */
const struct sc_assign *tn_boot_pair(const struct sc_conf *boot, const struct tn_tunable *k);
/* What a line of sysctl.d or a rule of udev that is not ours says, if it goes further than `than` with a knob that is only raised,
 * or only lowered (of several numbers: in one of them): ours is not to take that back. NULL: none does. *ret_by: "FILE:LINE". The
 * caller frees both. */
char *tn_boot_further(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *than, char **ret_by);
/* As the files are now. path: the knob's kernel file. The caller clears the answer (tn_udev_answer_clear). */
void tn_boot_ask(struct tn_boot *b, const struct tn_tunable *k, const char *path, struct tn_udev_answer *ret);
/* The same as JSON: {"value", "decided_by", "may"}. */
json_t *tn_boot_json(const char *value, const char *by, const char *may);
/* Who sets it to something else though our file has, or were to have, value for it: one sentence, NULL if nobody does. *ret_may
 * (not NULL): who may. The caller frees both. */
char *tn_boot_beaten(struct tn_boot *b, const struct tn_tunable *k, const char *path, const char *value, char **ret_may);
#endif
