/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RANKS_H
#define TN_RANKS_H
/* Several processes of one command on this host, each a rank with CPUs, memory and GPU of its own. */
#include "tune/launch/context.h"

/* Start argv (program: its file) once per run, with the variables that torch.distributed and MPI-less programs read
 * (RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT; what the user has set of the last two is
 * kept). Waits for all; the first that fails ends the others. Signals are passed on. *ret_status is the exit status of
 * the first that failed (128 + signal if it was killed), else 0. With n = 1 it does not return but on failure: nobody
 * has to wait. */
int tn_ranks_run(const char *program, char *const *argv, struct tn_run *const *run, unsigned n, int *ret_status,
		 struct gt_err *err);
#endif
