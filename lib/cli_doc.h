/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CLI_DOC_H
#define GT_CLI_DOC_H
/* What the option tables say about themselves. */
#include "lib/cli.h"

extern const struct gt_opt *const gt_cli_common_opts; /* ends with { 0 } */
void gt_cli_help(const struct gt_tool *tool, const struct gt_cmd *cmd, FILE *out); /* cmd NULL: of the whole tool */
void gt_cli_man(const struct gt_tool *tool, FILE *out); /* COMMANDS, OPTIONS and EXIT STATUS in mdoc */
int gt_cli_completion(const struct gt_tool *tool, const char *shell, FILE *out); /* -EINVAL: no such shell */
#endif
