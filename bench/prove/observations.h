/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_OBSERVATIONS_H
#define BN_OBSERVATIONS_H
/* What else was seen in the phases, for the receipt. */
#include "bench/prove/state.h"

/* [{key, from, to, when, phases}]: differences that nobody declared, within the phases and from one to the next. */
json_t *bn_prove_confounders(const struct bn_prove *p);
json_t *bn_prove_warnings(const struct bn_prove *p); /* [{code, text, hint, phases}]; no phases: all */
json_t *bn_prove_outliers(const struct bn_prove *p); /* {n, farthest: [those of bn_outliers(), with their phase]} */
#endif
