/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_DEVICE_RENAMED_H
#define TN_DEVICE_RENAMED_H
/* Devices across boots: a device may have another name after a boot, and its old name may belong to another device. */
#include "tune/txn/journal.h"

/* Finds the device of an entry under its name in this boot. *ret is a copy with its own path and instance. Returns
 * false, with path NULL, if the host lacks that device. *host is NULL at first, discovered when needed, and freed by
 * the caller. */
bool tn_entry_here(struct gt_fsroot *fs, const struct tn_journal *j, const struct tn_entry *e, struct pr_host **host,
		   struct tn_entry *ret);
void tn_entry_here_clear(struct tn_entry *here);
/* Returns whether a missing file in /proc or /sys is hidden: the file system is not mounted here, or another one is
 * mounted over it. */
bool tn_path_hidden(struct gt_fsroot *fs, const char *path);
/* Returns whether the missing file of a value is gone: its device was removed, or another kernel lacks the tunable.
 * Otherwise the host must have it, and whether its value was restored is unknown. */
bool tn_entry_gone(struct gt_fsroot *fs, const struct tn_entry *e, bool other_boot);
/* Returns whether two entries of j concern one device, so that the newer one replaces the older one. Within a boot
 * their paths are compared. Across boots the lines that persist the values are compared, if both have one. */
bool tn_entry_same(const struct tn_journal *j, const struct tn_entry *a, const struct tn_entry *b);
#endif
