/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages gradients between the CUDA devices of this host with NCCL, one rank per device, as a step of data-parallel
 * training does. The unit is the bus bandwidth of nccl-tests: 2 (n - 1) / n of the bytes in the time of the slowest
 * rank, in place. It is comparable between numbers of devices and with nccl-tests.
 *
 * A process that has searched for devices cannot fork ranks that use them. The program is therefore started again with
 * the number of ranks in its environment.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/workload/workloads.h"
#include "lib/cli.h"
#include "lib/fsroot.h"
#include "lib/parse.h"
#include "lib/spawn.h"
#include "runtime/cuda/meter_ranks.h"
#include "runtime/cuda/nccl.h"

#define ROUNDS	24
#define WARMUP	4
#define RANKS	"GPUBENCH_NCCL_RANKS" /* variable that is set in the process that forks the ranks */
#define SECONDS 120.0

static const struct {
	const char *suffix;
	size_t bytes;
	int repeat; /* averages per sample, so that the clock can resolve a sample */
} sizes[] = {
	{ ".64k", (size_t)64 << 10, 20 },
	{ ".1m", (size_t)1 << 20, 20 },
	{ ".16m", (size_t)16 << 20, 5 },
	{ ".256m", (size_t)256 << 20, 1 },
};

/*
 * Returns { "ranks", "card", "nccl", "wrong", ".64k": [GB/s …], … }. Sizes that do not fit into the GPUs' memory are
 * left out.
 */
static int measure(struct rt_comm *c, bool fault, json_t **ret, struct gt_err *err)
{
	gt_auto_json *doc = json_object();
	gt_auto(rt_reduce_meter) *m = NULL;
	double n = rt_comm_size(c), s[ROUNDS], wrong = 0;
	int r = rt_reduce_meter_open(c, sizes[GT_ARRAY_SIZE(sizes) - 1].bytes, &m, err);

	if (r)
		return r;
	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++) {
		json_t *list;
		double bad = 0;

		if (sizes[i].bytes > rt_reduce_meter_free_bytes(m) / 16)
			continue;
		r = rt_reduce_meter_run(m, sizes[i].bytes, sizes[i].repeat, fault, ROUNDS, s, &bad, err);
		if (r)
			return r;
		wrong += bad;
		list = json_array();
		for (int k = 0; k < ROUNDS; k++)
			json_array_append_new(list, gt_json_real(2 * (n - 1) / n * (double)sizes[i].bytes / s[k] / 1e9));
		json_object_set_new(doc, sizes[i].suffix, list);
	}
	json_object_set_new(doc, "ranks", json_integer(rt_comm_size(c)));
	json_object_set_new(doc, "card", gt_json_str(rt_reduce_meter_card(m)));
	json_object_set_new(doc, "nccl", json_integer(rt_reduce_meter_nccl(m)));
	json_object_set_new(doc, "wrong", json_real(wrong));
	*ret = gt_take(doc);
	return 0;
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	gt_auto_json *doc = NULL;
	gt_autofree char *text = NULL;
	int r = measure(c, *(bool *)arg, &doc, err);

	if (r || rt_comm_rank(c) > 0)
		return r;
	text = json_dumps(doc, JSON_COMPACT);
	rt_comm_answer(c, text);
	return 0;
}

static int publish(struct bn_launch *l, const json_t *doc, struct gt_err *err)
{
	double wrong = gt_json_get_real(doc, "wrong", NAN);

	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++) {
		json_t *list = json_object_get(doc, sizes[i].suffix), *v;
		double gbs[ROUNDS];
		size_t k, n = 0;

		if (!list)
			continue;
		json_array_foreach(list, k, v)
			if (n < ROUNDS)
				gbs[n++] = json_number_value(v);
		if (n != ROUNDS)
			return gt_fail(err, EBADMSG, "the ranks answered with %zu samples, not %d", n, ROUNDS);
		bn_series(l, &bn_workload_gpu_allreduce, sizes[i].suffix, BN_EXPLORE, gbs, n, WARMUP, false);
	}
	if (!(wrong == 0))
		snprintf(l->wrong, sizeof(l->wrong), "%.0f elements are not the mean over the devices", wrong);
	json_object_set(l->params, "ranks", json_object_get(doc, "ranks"));
	json_object_set(l->notes, "card", json_object_get(doc, "card"));
	json_object_set(l->notes, "nccl", json_object_get(doc, "nccl"));
	return 0;
}

static int run_ranks(struct bn_launch *l, const char *count, struct gt_err *err)
{
	struct rt_group g = { 0 };
	gt_autofree char *answer = NULL;
	gt_auto_json *doc = NULL;
	bool fault = l->fault != 0;
	uint64_t ranks = 0;
	int r = gt_parse_u64(count, &ranks);

	if (r || ranks < 1 || ranks > RT_MAX_RANKS)
		return gt_fail(err, EINVAL, RANKS "=%s: 1 to %d ranks are possible", count, RT_MAX_RANKS);
	g.ranks = (int)ranks;
	r = rt_group_run(&g, one_rank, &fault, err);
	answer = g.answer;
	if (r)
		return r;
	r = gt_json_parse(answer ? answer : "", answer ? strlen(answer) : 0, "the answer of rank 0", &doc, err);
	return r ? r : publish(l, doc, err);
}

/* Removes the program name from a message of another gpubench process. */
static const char *without_name(const char *text)
{
	return strncmp(text, "gpubench: ", 10) ? text : text + 10;
}

static int run_in_new_process(struct bn_launch *l, json_t **ret, struct gt_err *err)
{
	gt_autofree char *seed = gt_xasprintf("%llu", (unsigned long long)l->seed), *exe = NULL, *ranks = NULL;
	char *argv[] = { NULL, "launch", "gpu.allreduce", "--json", "--seed", seed, NULL };
	gt_auto_spawn sp = { .argv = argv, .timeout_s = SECONDS, .cancel = &gt_interrupted };
	int n = 0, r = rt_cuda_count(&n, err);

	if (r)
		return r;
	r = gt_fs_readlink(l->fs, "/proc/self/exe", &exe);
	if (r < 0)
		return gt_fail_errno(err, -r, "cannot find the path of this program");
	argv[0] = exe;
	ranks = gt_xasprintf("%d", GT_MIN(n, RT_MAX_RANKS));
	setenv(RANKS, ranks, 1);
	r = gt_spawn(&sp, err);
	unsetenv(RANKS);
	if (r)
		return r;
	if (sp.status && sp.status != BN_EXIT_WRONG)
		return gt_fail(err, EIO, "%.400s", sp.errout ? without_name(gt_strip(sp.errout)) : "the ranks gave no reason");
	return gt_json_parse(sp.out ? sp.out : "", sp.out_len, "the answer of the ranks", ret, err);
}

static int allreduce_run(struct bn_launch *l, struct gt_err *err)
{
	gt_auto_json *doc = NULL;
	const char *ranks = getenv(RANKS);
	int r;

	if (ranks)
		return run_ranks(l, ranks, err);
	r = run_in_new_process(l, &doc, err);
	if (r)
		return r;
	if (!json_array_size(json_object_get(doc, "metrics")))
		return gt_fail(err, ENOMEM, "the GPUs have too little free memory for a useful reduction");
	bn_launch_take(l, doc);
	return 0;
}

static const char *unavailable_here(struct gt_fsroot *fs)
{
	static struct gt_err err;
	const char *why;
	int n = 0;

	if (getenv(RANKS))
		return NULL;
	why = bn_no_cuda(fs);
	if (why)
		return why;
	if (rt_cuda_count(&n, &err))
		return err.msg;
	if (n < 2)
		return "there is one CUDA device: nothing would be sent between devices";
	return rt_nccl_probe(&err) ? err.msg : NULL;
}

static const char *const knobs[] = { "run.affinity", "gpu.", "cuda.", "nccl.", NULL };

const struct bn_workload bn_workload_gpu_allreduce = {
	.id	     = "gpu.allreduce",
	.summary     = "gradients averaged between all CUDA devices by NCCL, bus bandwidth by size",
	.unit	     = "GB/s",
	.direction   = BN_HIGHER,
	.role	     = BN_EXPLORE,
	.version     = 1,
	.margin	     = .03,
	.verifies    = "each device has the mean over all devices",
	.overhead    = "two clock readings and one wait for the devices per sample of repeated means",
	.knobs	     = knobs,
	.launch_s    = 6,
	.optional    = true,
	.unavailable = unavailable_here,
	.run	     = allreduce_run,
};
