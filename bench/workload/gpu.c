/* SPDX-License-Identifier: Apache-2.0 */
/* The first CUDA device and the link to it: copies from each NUMA node, launches, matrix products. */
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include "bench/workload/node.h"
#include "bench/workload/workloads.h"
#include "lib/fsroot.h"
#include "runtime/cuda/meter.h"

#define REPS	  20
#define WARMUP	  4
#define MAX_BYTES ((size_t)256 << 20)
#define LAUNCHES  1000

const char *bn_no_cuda(struct gt_fsroot *fs)
{
	static struct rt_backend_info backend[RT_BACKENDS];
	int n;

	if (!gt_fs_is_live(fs))
		return "a captured host has no devices";
	n = rt_backends(backend);
	for (int i = 0; i < n; i++)
		if (gt_streq(backend[i].name, "cuda"))
			return backend[i].available ? NULL : backend[i].reason;
	return "this build has no CUDA support";
}

/* Returns 0 after a wrong result, which voids the run, and the error otherwise. */
static int judge(struct bn_launch *l, int r, struct gt_err *err)
{
	if (r != -EIO)
		return r;
	snprintf(l->wrong, sizeof(l->wrong), "%.250s", err->msg);
	return 0;
}

/* Opens the meter and records the duration of an empty measurement. */
static int open_meter(struct bn_launch *l, struct rt_meter **ret, struct gt_err *err)
{
	double null_s = 0;
	int r;

	r = rt_meter_open(ret, err);
	if (r)
		return r;
	r = rt_meter_null(*ret, &null_s, err);
	if (r)
		return r;
	json_object_set_new(l->notes, "null_us", gt_json_real(1e6 * null_s));
	return 0;
}

/* ---- copies ---- */
struct copies {
	struct rt_meter *meter;
	size_t bytes;
};

static void publish_copy(struct bn_launch *l, const char *suffix, const struct copies *c, const double *s)
{
	double gbs[REPS];

	for (int i = 0; i < REPS; i++)
		gbs[i] = (double)c->bytes / s[i] / 1e9;
	bn_series(l, &bn_workload_gpu_copy, suffix, BN_EXPLORE, gbs, REPS, WARMUP, false);
}

static int both_ways(struct bn_launch *l, const struct copies *c, void *host, const char *name, bool pinned, struct gt_err *err)
{
	static const char *const directions[] = { "to", "from" };

	for (int direction = RT_COPY_TO; direction <= RT_COPY_FROM; direction++) {
		gt_autofree char *suffix = gt_xasprintf(".%s.%s", directions[direction], name);
		double s[REPS];
		int r;

		r = rt_meter_copy(c->meter, (enum rt_meter_copy)direction, host, c->bytes, pinned, l->fault != 0, REPS, s, err);
		if (r)
			return r;
		publish_copy(l, suffix, c, s);
	}
	return 0;
}

static int both_ways_pinned(struct bn_launch *l, const struct copies *c, void *host, const char *name, struct gt_err *err)
{
	int r = rt_meter_pin(c->meter, host, c->bytes, err);

	if (r)
		return r;
	r = both_ways(l, c, host, name, true, err);
	rt_meter_unpin(c->meter, host);
	return r;
}

/* Measures both directions with new memory of that node. */
static int copies_of(struct bn_launch *l, const struct copies *c, int node, const char *name, bool pinned, struct gt_err *err)
{
	void *host = bn_node_map(c->bytes, node, false);
	int r;

	if (!host)
		return gt_fail_errno(err, errno, "cannot map %zu MiB", c->bytes >> 20);
	for (size_t i = 0; i < c->bytes; i += 4096)
		((volatile char *)host)[i] = 0;
	r = pinned ? both_ways_pinned(l, c, host, name, err) : both_ways(l, c, host, name, false, err);
	munmap(host, c->bytes);
	return r;
}

static int copy_within(struct bn_launch *l, const struct copies *c, struct gt_err *err)
{
	gt_autofree char *host = gt_xcalloc(1, c->bytes);
	double s[REPS];
	int r = rt_meter_copy(c->meter, RT_COPY_WITHIN, host, c->bytes, false, l->fault != 0, REPS, s, err);

	if (r)
		return r;
	for (int i = 0; i < REPS; i++)
		s[i] /= 2; /* bytes are read and written */
	publish_copy(l, ".within", c, s);
	return 0;
}

static bool is_first_of_node(const struct bn_node_pairs *pairs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (pairs->v[k].mem_node == pairs->v[i].mem_node)
			return false;
	return true;
}

static int all_copies(struct bn_launch *l, const struct copies *c, struct gt_err *err)
{
	bn_auto_node_pairs pairs = { 0 };
	int r;

	bn_node_pairs(&pairs);
	for (size_t i = 0; i < pairs.n; i++) {
		gt_autofree char *name = gt_xasprintf("pinned.node%d", pairs.v[i].mem_node);

		if (!is_first_of_node(&pairs, i))
			continue;
		r = copies_of(l, c, pairs.v[i].mem_node, name, true, err);
		if (r)
			return r;
	}
	r = copies_of(l, c, pairs.v[0].mem_node, "pageable", false, err);
	return r ? r : copy_within(l, c, err);
}

static int copy_run(struct bn_launch *l, struct gt_err *err)
{
	gt_auto(rt_meter) *meter = NULL;
	struct copies c;
	int r = open_meter(l, &meter, err);

	if (r)
		return r;
	c = (struct copies){ .meter = meter, .bytes = (size_t)GT_MIN(rt_meter_free_bytes(meter) / 16, (uint64_t)MAX_BYTES) };
	c.bytes = c.bytes >> 21 << 21;
	if (!c.bytes)
		return gt_fail(err, ENOMEM, "%s has too little free memory for a useful copy",
			       rt_meter_card(meter));
	json_object_set_new(l->params, "bytes", json_integer((json_int_t)c.bytes));
	json_object_set_new(l->notes, "card", gt_json_str(rt_meter_card(meter)));
	return judge(l, all_copies(l, &c, err), err);
}

/* ---- launches ---- */
static int all_launches(struct bn_launch *l, struct rt_meter *meter, struct gt_err *err)
{
	static const struct {
		const char *suffix;
		enum rt_meter_launch kind;
	} kinds[] = { { ".alone", RT_LAUNCH_ALONE }, { ".row", RT_LAUNCH_ROW }, { ".graph", RT_LAUNCH_GRAPH } };
	double us[REPS];

	for (size_t k = 0; k < GT_ARRAY_SIZE(kinds); k++) {
		for (int i = 0; i < REPS; i++) {
			int r = rt_meter_launch(meter, kinds[k].kind, LAUNCHES, l->fault != 0, &us[i], err);

			if (r)
				return r;
			us[i] *= 1e6;
		}
		bn_series(l, &bn_workload_gpu_launch, kinds[k].suffix, BN_EXPLORE, us, REPS, WARMUP, false);
	}
	return 0;
}

static int launch_run(struct bn_launch *l, struct gt_err *err)
{
	gt_auto(rt_meter) *meter = NULL;
	int r = open_meter(l, &meter, err);

	json_object_set_new(l->params, "launches", json_integer(LAUNCHES));
	return judge(l, r ? r : all_launches(l, meter, err), err);
}

/* ---- matrix products ---- */
static int all_products(struct bn_launch *l, struct rt_meter *meter, struct gt_err *err)
{
	static const struct {
		const char *suffix;
		enum rt_dtype type;
		bool tf32;
	} types[] = { { ".fp8", RT_E4M3, false }, { ".bf16", RT_BF16, false }, { ".fp16", RT_F16, false },
		    { ".tf32", RT_F32, true }, { ".f32", RT_F32, false } };
	int64_t side = rt_meter_side(meter);
	double rate[REPS];

	json_object_set_new(l->params, "side", json_integer(side));
	for (size_t t = 0; t < GT_ARRAY_SIZE(types); t++) {
		int r;

		if (types[t].type == RT_E4M3 && !rt_meter_has_fp8(meter))
			continue;
		r = rt_meter_product(meter, types[t].type, types[t].tf32, side, l->fault != 0, REPS, rate, err);
		if (r)
			return r;
		for (int i = 0; i < REPS; i++)
			rate[i] /= 1e12;
		bn_series(l, &bn_workload_gpu_gemm, types[t].suffix, BN_EXPLORE, rate, REPS, WARMUP, false);
	}
	return 0;
}

static int gemm_run(struct bn_launch *l, struct gt_err *err)
{
	gt_auto(rt_meter) *meter = NULL;
	int r = open_meter(l, &meter, err);

	return judge(l, r ? r : all_products(l, meter, err), err);
}

static const char *const link_knobs[] = { "run.affinity", "kernel.numa_balancing", "gpu.", "cpu.governor", NULL };
static const char *const gpu_knobs[] = { "gpu.", "cuda.", NULL };

#define OVERHEAD "device events or a wait per sample; null_us of each launch is an empty measurement"
#define GPU(name, id_, summary_, unit_, direction_, verifies_, knobs_, seconds, run_)                                          \
	const struct bn_workload bn_workload_gpu_##name = {                                                                    \
		.id = id_, .summary = summary_, .unit = unit_, .direction = direction_, .role = BN_EXPLORE, .version = 1,      \
		.margin = .03, .verifies = verifies_, .overhead = OVERHEAD, .knobs = knobs_, .launch_s = seconds,              \
		.optional = true, .gpu = true,                                                                                 \
		.unavailable = bn_no_cuda, .run = run_ }

GPU(copy, "gpu.copy", "copies between the host's memory and the first CUDA device, and within it", "GB/s", BN_HIGHER,
    "every byte of the last copy", link_knobs, 4, copy_run);
GPU(launch, "gpu.launch", "the smallest kernel: with a wait, in sequence, as a captured graph", "us", BN_LOWER,
    "each launch counts once", link_knobs, 2, launch_run);
GPU(gemm, "gpu.gemm", "large matrix products by cuBLASLt on the first CUDA device", "Tflop/s", BN_HIGHER,
    "24 elements against sums in double", gpu_knobs, 3, gemm_run);
