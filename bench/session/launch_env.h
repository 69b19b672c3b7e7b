/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LAUNCH_ENV_H
#define BN_LAUNCH_ENV_H
#include <stdbool.h>

/* Returns whether this variable, NAME or NAME=VALUE, changes how a launch runs. */
bool bn_changes_launch(const char *name);
#endif
