/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TN_SHARE_H
#define TN_SHARE_H
#include "probe/host/host.h"

/* Which of the CPUs in *pool rank `index` of `count` gets; they replace the pool. Whole cores with all their threads that are in
 * it, no core twice and none left over, and as far as the numbers allow CPUs of one node only. With more ranks than cores
 * they share some. */
void tn_share(const struct pr_host *h, unsigned index, unsigned count, struct gt_set *pool);
#endif
