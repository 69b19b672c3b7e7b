/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the error feedback of compression across events between updates: a changing loss scale, updates that are
 * skipped because one rank's gradients are not finite, and a loaded checkpoint. Compares ranks on devices with the same
 * number of ranks on CPUs, weight by weight. The gradients fill no whole cache line: the compressed padding after them
 * must not keep values of a skipped update.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime/cuda/selfcheck.h"
#include "runtime/transport/comm.h"

#define ROWS	47
#define COLS	41
#define LOAD_AT 4 /* rounds before the checkpoint is loaded */
#define ROUNDS	7
#define WEIGHTS	16 /* compared weights of each round */

static const struct method {
	const char *name;
	enum rt_compress compress;
	int rank; /* rank of PowerSGD */
} methods[] = {
	{ "weights, int8, skipped and loaded", RT_COMPRESS_INT8, 0 },
	{ "weights, 1 bit, skipped and loaded", RT_COMPRESS_ONEBIT, 0 },
	{ "weights, PowerSGD, skipped and loaded", RT_COMPRESS_POWERSGD, 2 },
};

struct job {
	uint64_t seed;
	enum rt_device device;
	const struct method *method;
	const char *path; /* file name of the checkpoint */
};

/* Runs a step. The gradient of w is x, its batch. spoilt: the last rank's gradient is not finite. */
static int step(struct rt_program *p, struct rt_comm *c, uint64_t seed, int round, bool spoilt, struct gt_err *err)
{
	int rank = rt_comm_rank(c);
	struct rt_metrics m;
	float x[ROWS * COLS];

	for (int i = 0; i < ROWS * COLS; i++)
		x[i] = rt_random_normal(seed, (uint64_t)(round * RT_MAX_RANKS + rank), (uint64_t)i) * (i % 3 ? 1 : 0.01f);
	if (spoilt && rank == rt_comm_size(c) - 1)
		x[7] = x[ROWS * COLS - 1] = INFINITY;
	return rt_step(p, (const void *const[]){ x }, &m, err);
}

/* Skips every other round. The scale doubles with an update and halves without, so it changes between two updates. */
static bool skips(int round)
{
	return round % 2;
}

/* Rank 0 writes the checkpoint, all ranks load it. */
static int load(struct rt_program *p, struct rt_comm *c, const char *path, struct gt_err *err)
{
	double all[RT_MAX_RANKS];
	uint64_t ticket;
	int r = rt_wait(p, err);

	if (!r && !rt_comm_rank(c))
		r = rt_save(p, path, 0, err);
	if (!r)
		r = rt_comm_gather(c, 0, all, err);
	return r ? r : rt_load(p, path, &ticket, err);
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	const struct job *job = arg;
	gt_auto(rt_graph) *g = rt_graph_new();
	struct rt_node *w = rt_param(g, "w", RT_SHAPE(ROWS, COLS), RT_INIT_ZEROS);
	struct rt_node *loss = rt_dot(g, w, rt_input(g, "x", RT_F32, RT_SHAPE(ROWS, COLS)));
	const struct rt_options o = { .device = job->device, .threads = 1, .seed = job->seed,
				      .optimizer = { .kind = RT_SGD, .lr = 1 },
				      .ranks = { .comm = c, .compress = job->method->compress, .powersgd_rank = job->method->rank },
				      .precision.scaler = { RT_SCALER_ON, .init = 4, .interval = 1 } };
	gt_auto(rt_program) *p = NULL;
	char text[ROUNDS * WEIGHTS * 24] = "";
	float value[ROWS * COLS];
	int r = rt_compile(g, loss, &o, &p, err);

	for (int round = 0; !r && round < ROUNDS; round++) {
		if (skips(round))
			r = step(p, c, job->seed, ROUNDS, true, err);
		if (!r && round == LOAD_AT)
			r = load(p, c, job->path, err);
		if (!r)
			r = step(p, c, job->seed, round, false, err);
		if (!r)
			r = rt_read_value(p, w, value, err);
		for (int i = 0; !r && i < WEIGHTS; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.9g ",
				 (double)value[i * (ROWS * COLS / WEIGHTS) + i]);
	}
	if (!r)
		r = rt_wait(p, err);
	if (!r && rt_skipped_updates(p) != ROUNDS / 2)
		r = gt_fail(err, EPROTO, "%lld updates were skipped, not %d", (long long)rt_skipped_updates(p), ROUNDS / 2);
	if (!r && !rt_comm_rank(c))
		rt_comm_answer(c, text);
	return r;
}

static int train(struct job job, enum rt_device device, int ranks, float *ret, struct gt_err *err)
{
	struct rt_group group = { .ranks = ranks };
	char *at;
	int r;

	job.device = device;
	r = rt_group_run(&group, one_rank, &job, err);
	at = group.answer;
	for (int i = 0; !r && i < ROUNDS * WEIGHTS; i++)
		ret[i] = strtof(at, &at);
	free(group.answer);
	return r;
}

int rt_check_residual(int ranks, uint64_t seed, json_t *rows, struct gt_err *err)
{
	const char *tmp = getenv("TMPDIR");
	gt_autofree char *dir = gt_xasprintf("%s/gputune-check-XXXXXX", tmp && *tmp ? tmp : "/tmp"), *path = NULL;
	float want[ROUNDS * WEIGHTS], got[ROUNDS * WEIGHTS];
	int r = 0, failed = 0;

	if (!mkdtemp(dir))
		return gt_fail(err, errno, "cannot make a directory in %s", tmp && *tmp ? tmp : "/tmp");
	path = gt_xasprintf("%s/weights.safetensors", dir);
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(methods); i++) {
		const struct job job = { .seed = seed, .method = &methods[i], .path = path };

		r = train(job, RT_CUDA, ranks, got, err);
		if (!r)
			r = train(job, RT_CPU, ranks, want, err);
		if (!r)
			failed += !rt_check_compare(RT_CHECK_F32, "ranks", false, methods[i].name, want, got, ROUNDS * WEIGHTS,
						    rows);
	}
	unlink(path);
	rmdir(dir);
	return r ? r : failed;
}
