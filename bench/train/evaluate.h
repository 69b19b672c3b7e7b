/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_EVALUATE_H
#define BN_EVALUATE_H
/* Loss and accuracy of programs that compute logits, on held-out data. */
#include "bench/train/models.h"
#include "bench/train/options.h"
#include "lib/err.h"
#include "lib/json.h"

struct bn_score {
	double loss, accuracy; /* means over the rows */
};
/*
 * Evaluates n programs of model m on the same batches. logits[i]: memory for the logits of program i. *ret_rows: the number of
 * predictions. The data must exist (bn_train_data_wanted()).
 */
int bn_evaluate(const struct bn_model *m, const struct bn_train_options *o, struct rt_program *const *programs, float **logits,
		int n, struct bn_score *ret, int64_t *ret_rows, struct gt_err *err);
#endif
