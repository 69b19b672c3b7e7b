/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_CPU_PARTITION_H
#define TN_CPU_PARTITION_H
#include "probe/host/host.h"

/* Reduces *pool to the CPUs of rank `index` of `count`. A rank gets whole cores with all their threads in the pool. No
 * core is assigned twice or left over. As far as the numbers allow, all CPUs of a rank are of one node. More ranks than
 * cores share cores. */
void tn_cpu_partition(const struct pr_host *h, unsigned index, unsigned count, struct gt_set *pool);
#endif
