/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LINT_H
#define TN_LINT_H
/*
 * Finds lines of local configuration that have no effect, contradict each other or do harm. Reads the files of modprobe, GRUB,
 * tuned, PAM, NCCL and udev. (sysctl/lint.c checks sysctl.d.) Each file is parsed as its own program parses it. Content that
 * only a shell can evaluate is not checked.
 */
#include "sysctl/sysctl.h"

/*
 * modprobe.d(5): *.conf of /etc, /run, /usr/local/lib and /usr/lib in the order of their names. The kernel gets all
 * options of a module as one line, in which the last value of a parameter applies. A built-in module gets no options.
 */
void tn_lint_modprobe(struct gt_fsroot *fs, struct sc_findings *ret);
/* /etc/default/grub, then /etc/default/grub.d/NAME.cfg, which sh reads when grub-mkconfig runs. */
void tn_lint_grub(struct gt_fsroot *fs, struct sc_findings *ret);

/*
 * Local profiles, /etc/tuned/NAME/tuned.conf and /etc/tuned/profiles/NAME/tuned.conf: keys of [sysctl], and settings
 * whose files have another path on this host.
 */
void tn_lint_tuned(struct gt_fsroot *fs, struct sc_findings *ret);
/* limits.conf(5): /etc/security/limits.conf, then limits.d/NAME.conf in the order of their names. */
void tn_lint_limits(struct gt_fsroot *fs, struct sc_findings *ret);
/* /etc/nccl.conf, which applies to every job of the host. */
void tn_lint_nccl(struct gt_fsroot *fs, struct sc_findings *ret);

/* Rules of udev, read as systemd-udevd reads them (tune/boot/udev.h). Finds lines that udevd ignores, settings that the
 * kernel no longer has or that a later line replaces, and commands written for a shell. Uses the disks of this host. */
void tn_lint_udev(struct gt_fsroot *fs, struct sc_findings *ret);

/*
 * Reports each file in dir without the suffix: no program reads such a file. Backups of dpkg and editors are not
 * reported.
 */
void tn_lint_unread(struct gt_fsroot *fs, const char *dir, const char *suffix, const char *reader,
		    struct sc_findings *ret);
#endif
