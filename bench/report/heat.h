/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_HEAT_H
#define BN_HEAT_H
/* Series by node of the CPUs and node of the memory, ".cpu0-mem1", as tables whose cells are shaded. */
#include "bench/report/view.h"

/* Does the result hold such a series with more than one cell? */
bool bn_heat_any(const json_t *doc);
/* A table for each series and arm. A cell says its value and how many times worse than the best it is; its shade says
 * the latter again, on the same scale everywhere. */
void bn_heat_tables(struct bn_view *v, const json_t *doc);
#endif
