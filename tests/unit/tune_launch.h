/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_LAUNCH_H
#define TUNE_LAUNCH_H
/* A launch on a captured host. */
#include "tests/unit/check_tune.h"

extern char *no_env[], *python[]; /* an empty environment; the command of a training script */

struct tn_run *make(const char *host, char *const *argv, char *const *envp, const char *allocator);
const struct tn_var *var(const struct tn_run *r, const char *name); /* NULL: not specified */
struct gt_fsroot *open_with(const char *host, const char *more); /* a captured host with additions to the fixture */
#endif
