/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_RATES_H
#define BN_RATES_H
/* Rates of a rank, for predictions. */
#include "lib/err.h"
#include "runtime/runtime.h"

struct bn_rates {
	struct rt_rates rank;
	double link_bytes_per_s; /* bytes per second that a rank sends in a collective or a message */
	double latency_s;	 /* latency of a collective of a few bytes */
};
/* Measures the rates while `ranks` processes work on this host at the same time. Scales them if the CPUs cannot run so many.
 * threads: number of each rank; 0: its share of the CPUs. Call it before this process runs an OpenMP team. */
int bn_measure_rates(uint64_t ranks, uint64_t threads, struct bn_rates *ret, struct gt_err *err);
/* Returns the rates of a GPU that is not in this host: an H100 with NVLink, or the card for PCIe. */
struct bn_rates bn_gpu_rates(bool nvlink);
#endif
