/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_CPU_PARTITION_H
#define TN_CPU_PARTITION_H
#include "probe/host/host.h"

/*
 * Reduces *pool to the CPUs of rank `index` of `count`. A rank gets whole cores with all their threads in the pool.
 * Every core belongs to exactly one rank. If the numbers allow it, all CPUs of a rank are on one node. If there are more
 * ranks than cores, ranks share cores.
 */
void tn_cpu_partition(const struct pr_host *h, unsigned index, unsigned count, struct gt_set *pool);
#endif
