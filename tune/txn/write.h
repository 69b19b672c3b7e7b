/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_WRITE_H
#define TN_WRITE_H
/* Writes to the host. Allowed are the kernel files of tunables and gputune's files in /etc; any other path is -EPERM. */
#include "lib/fsroot.h"

bool tn_path_allowed(const char *path);
int tn_value_write(struct gt_fsroot *fs, const char *path, const char *value);
int tn_file_write(struct gt_fsroot *fs, const char *path, const char *text);
int tn_file_remove(struct gt_fsroot *fs, const char *path);
/* Removes what an interrupted tn_file_write() has left. Success if there is nothing. */
int tn_file_sweep(struct gt_fsroot *fs, const char *path);
#endif
