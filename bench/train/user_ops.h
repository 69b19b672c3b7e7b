/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_USER_OPS_H
#define BN_USER_OPS_H
/*
 * GELU (tanh form) and softmax over the last dimension, each written in three ways: with the basic ops of the library, as one
 * user op (struct rt_user_op), and as the library's own op.
 */
#include "runtime/runtime.h"

enum bn_op_way { BN_BASIC_OPS, BN_USER_OP, BN_LIBRARY_OP, BN_OP_WAYS };
extern const char *const bn_op_way_names[BN_OP_WAYS + 1]; /* NULL-terminated */

struct bn_op_function {
	const char *name;
	struct rt_node *(*declare[BN_OP_WAYS])(struct rt_graph *g, struct rt_node *x);
	/* Computes the definition for one row x (cols) in double: y, and dx from dy. dy and dx may be NULL. */
	void (*define)(const double *x, const double *dy, int64_t cols, double *y, double *dx);
};
extern const struct bn_op_function bn_op_functions[]; /* ends with a function without a name */
#endif
