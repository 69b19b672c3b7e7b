/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_KNOB_AFFECTS_H
#define BN_KNOB_AFFECTS_H
#include <stdbool.h>

/* Returns whether the key is one of the workload's knobs, which should affect it. */
bool bn_knob_affects(const char *workload, const char *key);
#endif
