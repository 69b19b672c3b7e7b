/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_STAGES_H
#define BN_STAGES_H
#include "bench/train/run.h"

/* Fails with exit status 64 unless all ranks have the same options; the message has the values of two ranks. Collective. */
int bn_train_agree(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err);
/* Sets r->stages to the document's "pipeline". Does nothing without a pipeline. Collective. */
int bn_train_measure_stages(struct bn_training *r, struct gt_err *err);
#endif
