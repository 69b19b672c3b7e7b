/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_ENV_H
#define TN_ENV_H
/* What a command should run with, in the words of other launchers. */
#include "tune/launch/context.h"

extern const char *const tn_env_forms[]; /* "shell", "systemd", "slurm", "docker"; NULL-terminated */
/* The text of one form; what it cannot say is talk (lib/log.h). A service and a container have none of the caller's environment:
 * their forms also hold what the user has set and the rest follows from, but not what debugging has left behind. -EINVAL if a value
 * cannot be written in it. The caller frees *ret. */
int tn_env_format(const struct tn_run *run, const char *form, char **ret, struct gt_err *err);
#endif
