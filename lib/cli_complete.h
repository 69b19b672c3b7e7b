/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_COMPLETE_H
#define GT_CLI_COMPLETE_H
#include <stdio.h>
#include "lib/cli.h"

/* Prints the completion script for bash or zsh. Returns -EINVAL for another shell. */
int gt_cli_completion(const struct gt_tool *tool, const char *shell, FILE *out);
#endif
