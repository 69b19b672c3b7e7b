/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by node in the memory workloads: the kernel reports the node of each page; it is not assumed. */
#include <errno.h>
#include <numa.h>
#include <string.h>
#include <sys/mman.h>
#include "bench/workload/node.h"
#include "tests/unit/check_bench.h"

#define BYTES ((size_t)8 << 20)

START_TEST(pages_on_another_node_are_detected)
{
	struct bn_node_pairs pairs;
	struct gt_err err = { 0 };
	void *page;
	int on = -1;
	char *p;

	bn_node_pairs(&pairs);
	ck_assert_uint_gt(pairs.n, 0);
	p = bn_node_map(BYTES, pairs.v[0].mem_node, false);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, BYTES);
	page = p;
	if (numa_available() < 0 || numa_move_pages(0, 1, &page, NULL, &on, 0) < 0 || on < 0) {
		munmap(p, BYTES); /* a sandbox: the kernel cannot be asked */
		bn_node_pairs_clear(&pairs);
		return;
	}
	ck_assert_int_eq(bn_node_placed(p, BYTES, on, &err), 0);
	ck_assert_int_eq(bn_node_placed(p, BYTES, on + 1, &err), -ENOMEM);
	ck_assert_ptr_nonnull(strstr(err.msg, "only 0 % of the memory"));
	munmap(p, BYTES);
	bn_node_pairs_clear(&pairs);
}
END_TEST

TCase *bench_node_case(void)
{
	TCase *tc = tcase_create("node");

	tcase_add_test(tc, pages_on_another_node_are_detected);
	return tc;
}
