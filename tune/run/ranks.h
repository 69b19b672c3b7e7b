/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANKS_H
#define TN_RANKS_H
/* Several processes of one command on this host. Each is a rank with its own CPUs, memory and GPU. */
#include "tune/launch/context.h"

/* Starts argv (program: its file) once per run with the variables of torch.distributed: RANK, LOCAL_RANK, WORLD_SIZE,
 * LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT. If the user set one of the last two, it stays. Waits for all ranks.
 * The first one that fails ends the others. Signals are forwarded. *ret_status is the exit status of the first rank
 * that failed (128 + signal if it was killed), else 0. With n = 1 it returns only on failure, because the process
 * becomes the command. */
int tn_ranks_run(const char *program, char *const *argv, struct tn_run *const *run, unsigned n, int *ret_status,
		 struct gt_err *err);
#endif
