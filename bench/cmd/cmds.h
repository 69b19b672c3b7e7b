/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CMDS_H
#define BN_CMDS_H
#include "lib/cli.h"

extern const struct gt_cmd bn_cmd_run, bn_cmd_compare, bn_cmd_report, bn_cmd_selftest, bn_cmd_ab, bn_cmd_resume, bn_cmd_fleet,
	bn_cmd_history, bn_cmd_ladder;
#endif
