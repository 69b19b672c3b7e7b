/* SPDX-License-Identifier: Apache-2.0 */
/* Compares ranks on CUDA devices, each with its own rows, with one program on the CPU that has all the rows. With
 * compressed gradients the reference is the same number of ranks on CPUs with the same compression. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "runtime/cuda/selfcheck.h"
#include "runtime/transport/comm.h"

#define STEPS  8
#define ROWS   2 /* rows of each rank */
#define LEN    24
#define VOCAB  61
#define ACCUM  2
#define PLAIN  1 /* uncompressed updates before the first one with 1 bit */
#define MOST   (ROWS * RT_MAX_RANKS * LEN)

/* Uncompressed, and with all steps between a rank's backward pass and the update. */
static const struct mode {
	const char *losses;
	enum rt_check_type type;
	int accum;
	double clip_norm;
	enum rt_compress compress;
	int rank; /* rank of PowerSGD */
} modes[] = {
	{ "losses", RT_CHECK_F32, 1, 0 },
	{ "losses, clipped", RT_CHECK_F32, ACCUM, 0.5 },
	{ "losses, clipped", RT_CHECK_BF16, ACCUM, 0.5 },
	{ "losses, clipped", RT_CHECK_F16, ACCUM, 0.5 },
	{ "losses, fp16", RT_CHECK_F32, 1, 0, RT_COMPRESS_FP16 },
	{ "losses, fp16, clipped", RT_CHECK_F32, ACCUM, 0.5, RT_COMPRESS_FP16 },
	{ "losses, bf16", RT_CHECK_F32, 1, 0, RT_COMPRESS_BF16 },
	{ "losses, bf16, clipped", RT_CHECK_F32, ACCUM, 0.5, RT_COMPRESS_BF16 },
	{ "losses, int8", RT_CHECK_F32, 1, 0, RT_COMPRESS_INT8 },
	{ "losses, int8, clipped", RT_CHECK_F32, ACCUM, 0.5, RT_COMPRESS_INT8 },
	{ "losses, 1 bit", RT_CHECK_F32, 1, 0, RT_COMPRESS_ONEBIT },
	{ "losses, 1 bit, clipped", RT_CHECK_F32, ACCUM, 0.5, RT_COMPRESS_ONEBIT },
	{ "losses, PowerSGD", RT_CHECK_F32, 1, 0, RT_COMPRESS_POWERSGD, 1 },
	{ "losses, PowerSGD 11, clipped", RT_CHECK_F32, ACCUM, 0.5, RT_COMPRESS_POWERSGD, 11 },
	{ "losses, PowerSGD, bf16", RT_CHECK_BF16, 1, 0, RT_COMPRESS_POWERSGD, 2 },
};

struct job {
	uint64_t seed;
	enum rt_device device;
	const struct mode *mode;
};

static void fill(int32_t *ids, int first, int rows, uint64_t seed, uint64_t stream)
{
	for (int i = 0; i < rows * LEN; i++)
		ids[i] = (int32_t)(rt_random_u64(seed, stream, (uint64_t)(first * LEN + i)) % VOCAB);
}

/* loss (STEPS): loss of each call */
static int train(struct rt_comm *c, const struct job *job, enum rt_device device, int first, int rows, float *loss,
		 struct gt_err *err)
{
	gt_auto(rt_graph) *g = rt_graph_new();
	gt_auto(rt_program) *p = NULL;
	gt_autofree int32_t *ids = gt_xcalloc(MOST, sizeof(*ids)), *targets = gt_xcalloc(MOST, sizeof(*targets));
	const struct rt_options o = { .device = device, .seed = job->seed, .accum = job->mode->accum,
				      .clip_norm = job->mode->clip_norm,
				      .precision.amp = device != RT_CUDA		       ? RT_F32 :
					     job->mode->type == RT_CHECK_BF16 ? RT_BF16 :
					     job->mode->type == RT_CHECK_F16  ? RT_F16 :
									       RT_F32,
				      .precision.scaler.init = 256, /* an update must not be skipped on one side only */
				      .optimizer = { .kind = RT_SGD, .lr = 0.1, .momentum = 0.9 },
				      .ranks = { .comm = c, .first_bucket_bytes = 1 << 10, .bucket_bytes = 16 << 10,
					       .compress = c ? job->mode->compress : RT_COMPRESS_NONE,
					       .powersgd_rank = job->mode->rank,
					       .compress_after = job->mode->compress == RT_COMPRESS_ONEBIT ? PLAIN : 0 } };
	/* the padding between compressed gradients is compressed with them */
	struct rt_node *node = rt_model_gpt(g, &(struct rt_gpt_config){ .batch = rows, .seq = LEN, .layers = 2,
									.width = job->mode->compress ? 45 : 48, .heads = 3,
									.vocab = VOCAB });
	int r = rt_compile(g, node, &o, &p, err);

	for (int i = 0; !r && i < STEPS; i++) {
		struct rt_metrics m = { 0 };

		fill(ids, first, rows, job->seed, 2 * (uint64_t)i);
		fill(targets, first, rows, job->seed, 2 * (uint64_t)i + 1);
		r = rt_step(p, (const void *const[]){ ids, targets }, &m, err);
		loss[i] = m.updated ? (float)m.update_loss : 0; /* ranks on CPUs report the mean over all ranks only in updates */
	}
	return r ? r : rt_wait(p, err);
}

static int one_rank(struct rt_comm *c, void *arg, struct gt_err *err)
{
	float loss[STEPS];
	char text[STEPS * 24] = "";
	const struct job *job = arg;
	int r = train(c, job, job->device, ROWS * rt_comm_rank(c), ROWS, loss, err);

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
	float got[GT_ARRAY_SIZE(modes)][STEPS], want[GT_ARRAY_SIZE(modes)][STEPS];
	struct job job = { .seed = seed };
	/* all forks must precede the first OpenMP team of this process */
	int failed = rt_check_residual(ranks, seed, rows, err), r = GT_MIN(failed, 0);

	for (size_t i = 0; !r && i < 2 * GT_ARRAY_SIZE(modes); i++) {
		job.mode = &modes[i / 2];
		job.device = i % 2 ? RT_CPU : RT_CUDA;
		if (job.device == RT_CUDA || job.mode->compress)
			r = train_ranks(&job, ranks, job.device == RT_CUDA ? got[i / 2] : want[i / 2], err);
	}
	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(modes); i++) {
		job.mode = &modes[i];
		if (!modes[i].compress)
			r = train(NULL, &job, RT_CPU, 0, ROWS * ranks, want[i], err);
		if (!r)
			failed += !rt_check_compare(modes[i].type, "ranks", false, modes[i].losses, want[i], got[i], STEPS, rows);
	}
	return r ? r : failed;
}
