/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PRUNE_H
#define BN_PRUNE_H
/* Pruning during training: gpubench train --prune. */
#include "lib/err.h"
#include "runtime/runtime.h"

struct bn_pruning {
	bool use; /* masks of weights */
	enum rt_sparsity how;
	double fraction; /* RT_UNSTRUCTURED: at the end of the schedule */
	double start;	 /* value before this run */
	bool structured; /* units are removed; excludes `use` */
	double remove[RT_UNIT_KINDS]; /* as rt_check_units(); 0: none */
};
/* Parses "0.5", "2:4" or "heads:1,neurons:0.5"; NULL: no pruning. */
int bn_prune_parse(const char *text, struct bn_pruning *ret, struct gt_err *err);
/* Checks that the units can be removed from the graph. */
int bn_prune_check_units(const struct bn_pruning *p, const struct rt_graph *g, struct gt_err *err);
const char *bn_unit_name(enum rt_unit_kind kind); /* "heads" */
/* Prints "pruning" of a training run's document. */
void bn_print_pruning(const json_t *pruning);
/*
 * Prunes after update `done` (from 1) of `total`. The fraction rises from `start` between a quarter and three quarters of the
 * updates, by the cubic schedule of Zhu and Gupta (To prune, or not to prune, 2017). 2:4 masks are set after a quarter.
 */
int bn_prune(const struct bn_pruning *p, struct rt_program *program, uint64_t done, uint64_t total, struct gt_err *err);
#endif
