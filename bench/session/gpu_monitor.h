/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_GPU_MONITOR_H
#define BN_GPU_MONITOR_H
/*
 * What the cards did while a launch ran, by NVML (probe/watch/gpu_monitor.h): recorded beside its samples, it explains outliers and
 * is never used to remove them. The looks are a child's, at most ten a second; a launch waits for none of them. Without NVML
 * nothing is recorded; with one that fails or hangs a sentence is, and it is asked no more.
 */
#include "lib/buf.h"
#include "lib/helper.h"
#include "lib/json.h"

struct bn_gpu_monitor {
	struct gt_helper helper;
	void *state;
	bool off;	 /* not asked any more */
	bool running;
	char trouble[256]; /* why, when that is worth a sentence; "" otherwise */
};
#define BN_GPU_MONITOR_INIT { .helper = GT_HELPER_INIT }

void bn_gpu_monitor_begin(struct bn_gpu_monitor *g);
/* Returns the child's answer, a new reference, or NULL where there is none. */
json_t *bn_gpu_monitor_end(struct bn_gpu_monitor *g);
void bn_gpu_monitor_close(struct bn_gpu_monitor *g);

/*
 * The launch's "gpu" and its part of "env", of what the gauge answered: the cards that were used and are among `visible` (PCI
 * addresses; NULL: any). env has, of the worst of them: gpu_sm_mhz and gpu_memory_mhz (lowest mean), gpu_power_w, gpu_temp_c,
 * gpu_power_cap_pct, gpu_heat_pct, gpu_brake_pct, gpu_slowdown_pct (share of the time that held its clocks), gpu_clock_pct (of
 * its highest clock) and gpu_error, a sentence. *gpu is NULL when no card was used.
 */
void bn_gpu_monitor_record(const json_t *answer, const struct gt_strv *visible, json_t **ret_gpu, json_t *env);
/* Into the launch's document: "gpu", its part of "env", and why nothing is known, once, as "gpu_trouble". Takes the answer. */
void bn_gpu_monitor_tell(struct bn_gpu_monitor *g, json_t *answer, const struct gt_strv *visible, json_t *doc);
#endif
