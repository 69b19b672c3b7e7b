/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CHECK_OPTIONS_H
#define BN_CHECK_OPTIONS_H
#include "bench/train/options.h"
#include "lib/err.h"
#include "runtime/runtime.h"

/* Fills in the model's defaults and checks the options. Fails with exit status 64. */
int bn_train_check(const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err);
/* The same, and checks that the output files can be written. */
int bn_train_resolve(const struct bn_train_options *o, struct bn_train_options *ret, struct gt_err *err);
/* Returns the precision of --amp, --master and the options of fp8. */
struct rt_precision bn_train_precision(const struct bn_train_options *o);
/* Adds a warning about keys of config.json whose effect is not known. */
void bn_train_warn_of_keys(const struct bn_train_options *o, json_t *warnings);
#endif
