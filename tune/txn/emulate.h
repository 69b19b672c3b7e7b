/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_EMULATE_H
#define TN_EMULATE_H
#include "lib/fsroot.h"

/*
 * Writes value to a kernel file. In a directory root it also emulates the kernel's side effects on other files.
 * Counterparts become 0, another scheduler resets the queue, and the governor performance decides the energy
 * preference.
 */
int tn_kernel_write(struct gt_fsroot *fs, const char *path, const char *value);
#endif
