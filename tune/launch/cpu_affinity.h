/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_CPU_AFFINITY_H
#define TN_CPU_AFFINITY_H
#include "tune/launch/context.h"

/* Returns "srun", "mpirun" or "its launcher" if the launcher bound this rank to CPUs of its own. srun with
 * task/affinity and mpirun do so by default. NULL: it did not. The allowed CPUs are then those of all ranks, from a cpuset or
 * from a mask that taskset or numactl set for the launcher. If no variable of the launcher shows a binding, compares the mask
 * with the launcher's own, else with the cpuset. variable: the one that gave the rank its number; NULL: there is none. */
const char *tn_affinity_launcher(const struct tn_launch *c, const char *variable);
/* Returns the CPUs that this process could be allowed to use: its cpuset, or all online CPUs if the cpuset is unknown. */
const struct gt_set *tn_possible_cpus(const struct pr_host *h);
/*
 * Returns the command line of the launcher that set `variable`, its words separated by blanks. NULL: unknown. The caller
 * frees it.
 */
char *tn_launcher_command(const struct tn_launch *c, const char *variable);
/* Gets the value of `name` in the environment of the launcher that set `variable`; *ret_value NULL: not set there. The
 * caller frees it. Returns false if that environment is unknown. */
bool tn_launcher_had(const struct tn_launch *c, const char *variable, const char *name, char **ret_value);
#endif
