/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_DEVICE_RENAMED_H
#define TN_DEVICE_RENAMED_H
/* A device may have another name after a boot, and its name may be another device's. */
#include "tune/txn/journal.h"

/* The entry under the name that its device has in this boot: a copy whose path and instance are its own. False, and the path NULL:
 * that device is not here, whatever has its old name. host: NULL at first, found out when needed and the caller's to free. */
bool tn_entry_here(struct gt_fsroot *fs, const struct tn_journal *j, const struct tn_entry *e, struct pr_host **host,
		   struct tn_entry *ret);
void tn_entry_here_clear(struct tn_entry *here);
/* Is the missing file of a path in /proc or /sys hidden: the file system is not mounted here, or another one is mounted over it? */
bool tn_path_hidden(struct gt_fsroot *fs, const char *path);
/* Is the missing file of a value gone: of a device that was removed, or of a knob that another kernel lacks? Otherwise the host
 * must have it, and whether its value is back is unknown. */
bool tn_entry_gone(struct gt_fsroot *fs, const struct tn_entry *e, bool other_boot);
/* Are two entries of j about one device, so that the newer one replaces the older one? Compares paths within a boot, and across
 * boots the lines that keep the values, if both have one. */
bool tn_entry_same(const struct tn_journal *j, const struct tn_entry *a, const struct tn_entry *b);
#endif
