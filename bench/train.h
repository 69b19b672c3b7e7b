/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_TRAIN_H
#define BN_TRAIN_H
/* gpubench train MODEL: one training run in this process, with the options and fields of tests/peers/torch_train.py. */
#include "lib/cli.h"

extern const struct gt_cmd bn_cmd_train;
#endif
