/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RUN_H
#define TN_RUN_H
/* `gputune run`: prepares the environment of a command on this host and starts it. */
#include "tune/run/options.h"
#include "lib/json.h"

#define TN_RUN_SCHEMA "gputune-run/1"

/* Prepares a launch on this host. Allocators are tested in a child process first. On a root that is not live no process
 * is started, and the reason says so. host may be NULL. */
int tn_run_make(struct gt_fsroot *fs, const struct pr_host *host, const struct tn_run_opts *opts, struct tn_run **ret,
		struct gt_err *err);
/* Applies environment, CPUs and memory policy to this process, before exec. Uses only system calls on the process
 * itself. If the kernel refuses one (for example in a container without SYS_NICE), that is a warning, not a failure. */
int tn_run_enter(const struct tn_run *run, struct gt_err *err);
json_t *tn_run_to_json(const struct tn_run *run);
#endif
