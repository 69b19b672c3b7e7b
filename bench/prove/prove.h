/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_H
#define BN_PROVE_H
/*
 * Determines which changes help on this host. First the total effect with A/A pairs. Then each change: leave-one-out
 * and add-one for up to six changes, a fold-over design for more. Changes that help are kept and confirmed on new data.
 * The result is a receipt.
 */
#include "bench/prove/state.h"

/* Runs all phases; complete phases in doc are not measured again. Returns an exit status or a negative errno. */
int bn_prove_run(struct bn_prove *p);
void bn_prove_clear(struct bn_prove *p);
#endif
