/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between the memory of every NUMA node and every visible CUDA device, pinned and pageable, in both directions.
 * gpu.copy measures what the first device reaches; this measures the bandwidth of each path between a node and a
 * device. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "bench/workload/node.h"
#include "bench/workload/workloads.h"
#include "runtime/cuda/meter.h"

#define REPS	  10
#define WARMUP	  2
#define MAX_BYTES ((size_t)64 << 20)
#define DEVICES	  16

static int both_ways(struct bn_launch *l, struct rt_meter *m, int device, int node, size_t bytes, bool pinned,
		     struct gt_err *err)
{
	static const char *const ways[] = { "to", "from" };
	char *host = bn_node_map(bytes, node, false);
	double s[REPS];
	int r;

	if (!host)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", bytes >> 20);
	memset(host, 0, bytes);
	r = bn_node_placed(host, bytes, node, err);
	if (!r && pinned)
		r = rt_meter_pin(m, host, bytes, err);
	for (int way = RT_COPY_TO; !r && way <= RT_COPY_FROM; way++) {
		gt_autofree char *suffix =
			gt_xasprintf(".%s.%s.gpu%d-mem%d", pinned ? "pinned" : "pageable", ways[way], device, node);

		r = rt_meter_copy(m, (enum rt_meter_copy)way, host, bytes, pinned, l->fault != 0, REPS, s, err);
		for (int i = 0; i < REPS; i++)
			s[i] = (double)bytes / s[i] / 1e9;
		if (!r)
			bn_series(l, &bn_workload_gpu_matrix, suffix, BN_EXPLORE, s, REPS, WARMUP, false);
	}
	if (pinned)
		rt_meter_unpin(m, host);
	munmap(host, bytes);
	return r;
}

/* Returns the nodes with memory that this process may use, ascending. The pairs list each of them once per CPU node. */
static size_t nodes_of(int *node, size_t most)
{
	struct bn_node_pairs pairs;
	size_t n = 0;

	bn_node_pairs(&pairs);
	for (size_t i = 0; i < pairs.n && n < most; i++)
		if (pairs.v[i].cpu_node == pairs.v[0].cpu_node)
			node[n++] = pairs.v[i].mem_node;
	bn_node_pairs_clear(&pairs);
	return n;
}

static int device_row(struct bn_launch *l, int device, const int *node, size_t nodes, int *ret_devices, struct gt_err *err)
{
	gt_auto(rt_meter) *m = NULL;
	int r = rt_meter_open_device(device, &m, err);
	size_t bytes;
	double null_s;

	if (r)
		return r;
	*ret_devices = GT_MIN(rt_meter_devices(m), DEVICES);
	bytes = (size_t)GT_MIN(rt_meter_free_bytes(m) / 16, (uint64_t)MAX_BYTES) >> 21 << 21;
	if (!bytes)
		return gt_fail(err, ENOMEM, "%s has too little free memory to copy anything that says something", rt_meter_card(m));
	if (!device)
		json_object_set_new(l->params, "bytes", json_integer((json_int_t)bytes));
	r = rt_meter_null(m, &null_s, err);
	if (!r && !device)
		json_object_set_new(l->notes, "null_us", gt_json_real(1e6 * null_s));
	json_array_append_new(json_object_get(l->notes, "cards"), gt_json_str(rt_meter_card(m)));
	for (size_t i = 0; !r && i < nodes; i++) {
		r = both_ways(l, m, device, node[i], bytes, true, err);
		if (!r)
			r = both_ways(l, m, device, node[i], bytes, false, err);
	}
	return r;
}

static int gpu_matrix_run(struct bn_launch *l, struct gt_err *err)
{
	int node[64], devices = 1, r = 0;
	size_t nodes = nodes_of(node, GT_ARRAY_SIZE(node));

	json_object_set_new(l->notes, "cards", json_array());
	for (int device = 0; !r && device < devices; device++)
		r = device_row(l, device, node, nodes, &devices, err);
	if (!r && nodes == 1)
		json_object_set_new(l->notes, "remark",
				    json_string("gpu.matrix: all memory is on one node, so that it has one cell for each GPU "
						"and way"));
	if (r != -EIO)
		return r;
	snprintf(l->wrong, sizeof(l->wrong), "%.250s", err->msg); /* a wrong result voids the run; any other error ends it */
	return 0;
}

static const char *const knobs[] = { "run.affinity", "run.mempolicy", "kernel.numa_balancing", "gpu.", "pcie.", "cpu.governor",
				     NULL };

const struct bn_workload bn_workload_gpu_matrix = {
	.id	   = "gpu.matrix",
	.summary   = "copies between the memory of each node and each visible CUDA device, pinned and pageable",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "every byte that was copied last, from memory on the node named",
	.overhead  = "two events of the device, and a wait for the second, per copy; null_us of each launch is that without a copy",
	.knobs	   = knobs,
	.launch_s  = 8,
	.optional  = true,
	.gpu	   = true,
	.unavailable = bn_no_cuda,
	.run	   = gpu_matrix_run,
};
