/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PR_GPU_MONITOR_H
#define PR_GPU_MONITOR_H
/*
 * Records the state of the GPUs while a workload runs: clocks, the reasons that limit them, power, temperature. A child
 * process takes the readings, so that the measuring process never waits. One measurement consists of two requests to
 * gt_helper: the first begins it and returns {"code", …}, the second ends it.
 */
#include "lib/json.h"

#define PR_GPU_MONITOR_PERIOD_S 0.1 /* initial time between readings */
/* Maximum number of points of one measurement. If there are more, every second point is dropped and the period doubles. */
#define PR_GPU_MONITOR_POINTS 24

void *pr_gpu_monitor_state(void); /* returns the state; the caller frees it */
/*
 * For gt_helper_start(). The second request returns:
 * { "code", "error", "no_library" (see pr_gpu_readings_count()), "seconds", "looks" (readings), "nvml_s" (time in NVML calls),
 *   "cpu_s" (of this child), "cards": [{ "index", "pci", "name", "error" (a reading failed), "looks", "used_looks" (readings with
 *   the GPU in use), "sm_max_mhz", "power_limit_w", "points": { "t_s": […], "sm_mhz": […], "memory_mhz", "power_w",
 *   "temperature_c", "reasons" (NVML's mask; null if unknown) }, and over the readings with the GPU in use: "sm_mhz",
 *   "memory_mhz", "power_w" (means), "sm_min_mhz", "power_max_w", "temperature_c" (highest), "held_pct": { "software power cap":
 *   share of these readings … } }] }
 */
int pr_gpu_monitor_serve(void *state);
#endif
