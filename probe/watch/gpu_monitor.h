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

void *pr_gpu_monitor_state(void); /* to be freed */
/*
 * For gt_helper_start(). The answer to the second question:
 * { "code", "error", "no_library" (see pr_gpu_readings_count()), "seconds", "looks" (readings), "nvml_s" (time in NVML calls),
 *   "cpu_s" (of this child), "cards": [{ "index", "pci", "name", "error" (a reading failed), "looks", "used_looks" (readings with
 *   the GPU in use), "sm_max_mhz", "power_limit_w", "points": { "t_s": […], "sm_mhz": […], "memory_mhz", "power_w",
 *   "temperature_c", "reasons" (NVML's mask; null if unknown) }, and over the readings with the GPU in use: "sm_mhz",
 *   "memory_mhz", "power_w" (means), "sm_min_mhz", "power_max_w", "temperature_c" (highest), "held_pct": { "software power cap":
 *   share of these readings … } }] }
 */
int pr_gpu_monitor_serve(void *state);
#endif
