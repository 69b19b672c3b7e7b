/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPU_MONITOR_H
#define PR_GPU_MONITOR_H
/*
 * What the cards did while something else ran: clocks, what held them, power, temperature, looked at now and then by a
 * child process, so that who measures waits for nobody. Two questions of gt_helper make one measurement: the first is
 * answered with {"code", …} and begins it, the second ends it.
 */
#include "lib/json.h"

#define PR_GAUGE_PERIOD_S 0.1 /* from one look to the next, at first */
#define PR_GAUGE_POINTS	  24  /* that are kept of one measurement: each time that there are more, every second one goes and
				 the period doubles */

void *pr_gauge_state(void); /* to be freed */
/*
 * For gt_helper_start(). The answer to the second question:
 * { "code", "error", "no_library" as pr_cards_count() says, "seconds", "looks", "nvml_s" (spent in NVML's calls), "cpu_s" (of
 * this child), "cards": [{ "index", "pci", "name", "error" (a look failed: with its sentence), "looks", "used_looks" (that did
 * not find it idle), "sm_max_mhz", "power_limit_w", "points": { "t_s": […], "sm_mhz": […], "memory_mhz", "power_w",
 * "temperature_c", "reasons" (NVML's mask): null where it was not told } , and of the looks that found it used: "sm_mhz",
 * "memory_mhz", "power_w" (means), "sm_min_mhz", "power_max_w", "temperature_c" (highest), "held_pct": { "software power cap":
 * share of the looks … } }] }
 */
int pr_gauge_serve(void *state);
#endif
