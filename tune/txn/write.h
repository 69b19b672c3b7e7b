/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_WRITE_H
#define TN_WRITE_H
/* Writes to the host. Allowed are kernel files of tunables and gputune's files in /etc; other paths return -EPERM. */
#include "lib/fsroot.h"

bool tn_path_allowed(const char *path);
int tn_value_write(struct gt_fsroot *fs, const char *path, const char *value);
int tn_file_write(struct gt_fsroot *fs, const char *path, const char *text);
int tn_file_remove(struct gt_fsroot *fs, const char *path);
/* Removes temporary files of an interrupted tn_file_write(). Success if there are none. */
int tn_file_sweep(struct gt_fsroot *fs, const char *path);
#endif
