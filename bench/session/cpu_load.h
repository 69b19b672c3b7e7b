/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CPU_LOAD_H
#define BN_CPU_LOAD_H
/* CPU use by other programs, measured before a session. */
#include "lib/fsroot.h"

#define BN_CPU_LOAD_TOP 3
struct bn_cpu_load {
	double share;		  /* part of all CPU time that other programs used during the measurement, 0 to 1; NaN: unknown */
	double of[BN_CPU_LOAD_TOP];	  /* shares of the busiest programs, in descending order; 0: no further program */
	char name[BN_CPU_LOAD_TOP][32]; /* names from the kernel, made printable; processes with the same name are added up */
};
/* Measures for `seconds`. A process that starts and ends in that time counts in share but has no name. */
void bn_cpu_load_read(struct gt_fsroot *fs, double seconds, struct bn_cpu_load *ret);
#endif
