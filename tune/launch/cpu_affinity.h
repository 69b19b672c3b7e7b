/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_BOUND_H
#define TN_BOUND_H
#include "tune/launch/context.h"

/* Has the launcher bound this rank to CPUs of its own, as srun with task/affinity and mpirun do unless told otherwise? "srun",
 * "mpirun" or "its launcher"; NULL: no, the CPUs that are allowed are those of all ranks: the cpuset's, or a mask that the launcher
 * itself has from taskset or numactl. Without a variable of the launcher that shows it, compares the mask with the launcher's own,
 * else with the cpuset. variable: the one that gave the rank its number; NULL: none did. */
const char *tn_bound_by(const struct tn_launch *c, const char *variable);
/* What this process could be given: its cpuset, or where that is not known what is online. */
const struct gt_set *tn_bound_all(const struct pr_host *h);
/* What `name` was in the environment of the launcher that set `variable` for us; NULL if it was not set. The caller frees it. False
 * if that is not known. */
bool tn_launcher_had(const struct tn_launch *c, const char *variable, const char *name, char **ret_value);
#endif
