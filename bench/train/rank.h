/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RANK_H
#define BN_RANK_H
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"

struct rt_comm;
/* Runs one rank's part of a training run; comm NULL: a single process. Only the first rank gets a document. */
int bn_train_rank(const struct bn_train_options *o, struct rt_comm *comm, json_t **ret, struct gt_err *err);
#endif
