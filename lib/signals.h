/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SIGNALS_H
#define GT_SIGNALS_H
/* The signals and standard files of a tool. */

/* Opens "/" for each standard file that is closed, so that no other file, such as a journal, gets its number. A process that
 * closes standard files later calls it again. */
void gt_hold_standard_files(void);
/* Installs the handlers: the first SIGINT, SIGTERM or SIGHUP sets gt_interrupted (lib/util.h), the second one kills. */
void gt_install_signals(void);
/* Lets the first of these signals kill, for a command that only reads. */
void gt_end_at_signal(void);
/* Restores the dispositions that the process was started with. Called before it executes another program. */
void gt_restore_signals(void);
#endif
