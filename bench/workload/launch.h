/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LAUNCH_H
#define BN_LAUNCH_H
/* One launch, seen from inside: run a workload in this process and answer with its document (gpubench-launch/1). */
#include "bench/workload/workload.h"

int bn_launch_run(const struct bn_workload *w, struct bn_launch *l, json_t **ret_doc, struct gt_err *err);
#endif
