/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DISTRO_H
#define PR_DISTRO_H
/*
 * Remedies by distribution. A text names an action as "@{ACTION PARAMETERS}", and probe/compat/remedies.tsv has its lines
 * for each family of distributions.
 */
#include "probe/host/host.h"

/* Returns the family "debian", "ubuntu", "rhel", "fedora", "suse" or "amzn". NULL: unknown, older than the commands of
 * the table, installed from an image, or an os-release that contradicts itself. */
const char *pr_family(const struct pr_host *h);
/* Returns whether the host has Debian's own packages. False for derivatives. */
bool pr_is_debian(const struct pr_host *h);
/* Returns text with its actions rendered for this host. An action at the start of a line after `indent` becomes lines:
 * commands after `indent`, sentences after `comment`. Elsewhere it becomes part of the sentence. The caller frees it. */
char *pr_for_distro(const struct pr_host *h, const char *text, const char *indent, const char *comment);
#endif
