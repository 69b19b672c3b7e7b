/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GRUB_H
#define PR_GRUB_H
/* Words of the kernel command line from GRUB's configuration files. */
#include "probe/host/host.h"
#include "sysctl/sysctl.h"

#define PR_GRUB_DEFAULT "/etc/default/grub"

/*
 * Adds the words that the next update-grub passes to the kernel, in order: from /etc/default/grub, then from
 * /etc/default/grub.d/NAME.cfg, parsed like sh. An unreadable file adds none. problems: lines without effect.
 */
void pr_grub_read(struct gt_fsroot *fs, struct pr_params *ret, struct sc_findings *problems);
void pr_params_add(struct pr_params *to, const char *word, size_t len, const char *file, unsigned line);
bool pr_params_have(const struct pr_params *l, const char *word);
void pr_params_clear(struct pr_params *l);
#endif
