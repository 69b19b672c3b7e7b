/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_LOADER_H
#define TN_LOADER_H
/* --loader: arguments of PyTorch's DataLoader, applied by tune/python/sitecustomize.py. */
#include "probe/host/host.h"

/* Checks "auto", "measure", or a list such as "workers=8,prefetch=4,pin=on". Returns -EINVAL with a sentence. */
int tn_loader_check(const char *spec, struct gt_err *err);
/* Returns a sentence if the option will be ineffective or harmful for this command; NULL: neither. The caller frees it. */
char *tn_loader_doubt(const struct pr_host *host, const char *spec, char *const *argv);
/* Sets variables of this process so that its children load the module. The module then measures DataLoader, and changes
 * what the variables GPUTUNE_LOADER_* say. */
int tn_loader_enable(struct gt_fsroot *fs, struct gt_err *err);
#endif
