/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_LOADER_RACE_H
#define BN_LOADER_RACE_H
/* Races of the arguments of PyTorch's DataLoader: loader.workers, loader.prefetch and loader.pin. The values reach the
 * command as variables that tune/python/sitecustomize.py reads. */
#include "bench/prove/state.h"

/* Returns the race's id as a variable, such as "env.GPUTUNE_LOADER_WORKERS", and the default of DataLoader. NULL: id is
 * no argument of DataLoader. */
const char *bn_loader_variable(const char *id, const char **ret_default);
/* Returns the option of gputune run for this variable and value, such as "workers=2". NULL: another variable. The caller
 * frees it. */
char *bn_loader_option(const char *id, const char *value);
/* Checks the values for this host and command. A number of workers above the usable CPUs is only a warning. */
int bn_loader_check(const struct pr_host *host, const char *id, const struct gt_strv *values, char *const *argv,
		    struct gt_err *err);
/* Makes the module part of both arms: sets variables of this process, which the launches inherit. */
int bn_loader_enable(struct gt_fsroot *fs, const struct bn_race *races, size_t n, struct gt_err *err);
/* Returns the part of the time in which the main thread waited for batches, without and with the proved changes:
 * {"before": 0.8, "after": 0.1}. NULL: the launches of the confirmation have not reported it. */
json_t *bn_loader_fetch_json(const struct bn_prove *p);
#endif
