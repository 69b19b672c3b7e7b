/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_DOC_H
#define GT_CLI_DOC_H
/* Help and mdoc from the tables of options and commands. */
#include <stdio.h>
#include "lib/cli.h"

/* Prints the help of a command, or of the tool if cmd is NULL. all: with rare commands and options. */
void gt_cli_help(const struct gt_tool *tool, const struct gt_cmd *cmd, bool all, FILE *out);
/* Prints the sections COMMANDS, OPTIONS and EXIT STATUS in mdoc. */
void gt_cli_man(const struct gt_tool *tool, FILE *out);
#endif
