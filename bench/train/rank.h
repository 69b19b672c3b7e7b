/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RANK_H
#define BN_RANK_H
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"
#include "runtime/runtime.h"

struct rt_comm;
/* One rank's part of a run; comm NULL: alone. The first rank has the document, the others none. */
int bn_train_rank(const struct bn_train_options *o, struct rt_comm *comm, json_t **ret, struct gt_err *err);
/* The options with the model's defaults filled in and checked, and the files that will be written tried. */
int bn_train_resolve(const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err);
/* What --amp, --master and the options of fp8 choose. */
struct rt_precision bn_train_precision(const struct bn_train_options *o);
#endif
