/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_PROVE_H
#define BN_PROVE_H
/*
 * Which of the changes help on this host? Total effect with A/A pairs; then each change: leave-one-out and add-one for up
 * to six, a fold-over design beyond; what helps is kept, and confirmed on fresh data. The result is a receipt.
 */
#include "bench/prove/state.h"

/* All phases; those that doc already holds are not measured again. Returns an exit status, or a negative errno. */
int bn_prove_run(struct bn_prove *p);
void bn_prove_clear(struct bn_prove *p);
#endif
