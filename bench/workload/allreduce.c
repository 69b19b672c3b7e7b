/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages gradients between ranks, as a step of data-parallel training does. One workload uses shared memory and the
 * runtime's own collectives. The other uses ranks that mpirun started, with all data sent by the MPI library.
 *
 * The unit is bus bandwidth: 2 (n - 1) / n of the bytes in the time of the slowest rank. It is comparable between
 * numbers of ranks and with nccl-tests.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/workload/workloads.h"
#include "lib/cli.h"
#include "lib/fsroot.h"
#include "lib/spawn.h"
#include "lib/text.h"
#include "runtime/transport/comm.h"

#define ROUNDS	  24
#define WARMUP	  4
#define RANKS_MAX 8
#define MPI_RANK  "GPUBENCH_MPI_RANK" /* variable that is set in processes started by this workload's mpirun */
#define MPI_S	  60.0

static const struct {
	const char *suffix;
	int64_t floats;
	int repeat; /* reductions per sample, so that the clock can resolve a sample */
} sizes[] = {
	{ ".64k", 16 << 10, 20 },
	{ ".1m", 256 << 10, 5 },
	{ ".25m", 6400 << 10, 1 },
};

struct job {
	struct bn_launch *l;
	uint64_t seed;
	bool fault;
};

/* Returns a small integer. The mean over a power of two of ranks is then exact, and the weighted sum over any number of
 * ranks is exact within rounding. */
static float element(uint64_t seed, int rank, int64_t i)
{
	return (float)((((uint64_t)i * 2654435761u + seed) >> 8 & 63) + (uint64_t)rank);
}

static void fill(float *x, int64_t n, uint64_t seed, int rank)
{
	for (int64_t i = 0; i < n; i++)
		x[i] = element(seed, rank, i);
}

static double wrong_elements(const float *x, int64_t n, uint64_t seed, int ranks)
{
	double wrong = 0;

	for (int64_t i = 0; i < n; i++)
		wrong += !(fabs((double)x[i] - ((double)element(seed, 0, i) + (ranks - 1) / 2.0)) < 1e-4 * 128);
	return wrong;
}

static int slowest(struct rt_comm *c, double value, double *ret, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, value, of, err);

	if (r)
		return r;
	*ret = 0;
	for (int i = 0; i < rt_comm_size(c); i++)
		*ret = fmax(*ret, of[i]);
	return 0;
}

/* Takes one sample: all ranks start together and the slowest one counts. */
static int sample(struct rt_comm *c, struct rt_coll *k, int repeat, double *ret, struct gt_err *err)
{
	double unused, t0;
	int r = slowest(c, 0, &unused, err);

	if (r)
		return r;
	t0 = gt_now_s();
	for (int i = 0; i < repeat; i++) {
		r = rt_coll_start(k, err);
		if (r)
			return r;
		r = rt_coll_wait(k, err);
		if (r)
			return r;
	}
	return slowest(c, (gt_now_s() - t0) / repeat, ret, err);
}

/* Fills gbs. *ret_wrong: number of wrong elements of this rank. */
static int one_size(struct rt_comm *c, struct rt_window *w, size_t which, const struct job *job, double *gbs, double *ret_wrong,
		    struct gt_err *err)
{
	rt_auto_coll k = { .kind = RT_ALLREDUCE, .window = w, .n = sizes[which].floats, .threads = GT_MAX(rt_comm_cpus(c), 1) };
	float *x = (float *)w->base;
	int n = rt_comm_size(c), r;

	r = rt_coll_init(&k, err);
	if (r)
		return r;
	fill(x, k.n, job->seed, rt_comm_rank(c));
	for (int i = 0; i < ROUNDS; i++) {
		double s;

		r = sample(c, &k, i ? sizes[which].repeat : 1, &s, err);
		if (r)
			return r;
		gbs[i] = 2.0 * (n - 1) / n * (double)k.n * 4 / s / 1e9;
		if (i) /* dividing by the ranks is not needed: the elements are already the mean */
			continue;
		if (job->fault && rt_comm_rank(c) == 0)
			x[k.n / 2] += 1;
		*ret_wrong = wrong_elements(x, k.n, job->seed, n);
	}
	return 0;
}

static int add_over_ranks(struct rt_comm *c, double value, double *sum, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, value, of, err);

	if (r)
		return r;
	for (int i = 0; i < rt_comm_size(c); i++)
		*sum += of[i];
	return 0;
}

/* Returns { "ranks", "transport", "wrong", ".64k": [GB/s …], … }. */
static int measure(struct rt_comm *c, const struct job *job, json_t **ret, struct gt_err *err)
{
	gt_auto_json *doc = json_object();
	rt_auto_window w = { 0 };
	double gbs[ROUNDS], wrong = 0;
	int r;

	r = rt_window_map(c, (size_t)sizes[GT_ARRAY_SIZE(sizes) - 1].floats * 4, true, &w, err);
	if (r)
		return r;
	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++) {
		json_t *list;
		double bad;

		r = one_size(c, &w, i, job, gbs, &bad, err);
		if (r)
			return r;
		r = add_over_ranks(c, bad, &wrong, err);
		if (r)
			return r;
		list = json_array();
		for (int k = 0; k < ROUNDS; k++)
			json_array_append_new(list, gt_json_real(gbs[k]));
		json_object_set_new(doc, sizes[i].suffix, list);
	}
	json_object_set_new(doc, "ranks", json_integer(rt_comm_size(c)));
	json_object_set_new(doc, "transport", json_string(rt_comm_transport(c)));
	json_object_set_new(doc, "wrong", json_real(wrong));
	*ret = gt_take(doc);
	return 0;
}

static int shm_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	gt_auto_json *doc = NULL;
	gt_autofree char *text = NULL;
	int r = measure(c, arg, &doc, err);

	if (r || rt_comm_rank(c) > 0)
		return r;
	text = json_dumps(doc, JSON_COMPACT);
	rt_comm_answer(c, text);
	return 0;
}

/* Converts the ranks' answer to the series of a workload. */
static int publish(struct bn_launch *l, const struct bn_workload *w, const json_t *doc, struct gt_err *err)
{
	double wrong = gt_json_get_real(doc, "wrong", NAN);

	for (size_t i = 0; i < GT_ARRAY_SIZE(sizes); i++) {
		json_t *list = json_object_get(doc, sizes[i].suffix), *v;
		double gbs[ROUNDS];
		size_t k, n = 0;

		json_array_foreach(list, k, v)
			if (n < ROUNDS)
				gbs[n++] = json_number_value(v);
		if (n != ROUNDS)
			return gt_fail(err, EBADMSG, "the ranks answered with %zu samples, not %d", n, ROUNDS);
		bn_series(l, w, sizes[i].suffix, BN_EXPLORE, gbs, n, WARMUP, false);
	}
	if (!(wrong == 0))
		snprintf(l->wrong, sizeof(l->wrong), "%.0f elements are not the mean over the ranks", wrong);
	json_object_set(l->params, "ranks", json_object_get(doc, "ranks"));
	json_object_set(l->notes, "transport", json_object_get(doc, "transport"));
	return 0;
}

static int allreduce_run(struct bn_launch *l, struct gt_err *err)
{
	struct job job = { .l = l, .seed = l->seed, .fault = l->fault };
	struct rt_group g = { .ranks = 2 };
	gt_autofree char *answer = NULL;
	gt_auto_json *doc = NULL;
	cpu_set_t usable;
	int r;

	if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
		g.ranks = GT_MAX(2, GT_MIN(CPU_COUNT(&usable), RANKS_MAX));
	r = rt_group_run(&g, shm_rank, &job, err);
	answer = g.answer;
	if (r)
		return r;
	r = gt_json_parse(answer ? answer : "", answer ? strlen(answer) : 0, "the answer of rank 0", &doc, err);
	return r ? r : publish(l, &bn_workload_allreduce, doc, err);
}

static const char *const knobs[] = { "run.affinity", "cpu.governor", "thp.", "mem.shm", NULL };

const struct bn_workload bn_workload_allreduce = {
	.id	   = "comm.allreduce",
	.summary   = "gradients averaged between ranks over shared memory, by size",
	.unit	   = "GB/s",
	.direction = BN_HIGHER,
	.role	   = BN_EXPLORE,
	.version   = 1,
	.margin	   = .03,
	.verifies  = "each rank has the mean over all ranks",
	.overhead  = "two clock readings of each rank per sample of repeated means; the slowest rank counts",
	.knobs	   = knobs,
	.launch_s  = 1.5,
	.optional  = true,
	.run	   = allreduce_run,
};

/* ---- ranks started by mpirun ---- */

/* Runs one rank. Rank 0 publishes the results of all ranks. */
static int mpi_rank(struct bn_launch *l, struct gt_err *err)
{
	struct job job = { .l = l, .seed = l->seed, .fault = l->fault };
	gt_auto_json *doc = NULL;
	gt_auto(rt_comm) *c = NULL;

	if (rt_comm_mpi_alone(&c, err) || measure(c, &job, &doc, err)) {
		fprintf(stderr, "%s\n", err->msg);
		rt_comm_abort(c, GT_EXIT_INTERNAL);
	}
	if (rt_comm_rank(c)) {
		rt_comm_free(c);
		exit(0);
	}
	return publish(l, &bn_workload_mpi, doc, err);
}

static int run_mpirun(struct bn_launch *l, json_t **ret, struct gt_err *err)
{
	gt_autofree char *seed = gt_xasprintf("%llu", (unsigned long long)l->seed), *exe = NULL;
	cpu_set_t usable;
	bool apart = sched_getaffinity(0, sizeof(usable), &usable) == 0 && CPU_COUNT(&usable) > 1;
	char *argv[] = { "mpirun", "-n", "2", "--oversubscribe", "--bind-to", apart ? "core" : "none", "-x", MPI_RANK "=1",
			 NULL, "launch", "comm.mpi", "--json", "--seed", seed, NULL };
	gt_auto_spawn sp = { .argv = argv, .timeout_s = MPI_S, .cancel = &gt_interrupted };
	int r = gt_fs_readlink(l->fs, "/proc/self/exe", &exe);

	if (r < 0)
		return gt_fail_errno(err, -r, "cannot find the path of this program");
	argv[8] = exe;
	/* OpenMPI requires both variables */
	setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
	setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
	r = gt_spawn(&sp, err);
	if (r)
		return r;
	if (sp.status && sp.status != BN_EXIT_WRONG)
		return gt_fail(err, EIO, "mpirun ended with status %d: %.300s", sp.status, sp.errout ? gt_strip(sp.errout) : "");
	return gt_json_parse(sp.out ? sp.out : "", sp.out_len, "the answer of mpirun", ret, err);
}

static int mpi_run(struct bn_launch *l, struct gt_err *err)
{
	gt_auto_json *doc = NULL;
	int r;

	if (getenv(MPI_RANK))
		return mpi_rank(l, err);
	r = run_mpirun(l, &doc, err);
	if (r)
		return r;
	if (!json_array_size(json_object_get(doc, "metrics")))
		return gt_fail(err, EBADMSG, "mpirun returned no metric");
	bn_launch_take(l, doc);
	return 0;
}

static const char *no_mpirun(struct gt_fsroot *fs)
{
	const char *path = getenv("PATH");

	if (getenv(MPI_RANK))
		return NULL;
	if (rt_mpi_started())
		return "mpirun started this process, and mpirun cannot be nested";
	gt_each_word(dir, path ? path : "", ":") {
		gt_autofree char *file = gt_xasprintf("%s/mpirun", dir);

		if (gt_fs_access(fs, file, X_OK) == 0)
			return NULL;
	}
	return "mpirun not found: install openmpi-bin";
}

const struct bn_workload bn_workload_mpi = {
	.id	     = "comm.mpi",
	.summary     = "gradients averaged between two ranks by the MPI library, by size",
	.unit	     = "GB/s",
	.direction   = BN_HIGHER,
	.role	     = BN_EXPLORE,
	.version     = 1,
	.margin	     = .03,
	.verifies    = "each rank has the mean over all ranks",
	.overhead    = "two clock readings of each rank per sample of repeated means; the slowest rank counts",
	.knobs	     = knobs,
	.launch_s    = 4,
	.optional    = true,
	.unavailable = no_mpirun,
	.run	     = mpi_run,
};
