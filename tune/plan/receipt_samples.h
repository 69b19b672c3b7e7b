/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_RECEIPT_SAMPLES_H
#define TN_RECEIPT_SAMPLES_H
#include "lib/err.h"
#include "lib/json.h"

/* Checks that effects, intervals and verdicts of a receipt follow from its samples. Returns -EINVAL or -EBADMSG with a
 * sentence if not. Pure. */
int tn_receipt_check_samples(const json_t *doc, struct gt_err *err);
#endif
