/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OP_H
#define BN_OP_H
/* gpubench op: time and error of one function of user_ops.h, forward and backward. */
#include "lib/err.h"
#include "lib/json.h"

/* Zero means the default; for warmup it is UINT64_MAX. */
struct bn_op_options {
	const char *function; /* of bn_op_functions */
	const char *way;      /* of bn_op_way_names; NULL: library */
	const char *device;   /* "cpu" or "cuda"; NULL: cpu */
	uint64_t rows, cols, steps, warmup, threads, seed;
	uint64_t memory_limit_bytes;
};
/*
 * Returns the document of bench/schema/gpubench-op-1.json. A step computes y = function(x), the loss sum(y weights), and dx.
 * Exit status 6: y or dx differs from the definition by more than the tolerance.
 */
int bn_op(const struct bn_op_options *o, json_t **ret, struct gt_err *err);
const char *bn_op_word(size_t i); /* name of function i, or NULL */
#endif
