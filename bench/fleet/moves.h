/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_MOVES_H
#define BN_MOVES_H
#include <stdbool.h>

/* Is the key one of the knobs that the workload says should move it? */
bool bn_moves(const char *workload, const char *key);
#endif
