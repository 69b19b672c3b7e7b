/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_MAIN_H
#define GT_CLI_MAIN_H
#include "lib/cli.h"

/* The main() of a tool: parses, opens the root, runs the command, prints the error, returns the exit status. */
int gt_cli_main(const struct gt_tool *tool, int argc, char **argv);
#endif
