/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RACE_H
#define BN_RACE_H
#include "bench/prove/state.h"

/* Runs the races. Each change then has the winning value, or is off. doc.races has the details. Returns as
 * bn_phase_run(). */
int bn_races_run(struct bn_prove *p);
#endif
