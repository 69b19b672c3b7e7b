/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_DOC_H
#define GT_CLI_DOC_H
/* Documentation generated from the option tables. */
#include <stdio.h>
#include "lib/cli.h"

void gt_cli_help(const struct gt_tool *tool, const struct gt_cmd *cmd, FILE *out); /* cmd NULL: help of the whole tool */
void gt_cli_man(const struct gt_tool *tool, FILE *out); /* prints COMMANDS, OPTIONS and EXIT STATUS in mdoc */
#endif
