/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_MOVES_H
#define BN_MOVES_H
#include <stdbool.h>

/* Returns whether the key is one of the workload's knobs, which should affect it. */
bool bn_knob_affects(const char *workload, const char *key);
#endif
