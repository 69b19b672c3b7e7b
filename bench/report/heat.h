/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_HEAT_H
#define BN_HEAT_H
/* Series by node of the CPUs and node of the memory, ".cpu0-mem1", as tables with shaded cells. */
#include "bench/report/view.h"

/* Returns whether the result has such a series with more than one cell. */
bool bn_heat_any(const json_t *doc);
/* Adds a table for each series and arm. A cell has its value and the factor to the best value. The shade shows the same
 * factor, on one scale for all tables. */
void bn_heat_tables(struct bn_view *v, const json_t *doc);
#endif
