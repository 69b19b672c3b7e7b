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

/* One cell of the matrix: a device, and memory of a node. */
struct cell {
	struct rt_meter *meter;
	int device, node;
	char *host;
	size_t bytes;
};

static int both_ways(struct bn_launch *l, const struct cell *c, bool pinned, struct gt_err *err)
{
	static const char *const directions[] = { "to", "from" };
	double s[REPS];

	for (int direction = RT_COPY_TO; direction <= RT_COPY_FROM; direction++) {
		gt_autofree char *suffix =
			gt_xasprintf(".%s.%s.gpu%d-mem%d", pinned ? "pinned" : "pageable", directions[direction], c->device,
				     c->node);
		int r;

		r = rt_meter_copy(c->meter, (enum rt_meter_copy)direction, c->host, c->bytes, pinned, l->fault != 0, REPS, s, err);
		if (r)
			return r;
		for (int i = 0; i < REPS; i++)
			s[i] = (double)c->bytes / s[i] / 1e9;
		bn_series(l, &bn_workload_gpu_matrix, suffix, BN_EXPLORE, s, REPS, WARMUP, false);
	}
	return 0;
}

static int both_ways_pinned(struct bn_launch *l, const struct cell *c, struct gt_err *err)
{
	int r = rt_meter_pin(c->meter, c->host, c->bytes, err);

	if (r)
		return r;
	r = both_ways(l, c, true, err);
	rt_meter_unpin(c->meter, c->host);
	return r;
}

/* Measures both directions with new memory of the cell's node. */
static int one_cell(struct bn_launch *l, struct cell *c, bool pinned, struct gt_err *err)
{
	int r;

	c->host = bn_node_map(c->bytes, c->node, false);
	if (!c->host)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", c->bytes >> 20);
	memset(c->host, 0, c->bytes);
	r = bn_node_placed(c->host, c->bytes, c->node, err);
	if (!r)
		r = pinned ? both_ways_pinned(l, c, err) : both_ways(l, c, false, err);
	munmap(c->host, c->bytes);
	return r;
}

/* Returns the nodes with memory that this process may use, ascending. The pairs list each of them once per CPU node. */
static size_t nodes_of(int *node, size_t most)
{
	bn_auto_node_pairs pairs = { 0 };
	size_t n = 0;

	bn_node_pairs(&pairs);
	for (size_t i = 0; i < pairs.n && n < most; i++)
		if (pairs.v[i].cpu_node == pairs.v[0].cpu_node)
			node[n++] = pairs.v[i].mem_node;
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
		return gt_fail(err, ENOMEM, "%s has too little free memory for a useful copy", rt_meter_card(m));
	if (!device)
		json_object_set_new(l->params, "bytes", json_integer((json_int_t)bytes));
	json_array_append_new(json_object_get(l->notes, "cards"), gt_json_str(rt_meter_card(m)));
	r = rt_meter_null(m, &null_s, err);
	if (r)
		return r;
	if (!device)
		json_object_set_new(l->notes, "null_us", gt_json_real(1e6 * null_s));
	for (size_t i = 0; i < nodes; i++) {
		struct cell c = { .meter = m, .device = device, .node = node[i], .bytes = bytes };

		r = one_cell(l, &c, true, err);
		if (r)
			return r;
		r = one_cell(l, &c, false, err);
		if (r)
			return r;
	}
	return 0;
}

static int gpu_matrix_run(struct bn_launch *l, struct gt_err *err)
{
	int node[64], devices = 1;
	size_t nodes = nodes_of(node, GT_ARRAY_SIZE(node));

	json_object_set_new(l->notes, "cards", json_array());
	for (int device = 0; device < devices; device++) {
		int r = device_row(l, device, node, nodes, &devices, err);

		if (r == -EIO) { /* a wrong result voids the run; any other error ends it */
			snprintf(l->wrong, sizeof(l->wrong), "%.250s", err->msg);
			return 0;
		}
		if (r)
			return r;
	}
	if (nodes == 1)
		json_object_set_new(l->notes, "remark",
				    json_string("gpu.matrix: all memory is on one node, so it has one cell for each "
						"GPU and direction"));
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
	.verifies  = "every byte of the last copy, and the node of its memory",
	.overhead  = "two device events and a wait per copy; null_us of each launch is the same without a copy",
	.knobs	   = knobs,
	.launch_s  = 8,
	.optional  = true,
	.gpu	   = true,
	.unavailable = bn_no_cuda,
	.run	   = gpu_matrix_run,
};
