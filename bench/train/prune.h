/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PRUNE_H
#define BN_PRUNE_H
/* Pruning during training: gpubench train --prune. */
#include "lib/err.h"
#include "runtime/runtime.h"

struct bn_pruning {
	bool use;
	enum rt_sparsity how;
	double fraction; /* RT_UNSTRUCTURED: at the end of the schedule */
	double start;	 /* before this run */
};
/* Parses "0.5" or "2:4"; NULL: no pruning. */
int bn_prune_parse(const char *text, struct bn_pruning *ret, struct gt_err *err);
/*
 * Prunes after update `done` (from 1) of `total`. The fraction rises from `start` between a quarter and three quarters of the
 * updates, by the cubic schedule of Zhu and Gupta (To prune, or not to prune, 2017). 2:4 masks are set after a quarter.
 */
int bn_prune(const struct bn_pruning *p, struct rt_program *program, uint64_t done, uint64_t total, struct gt_err *err);
#endif
