/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_AGREE_H
#define BN_AGREE_H
#include "bench/train/options.h"
#include "lib/err.h"
#include "runtime/transport/comm.h"

/* Fails with exit status 64 unless all ranks have the same options; the message has the values of two ranks. Collective. */
int bn_train_agree(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err);
#endif
