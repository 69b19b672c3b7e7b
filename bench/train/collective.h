/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_COLLECTIVE_H
#define BN_COLLECTIVE_H
/* Data that the ranks of a run exchange besides gradients. */
#include "lib/err.h"
#include "lib/json.h"

struct rt_comm;
/* Splits `all` rows in proportion to the ranks' speeds, at least one row each. The result is the same in all ranks.
 * Collective. */
int bn_train_split(struct rt_comm *c, double speed, uint64_t all, uint64_t *rows, struct gt_err *err);
/* Replaces *x by the sum over all ranks. Collective. */
int bn_train_sum(struct rt_comm *c, double *x, struct gt_err *err);
/* Returns { "rows", "home_node", "pages_at_home" (share): [of each rank], "allreduce_median_s_by_bytes": { "bytes":
 * seconds } }. Collective. */
struct rt_program;
int bn_train_measure_ranks(struct rt_comm *c, const struct rt_program *p, uint64_t rows, json_t **ret, struct gt_err *err);
#endif
