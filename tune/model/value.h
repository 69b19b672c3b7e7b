/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_VALUE_H
#define TN_VALUE_H
/* Values of kernel files: reading and comparing. */
#include "tune/model/tunable.h"

/* Reads a value in the form that is compared and stored: the first line with single blanks; of a list of choices the
 * selected word. The caller frees it. */
int tn_value_read(struct gt_fsroot *fs, const char *path, char **ret);
bool tn_value_equal(const char *a, const char *b);
/* Parses a number for a comparison. A kernel limit that exceeds INT64_MAX counts as INT64_MAX. Returns -EINVAL or
 * -ERANGE. */
int tn_value_number(const char *s, int64_t *ret);
/* Compares numbers, or lists of equally many numbers ("min default max"), for an op that only raises or only lowers.
 * Returns whether each number of a is at least as far in that direction as that of b. Returns false if they are no
 * numbers. */
bool tn_value_reaches(enum tn_op op, const char *a, const char *b);
/* Returns at each position the number that is further in the direction of op. NULL: they are no numbers. The caller
 * frees it. */
char *tn_value_further(enum tn_op op, const char *a, const char *b);
/* Returns whether word is among the choices "a [b] c". line may be NULL. */
bool tn_offers(const char *line, const char *word);
/* Files that gputune writes in /etc, by form. */
#define TN_SYSCTL_D_PATH   "/etc/sysctl.d/90-gputune.conf"
#define TN_TMPFILES_D_PATH "/etc/tmpfiles.d/90-gputune.conf"
#define TN_UDEV_RULE_PATH  "/etc/udev/rules.d/90-gputune.rules"
#define TN_STATE_DIR	   "/var/lib/gputune"
#endif
