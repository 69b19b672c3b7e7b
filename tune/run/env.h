/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_ENV_H
#define TN_ENV_H
/* The environment of a launch in the formats of other launchers. */
#include "tune/launch/context.h"

extern const char *const tn_env_forms[]; /* "shell", "systemd", "slurm", "docker"; NULL-terminated */
/* Returns the text of one form. Settings that the form cannot express are printed as notes (lib/log.h). The forms of
 * services and containers also contain variables that the user set, because the other values depend on them. They omit
 * leftovers of debugging. Returns -EINVAL if a value cannot be written. The caller frees *ret. */
int tn_env_format(const struct tn_run *run, const char *form, char **ret, struct gt_err *err);
#endif
