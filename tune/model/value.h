/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_VALUE_H
#define TN_VALUE_H
/* Values of kernel files: reading and comparing. */
#include "tune/model/tunable.h"

/* As it is compared and kept: first line, blanks squeezed, of a choice file the chosen word. The caller frees it. */
int tn_value_read(struct gt_fsroot *fs, const char *path, char **ret);
bool tn_value_equal(const char *a, const char *b);
/* To be compared: more than an int64_t holds, as a limit of the kernel may be, is the largest of it. -EINVAL, -ERANGE. */
int tn_value_number(const char *s, int64_t *ret);
/* Of numbers, or of lists of as many ("min default max"), place by place, for a knob that is only raised, or only lowered. Has a
 * gone as far as b everywhere? false also where they are none. */
bool tn_value_reaches(enum tn_op op, const char *a, const char *b);
/* In each place the one that goes further; NULL where they are none. The caller frees it. */
char *tn_value_further(enum tn_op op, const char *a, const char *b);
/* Is word among the choices "a [b] c"? line may be NULL. */
bool tn_offers(const char *line, const char *word);
/* The files in /etc, by form. */
#define TN_SYSCTL_D_PATH   "/etc/sysctl.d/90-gputune.conf"
#define TN_TMPFILES_D_PATH "/etc/tmpfiles.d/90-gputune.conf"
#define TN_UDEV_RULE_PATH  "/etc/udev/rules.d/90-gputune.rules"
#define TN_STATE_DIR	   "/var/lib/gputune"
#endif
