/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LINT_H
#define TN_LINT_H
/*
 * Lines of the admin's own that do nothing, contradict each other or harm, besides those of sysctl.d (sysctl/lint.c):
 * what modprobe, GRUB, tuned, PAM and NCCL read. They are judged as those read them; what only a shell could know is not
 * judged.
 */
#include "sysctl/sysctl.h"

/* modprobe.d(5): *.conf of /etc, /run, /usr/local/lib and /usr/lib in the order of their names; all options of a module
 * are one line to the kernel, of which the last value of a name counts; what is built into the kernel gets none. */
void tn_lint_modprobe(struct gt_fsroot *fs, struct sc_findings *ret);
/* /etc/default/grub, then /etc/default/grub.d/NAME.cfg, read by sh when grub-mkconfig runs. */
void tn_lint_grub(struct gt_fsroot *fs, struct sc_findings *ret);

/* Profiles of the admin's own, /etc/tuned/NAME/tuned.conf and /etc/tuned/profiles/NAME/tuned.conf: keys of [sysctl], and what
 * is meant for files that are elsewhere on this host. */
void tn_lint_tuned(struct gt_fsroot *fs, struct sc_findings *ret);
/* limits.conf(5): /etc/security/limits.conf, then limits.d/NAME.conf in the order of their names. */
void tn_lint_limits(struct gt_fsroot *fs, struct sc_findings *ret);
/* /etc/nccl.conf, which every job of the host has. */
void tn_lint_nccl(struct gt_fsroot *fs, struct sc_findings *ret);

/* Rules of udev, as systemd-udevd reads them (tune/udev): lines that it ignores, settings that the kernel does not have any more or
 * that a later line replaces, and commands written as if a shell read them. Judged on this host's disks. */
void tn_lint_udev(struct gt_fsroot *fs, struct sc_findings *ret);

/* A file in dir whose name lacks the suffix: nobody reads it. What dpkg and editors leave behind is not meant to be
 * read. */
void tn_lint_unread(struct gt_fsroot *fs, const char *dir, const char *suffix, const char *reader,
		    struct sc_findings *ret);
#endif
