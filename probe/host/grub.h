/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GRUB_H
#define PR_GRUB_H
/* The words of the kernel's command line as GRUB's files give them. */
#include "probe/host/host.h"
#include "sysctl/sysctl.h"

#define PR_GRUB_DEFAULT "/etc/default/grub"

/*
 * Adds the words that reach the kernel at the next update-grub, in their order: of /etc/default/grub, then of
 * /etc/default/grub.d/NAME.cfg, as sh reads them. A file that cannot be read adds none. problems: lines that have no effect.
 */
void pr_grub_read(struct gt_fsroot *fs, struct pr_params *ret, struct sc_findings *problems);
void pr_params_add(struct pr_params *to, const char *word, size_t len, const char *file, unsigned line);
bool pr_params_have(const struct pr_params *l, const char *word);
void pr_params_clear(struct pr_params *l);
#endif
