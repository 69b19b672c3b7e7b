/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LAUNCH_H
#define BN_LAUNCH_H
/* Runs a workload in this process and returns its document (gpubench-launch/1). */
#include "bench/workload/workload.h"

int bn_launch_run(const struct bn_workload *w, struct bn_launch *l, json_t **ret_doc, struct gt_err *err);
#endif
