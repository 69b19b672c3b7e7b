/* SPDX-License-Identifier: Apache-2.0 */
/* First touch of new memory: the kernel's time to allocate, clear and map a page. Huge pages have a direct effect. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include "bench/workload/workloads.h"

#define ROUNDS	12
#define WARMUP	2
#define BYTES	((size_t)128 << 20)
#define PAGE	4096

static int fault_run(struct bn_launch *l, struct gt_err *err)
{
	double ns[ROUNDS];
	size_t dirty = l->fault;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		double t0;

		if (p == MAP_FAILED)
			return gt_fail_errno(err, errno, "cannot map %zu MiB", BYTES >> 20);
		t0 = gt_now_s();
		for (size_t at = 0; at < BYTES; at += PAGE) {
			dirty += p[at + PAGE / 2]; /* the kernel guarantees zeroes */
			p[at] = 1;
		}
		ns[round] = (gt_now_s() - t0) / (double)(BYTES / PAGE) * 1e9;
		munmap(p, BYTES);
	}
	if (dirty)
		snprintf(l->wrong, sizeof(l->wrong), "new memory was not zero in %zu places", dirty);
	json_object_set_new(l->params, "bytes", json_integer((json_int_t)BYTES));
	bn_series(l, &bn_workload_fault, "", BN_EXPLORE, ns, ROUNDS, WARMUP, false);
	return 0;
}

static const char *const knobs[] = { "thp.enabled", "thp.defrag", "vm.overcommit_memory", NULL };

const struct bn_workload bn_workload_fault = {
	.id	   = "mem.fault",
	.summary   = "first touch of new memory, per 4 KiB",
	.unit	   = "ns",
	.direction = BN_LOWER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .02,
	.verifies  = "new memory is zero",
	.overhead  = "two clock readings per mapping; a touch is one load and one store",
	.knobs	   = knobs,
	.launch_s  = .8,
	.optional  = true,
	.run	   = fault_run,
};
