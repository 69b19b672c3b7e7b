/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_OUTSIDE_H
#define TN_OUTSIDE_H
/* Settings that a container cannot change: the form in which its start or its host sets them. */
#include "tune/plan/plan.h"

/* Returns {"docker": [LINE...], "kubernetes": [...], "slurm": [...], "systemd": [...], "host": [...]} for the items that
 * this container cannot change. NULL: there is none. */
json_t *tn_outside_json(const struct tn_plan *plan, const struct pr_host *host);
#endif
