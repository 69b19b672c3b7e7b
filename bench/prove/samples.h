/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_SAMPLES_H
#define BN_SAMPLES_H
/* The samples that the verdicts of a receipt follow from. */
#include "bench/prove/state.h"

json_t *bn_prove_samples(const struct bn_prove *p);
/* The index of the test in samples.tests that a change was judged by; -1: it was not measured. */
int bn_prove_test(const struct bn_prove *p, const struct bn_proof *f);
#endif
