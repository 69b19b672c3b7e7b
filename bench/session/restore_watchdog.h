/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RESTORE_WATCHDOG_H
#define BN_RESTORE_WATCHDOG_H
/* A second process that does nothing but wait for the end of this one. If that left an experiment of its own open, because
 * it was killed in the middle of an arm, the guard puts the settings back, as gputune recover would. */
#include <sys/types.h>
#include "lib/err.h"

struct gt_fsroot;
/* Start it, once per process; before the first setting is changed. Fails only where processes cannot be made. */
int bn_restore_watchdog_start(struct gt_fsroot *live, struct gt_err *err);
/* Puts back the settings that an experiment of process pid left, once pid has ended. Waits as long as another process holds the
 * journal's lock. Returns 0, or a negative errno if the settings could not be put back. */
int bn_restore_watchdog_settle(struct gt_fsroot *fs, pid_t pid);
#endif
