/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_STAGES_H
#define BN_STAGES_H
#include "bench/train/run.h"

/* Sets r->stages to the document's "pipeline". Does nothing without a pipeline. Collective. */
int bn_train_measure_stages(struct bn_training *r, struct gt_err *err);
#endif
