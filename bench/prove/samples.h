/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SAMPLES_H
#define BN_SAMPLES_H
/* The samples that determine the verdicts of a receipt. */
#include "bench/prove/state.h"

json_t *bn_prove_samples(const struct bn_prove *p);
/* Returns the index in samples.tests of the test that decided about a change, or -1 if it was not measured. */
int bn_prove_test(const struct bn_prove *p, const struct bn_proof *f);
#endif
