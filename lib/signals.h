/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SIGNALS_H
#define GT_SIGNALS_H
/* Signal handling and standard descriptors of a tool. */

/*
 * Opens "/" for each closed standard descriptor. Otherwise a file opened later, such as a journal, would get the number
 * of standard output. A process that closes standard descriptors later must call it again.
 */
void gt_hold_standard_files(void);
/* Installs the handlers. The first SIGINT, SIGTERM or SIGHUP sets gt_interrupted (lib/util.h); the second one kills the
 * process. */
void gt_install_signals(void);
/* Makes the first of these signals kill the process, for a command that only reads. */
void gt_end_at_signal(void);
/* Restores the signal dispositions from the start of the process. Called before executing another program. */
void gt_restore_signals(void);
#endif
