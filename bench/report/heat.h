/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_HEAT_H
#define BN_HEAT_H
/* Series by node of the CPUs and node of the memory, ".cpu0-mem1", as tables whose cells are shaded. */
#include "bench/report/view.h"

/* Does the result hold such a series with more than one cell? */
bool bn_heat_any(const json_t *doc);
/* Adds a table for each series and arm. A cell has its value and how many times worse than the best it is; the shade shows
 * the same, on one scale for all tables. */
void bn_heat_tables(struct bn_view *v, const json_t *doc);
#endif
