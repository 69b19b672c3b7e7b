/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_DISTRO_H
#define PR_DISTRO_H
/* Remedies are written with Debian's commands and package names. Other distributions, its derivatives too, have other names. */
#include "probe/host/host.h"

bool pr_is_debian(const struct pr_host *h);
/* The remedy as it holds on this host: unchanged on Debian; elsewhere each command that only Debian has becomes a sentence.
 * Lines that begin with `indent` are commands, and a sentence in their place begins with `comment`. The caller frees it. */
char *pr_for_distro(const struct pr_host *h, const char *text, const char *indent, const char *comment);
#endif
