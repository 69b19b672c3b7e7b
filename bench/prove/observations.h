/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OBSERVATIONS_H
#define BN_OBSERVATIONS_H
/* Other observations in the phases, for the receipt. */
#include "bench/prove/state.h"

/* [{key, from, to, when, phases}]: undeclared differences within the phases and between them */
json_t *bn_prove_confounders(const struct bn_prove *p);
json_t *bn_prove_warnings(const struct bn_prove *p); /* [{code, text, hint, phases}]; phases empty: all phases */
json_t *bn_prove_outliers(const struct bn_prove *p); /* {n, farthest: [members of bn_outliers() with their phase]} */
#endif
