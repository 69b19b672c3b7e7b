/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ENVIRON_H
#define BN_ENVIRON_H
/* The state of the host during a launch: load, pressure, faults, steal time, temperature. It explains outliers and is
 * never used to remove them. */
#include "lib/fsroot.h"
#include "lib/json.h"

struct bn_environ {
	double load1, psi_cpu, psi_memory, psi_io; /* PSI: share of the last 10 s, percent; NaN: unknown */
	double ctxt, steal_s, pgfault, pgmajfault, thp_fault_alloc, thp_collapse, numa_hint_faults, compact_stall;
	double mem_available_bytes, dirty_bytes, anon_huge_bytes;
	double temp_c, cpu_mhz;					   /* hottest zone; mean over CPUs */
	double interrupts, throttled;				   /* counts since boot; throttled: sum over all packages */
	double suspended_s;					   /* time since boot */
	double kernel_log_s;					   /* time stamp of the last line of the kernel log */
};
void bn_environ_read(struct gt_fsroot *fs, struct bn_environ *ret);
/* Counters are differences, levels are the values at the end. kernel_log: the first new message of level warning or
 * worse, if the log is readable. suspended_s: only if the host was suspended. */
json_t *bn_environ_json(const struct bn_environ *before, const struct bn_environ *after);
#endif
