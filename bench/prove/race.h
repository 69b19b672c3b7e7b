/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RACE_H
#define BN_RACE_H
#include "bench/prove/state.h"

/* Run them; each change then has the value that won, or is none. doc.races says how. As bn_phase_run(). */
int bn_races_run(struct bn_prove *p);
#endif
