/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CMDS_H
#define BN_CMDS_H
#include "lib/cli.h"
#include "lib/json.h"

extern const struct gt_cmd bn_cmd_run, bn_cmd_compare, bn_cmd_report, bn_cmd_selftest, bn_cmd_ab, bn_cmd_resume, bn_cmd_fleet,
	bn_cmd_history, bn_cmd_ladder, bn_cmd_infer,
	bn_cmd_prove, bn_cmd_train, bn_cmd_check_device, bn_cmd_data, bn_cmd_launch, bn_cmd_list;

/* Take up the session of prove that doc (of file path) holds; out: where it goes on, NULL: path; minutes: its limit from now on,
 * 0: the one that it has. */
int bn_prove_resume(struct gt_cli *cli, json_t *doc, const char *path, const char *out, double minutes);
#endif
