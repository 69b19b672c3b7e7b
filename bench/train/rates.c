/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "bench/train/rates.h"
#include "lib/json.h"
#include "runtime/transport/comm.h"

#define ROUNDS	    9
#define SENT_FLOATS (INT64_C(1) << 20)

/* ---- measured on this host ---- */

struct job {
	int threads;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Returns the median time of an allreduce of n floats. */
static int reduce_s(struct rt_comm *c, struct rt_window *w, int64_t n, double *ret, struct gt_err *err)
{
	rt_auto_coll k = { .kind = RT_ALLREDUCE, .window = w, .n = n, .threads = 1 };
	double s[ROUNDS], all[RT_MAX_RANKS];
	int r = rt_coll_init(&k, err);

	for (int i = -1; !r && i < ROUNDS; i++) {
		double t0;

		r = rt_comm_gather(c, 0, all, err);
		t0 = gt_now_s();
		r = r ? r : rt_coll_start(&k, err);
		r = r ? r : rt_coll_wait(&k, err);
		s[GT_MAX(i, 0)] = gt_now_s() - t0;
	}
	if (r)
		return r;
	qsort(s, ROUNDS, sizeof(*s), by_value);
	*ret = s[ROUNDS / 2];
	return 0;
}

static int mean_of(struct rt_comm *c, double *x, struct gt_err *err)
{
	double all[RT_MAX_RANKS], sum = 0;
	int r = rt_comm_gather(c, *x, all, err);

	for (int i = 0; !r && i < rt_comm_size(c); i++)
		sum += all[i];
	*x = sum / rt_comm_size(c);
	return r;
}

/* All ranks measure at the same time, as they work at the same time in a step. */
static int measure_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct job *job = arg;
	int size = rt_comm_size(c), threads = job->threads ? job->threads : GT_MAX(rt_comm_cpus(c), 1), r;
	struct rt_peaks peaks = { 0 };
	rt_auto_window w = { 0 };
	gt_autofree char *text = NULL;
	double large = 0, small = 0;

	r = rt_measure_peaks(threads, &peaks, err);
	if (r)
		return r;
	r = rt_window_map(c, (size_t)SENT_FLOATS * sizeof(float), true, &w, err);
	if (r)
		return r;
	memset(w.base, 0, w.bytes);
	r = reduce_s(c, &w, SENT_FLOATS, &large, err);
	if (r)
		return r;
	r = reduce_s(c, &w, 16, &small, err);
	if (r)
		return r;
	double *const all[] = { &peaks.flops_per_s, &peaks.bf16_flops_per_s, &peaks.bytes_per_s, &large, &small };
	for (size_t i = 0; i < GT_ARRAY_SIZE(all); i++) {
		r = mean_of(c, all[i], err);
		if (r)
			return r;
	}
	text = gt_xasprintf("[%.9g, %.9g, %.9g, %.9g, %.9g]", peaks.flops_per_s, peaks.bf16_flops_per_s, peaks.bytes_per_s,
			    2.0 * (size - 1) / size * (double)SENT_FLOATS * sizeof(float) / large, small);
	if (rt_comm_rank(c) == 0)
		rt_comm_answer(c, text);
	return 0;
}

static int cpus(void)
{
	cpu_set_t usable;

	return sched_getaffinity(0, sizeof(usable), &usable) == 0 ? GT_MAX(CPU_COUNT(&usable), 1) : 1;
}

int bn_measure_rates(uint64_t ranks, uint64_t threads, struct bn_rates *ret, struct gt_err *err)
{
	struct job job = { .threads = (int)threads };
	int most = GT_MAX(2, 2 * cpus());
	struct rt_group g = { .ranks = (int)GT_MAX(GT_MIN(ranks, (uint64_t)most), 1) };
	gt_autofree char *answer = NULL;
	gt_auto_json *doc = NULL;
	double x[5], scale;
	int r = rt_group_run(&g, measure_rank, &job, err);

	answer = g.answer;
	r = r ? r : gt_json_parse(answer ? answer : "", answer ? strlen(answer) : 0, "the answer of rank 0", &doc, err);
	if (r)
		return r;
	for (size_t i = 0; i < GT_ARRAY_SIZE(x); i++)
		x[i] = json_number_value(json_array_get(doc, i));
	scale = (double)g.ranks / (double)ranks;
	*ret = (struct bn_rates){ .rank = { .flops_per_s = x[0] * scale, .reduced_flops_per_s = (x[1] > 0 ? x[1] : x[0]) * scale,
					    .bytes_per_s = x[2] * scale },
				  .link_bytes_per_s = x[3] * scale, .latency_s = x[4] / scale };
	return 0;
}

/* ---- GPUs that are not in this host ---- */

/*
 * Peaks: NVIDIA H100 Tensor Core GPU datasheet, dense products. Memory: 3.35 TB/s (SXM), 2.0 TB/s (PCIe card). Links, in one
 * direction: NVLink 4, 450 GB/s; PCIe Gen5 x16, 64 GB/s.
 * Products reach 52 % of the peak in the training runs of Narayanan et al. 2021 (163 of 312 Tflop/s on A100). Of NVLink's 450
 * GB/s, 370 remain after the protocol's overhead (NVIDIA/nccl-tests issue 212); the same share is assumed for PCIe.
 * A small collective is assumed to take 20 us.
 */
#define OF_PEAK	0.52
#define OF_LINK	(370.0 / 450)

struct bn_rates bn_gpu_rates(bool nvlink)
{
	return (struct bn_rates){
		.rank = { .flops_per_s = (nvlink ? 67e12 : 51e12) * OF_PEAK,
			  .reduced_flops_per_s = (nvlink ? 989e12 : 756e12) * OF_PEAK,
			  .bytes_per_s = nvlink ? 3.35e12 : 2.0e12 },
		.link_bytes_per_s = (nvlink ? 450e9 : 64e9) * OF_LINK,
		.latency_s = 20e-6,
	};
}
