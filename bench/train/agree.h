/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_AGREE_H
#define BN_AGREE_H
#include "bench/train/options.h"
#include "lib/err.h"
#include "runtime/transport/comm.h"

/*
 * Fails with exit status 64 unless all ranks have the same options and read the same files; the message has the values of two
 * ranks. Files are compared by size and parts of their contents, so their paths may differ. Collective.
 */
int bn_train_agree(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err);
#endif
