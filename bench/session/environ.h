/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_ENVIRON_H
#define BN_ENVIRON_H
/* What else went on on the host while a launch ran: load, pressure, faults, steal, heat. It explains outliers; it is
 * never used to remove them. */
#include "lib/fsroot.h"
#include "lib/json.h"

struct bn_environ {
	double load1, psi_cpu, psi_memory, psi_io; /* PSI: share of the last 10 s, percent; NaN unknown */
	double ctxt, steal_s, pgfault, pgmajfault, thp_fault_alloc, thp_collapse, numa_hint_faults, compact_stall;
	double mem_available_bytes, dirty_bytes, anon_huge_bytes;
	double temp_c, cpu_mhz;					   /* hottest zone; mean over CPUs */
	double interrupts, throttled;				   /* since boot; throttled: over all packages */
	double suspended_s;					   /* since boot */
	double kernel_log_s;					   /* time stamp of the kernel log's last line */
};
void bn_environ_read(struct gt_fsroot *fs, struct bn_environ *ret);
/* Counters as differences, levels as they were at the end; kernel_log: the first new line of the kernel log that is a
 * warning or worse, where we may read it; suspended_s: only if the host slept. */
json_t *bn_environ_json(const struct bn_environ *before, const struct bn_environ *after);
#endif
