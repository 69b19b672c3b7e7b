/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESTORE_WATCHDOG_H
#define BN_RESTORE_WATCHDOG_H
/* A second process that waits for the end of this one. If this process was killed during an arm and left its experiment
 * open, the watchdog restores the settings, as gputune recover does. */
#include <sys/types.h>
#include "lib/err.h"

struct gt_fsroot;
/* Starts the watchdog once per process, before the first setting is changed. Fails only if no process can be created. */
int bn_restore_watchdog_start(struct gt_fsroot *live, struct gt_err *err);
/* Restores the settings that an experiment of process pid left changed after pid has ended. Waits while another process
 * holds the journal's lock. Returns 0, or a negative errno if the settings could not be restored. */
int bn_restore_watchdog_settle(struct gt_fsroot *fs, pid_t pid);
#endif
