/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_GPU_MONITOR_H
#define BN_GPU_MONITOR_H
/*
 * GPU readings during a launch, from NVML (probe/watch/gpu_monitor.h). They are recorded with the samples, explain
 * outliers and are never used to remove them. A child process reads them at most ten times a second; launches do not
 * wait for it. Without NVML nothing is recorded. If NVML fails or hangs, one sentence is recorded and it is not used
 * again.
 */
#include "lib/buf.h"
#include "lib/helper.h"
#include "lib/json.h"

struct bn_gpu_monitor {
	struct gt_helper helper;
	void *state;
	bool off;	 /* NVML failed; not used again */
	bool running;
	char failure[256]; /* the reason, if it should be reported; otherwise "" */
};
#define BN_GPU_MONITOR_INIT { .helper = GT_HELPER_INIT }

void bn_gpu_monitor_begin(struct bn_gpu_monitor *g);
/* Returns the child's answer as a new reference, or NULL. */
json_t *bn_gpu_monitor_end(struct bn_gpu_monitor *g);
void bn_gpu_monitor_close(struct bn_gpu_monitor *g);

/*
 * Extracts the launch's "gpu" and its part of "env" from the monitor's answer, for the GPUs that were used and are in
 * `visible` (PCI addresses; NULL: all). env gets the worst value over these GPUs: gpu_sm_mhz and gpu_memory_mhz (lowest
 * mean), gpu_power_w, gpu_temp_c, gpu_power_cap_pct, gpu_heat_pct, gpu_brake_pct and gpu_slowdown_pct (share of the
 * time in which that limit reduced the clocks), gpu_clock_pct (of the highest clock) and gpu_error, a sentence. It also
 * gets their sum gpu_energy_j, by NVML's energy counters.
 * *ret_gpu is NULL if no GPU was used.
 */
void bn_gpu_monitor_record(const json_t *answer, const struct gt_strv *visible, json_t **ret_gpu, json_t *env);
/* Adds "gpu" and its part of "env" to the launch's document. If readings are missing, adds the reason once as
 * "gpu_trouble". Takes ownership of the answer. */
void bn_gpu_monitor_store(struct bn_gpu_monitor *g, json_t *answer, const struct gt_strv *visible, json_t *doc);
#endif
