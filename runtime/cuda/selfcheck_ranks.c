/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks on CUDA devices, each with rows of its own, against one program on the CPU that has all the rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/comm/comm.h"
#include "runtime/cuda/selfcheck.h"

#define STEPS  8
#define ROWS   2 /* of each rank */
#define LEN    24
#define VOCAB  61
#define ACCUM  2
#define MOST   (ROWS * RT_MAX_RANKS * LEN)

/* Plain, and with all that happens to gradients between a rank's backward pass and the update. */
static const struct way {
	const char *losses;
	enum rt_check_type type;
	int accum;
	double clip_norm;
} ways[] = {
	{ "losses", RT_CHECK_F32, 1, 0 },
	{ "losses, clipped", RT_CHECK_F32, ACCUM, 0.5 },
	{ "losses, clipped", RT_CHECK_BF16, ACCUM, 0.5 },
};

struct job {
	uint64_t seed;
	const struct way *way;
};

static void fill(int32_t *ids, int first, int rows, uint64_t seed, uint64_t stream)
{
	for (int i = 0; i < rows * LEN; i++)
		ids[i] = (int32_t)(rt_random_u64(seed, stream, (uint64_t)(first * LEN + i)) % VOCAB);
}

/* loss (STEPS): of each call */
static int train(struct rt_comm *c, const struct job *job, enum rt_device device, int first, int rows, float *loss,
		 struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree int32_t *ids = gt_xcalloc(MOST, sizeof(*ids)), *targets = gt_xcalloc(MOST, sizeof(*targets));
	const struct rt_options o = { .device = device, .seed = job->seed, .accum = job->way->accum,
				      .clip_norm = job->way->clip_norm,
				      .amp = job->way->type == RT_CHECK_BF16 && device == RT_CUDA ? RT_BF16 : RT_F32,
				      .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 },
				      .ddp = { .comm = c, .first_bucket_bytes = 1 << 10, .bucket_bytes = 16 << 10 } };
	struct rt_node *node = rt_model_gpt(g, &(struct rt_gpt_config){ .batch = rows, .seq = LEN, .layers = 2, .width = 48,
									.heads = 3, .vocab = VOCAB });
	int r = rt_compile(g, node, &o, &p, err);

	for (int i = 0; !r && i < STEPS; i++) {
		struct rt_metrics m = { 0 };

		fill(ids, first, rows, job->seed, 2 * (uint64_t)i);
		fill(targets, first, rows, job->seed, 2 * (uint64_t)i + 1);
		r = rt_step(p, (const void *const[]){ ids, targets }, &m, err);
		loss[i] = (float)m.loss;
	}
	return r ? r : rt_wait(p, err);
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	float loss[STEPS];
	char text[STEPS * 24] = "";
	int r = train(c, arg, RT_CUDA, ROWS * rt_comm_rank(c), ROWS, loss, err);

	for (int i = 0; i < STEPS; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.9g ", (double)loss[i]);
	if (!r && !rt_comm_rank(c))
		rt_comm_answer(c, text);
	return r;
}

static int train_ranks(const struct job *job, int ranks, float *ret_loss, struct gt_err *err)
{
	struct job mine = *job;
	struct rt_group group = { .ranks = ranks };
	int r = rt_group_run(&group, one_rank, &mine, err);
	char *at = group.answer;

	for (int i = 0; !r && i < STEPS; i++)
		ret_loss[i] = strtof(at, &at);
	free(group.answer);
	return r;
}

int rt_cuda_selfcheck_ranks(int ranks, uint64_t seed, json_t *rows, struct gt_err *err)
{
	float got[STEPS], want[STEPS];
	int r = 0, failed = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(ways); i++) {
		struct job job = { .seed = seed, .way = &ways[i] };

		r = train_ranks(&job, ranks, got, err);
		if (!r)
			r = train(NULL, &job, RT_CPU, 0, ROWS * ranks, want, err);
		if (!r)
			failed += !rt_check_compare(ways[i].type, "ranks", false, ways[i].losses, want, got, STEPS, rows);
	}
	return r ? r : failed;
}
