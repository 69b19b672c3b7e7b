/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DISTRO_H
#define PR_DISTRO_H
/* Checks write remedies with Debian's commands and package names. Other distributions, including derivatives, have
 * other names. */
#include "probe/host/host.h"

bool pr_is_debian(const struct pr_host *h);
/* Returns the remedy for this host: unchanged on Debian. Elsewhere replaces each command that only Debian has by a
 * sentence. Lines that begin with `indent` are commands, and a sentence that replaces one begins with `comment`. The
 * caller frees it. */
char *pr_for_distro(const struct pr_host *h, const char *text, const char *indent, const char *comment);
#endif
