/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BN_CPU_LOAD_H
#define BN_CPU_LOAD_H
/* Who else uses the CPUs of this host right now? Asked before anything is measured. */
#include "lib/fsroot.h"

#define BN_BUSY_TOP 3
struct bn_cpu_load {
	double share;		  /* of all CPUs that others used while we looked, 0 to 1; NaN: not known */
	double of[BN_BUSY_TOP];	  /* the same of the busiest programs, most first; 0: no further one */
	char name[BN_BUSY_TOP][32]; /* as the kernel calls them, printable; processes of one name are added up */
};
/* Looks for `seconds`; processes that both began and ended meanwhile are in share and in no name. */
void bn_cpu_load_read(struct gt_fsroot *fs, double seconds, struct bn_cpu_load *ret);
#endif
