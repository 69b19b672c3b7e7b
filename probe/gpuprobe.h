/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPUPROBE_H
#define PR_GPUPROBE_H
/* The subcommands of gpuprobe. */
#include "lib/cli.h"

extern const struct gt_cmd pr_cmd_check, pr_cmd_topo, pr_cmd_capture, pr_cmd_explain, pr_cmd_list;
#endif
