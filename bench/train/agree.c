/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the ranks of a run, which must be equal. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/train/agree.h"
#include "lib/cli.h"

#define LETTERS	6 /* of one gathered number: a double has 53 bits */
#define WORD	(3 * LETTERS)

struct number {
	const char *option;
	double value;
};
struct word {
	const char *option, *value;
};

static int fail_different(const char *option, const char *first, int rank, const char *other, struct gt_err *err)
{
	return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "rank 0 has %s %s and rank %d has %s %s: all ranks need the same options",
			    option, first, rank, option, other);
}

static int check_number(struct rt_comm *c, const struct number *n, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, n->value, of, err);

	for (int i = 1; !r && i < rt_comm_size(c); i++)
		if (fabs(of[i] - of[0]) > 0) {
			gt_autofree char *first = gt_xasprintf("%.10g", of[0]), *other = gt_xasprintf("%.10g", of[i]);

			r = fail_different(n->option, first, i, other, err);
		}
	return r;
}

static double encode(const char *word, size_t at)
{
	size_t len = strlen(word);
	uint64_t bits = 0;

	for (size_t i = at; i < at + LETTERS; i++)
		bits = bits << 8 | (i < len ? (unsigned char)word[i] : 0);
	return (double)bits;
}

static void decode(double x, char *to)
{
	uint64_t bits = (uint64_t)x;

	for (int i = LETTERS - 1; i >= 0; i--, bits >>= 8)
		to[i] = (char)(bits & 255);
}

/* Compares the first WORD characters. */
static int check_word(struct rt_comm *c, const struct word *w, struct gt_err *err)
{
	char of[RT_MAX_RANKS][WORD + 1] = { { 0 } };

	for (size_t at = 0; at < WORD; at += LETTERS) {
		double part[RT_MAX_RANKS];
		int r = rt_comm_gather(c, encode(w->value, at), part, err);

		if (r)
			return r;
		for (int i = 0; i < rt_comm_size(c); i++)
			decode(part[i], of[i] + at);
	}
	for (int i = 1; i < rt_comm_size(c); i++)
		if (!gt_streq(of[i], of[0]))
			return fail_different(w->option, of[0], i, of[i], err);
	return 0;
}

static const char *or_default(const char *given, const char *dflt)
{
	return given ? given : dflt;
}

static int check_words(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err)
{
	const struct word all[] = {
		{ "model", o->model }, { "--optimizer", o->optimizer }, { "--amp", or_default(o->amp, "fp32") },
		{ "--shard", or_default(o->shard, "auto") }, { "--overlap", or_default(o->overlap, "auto") },
		{ "--compress", or_default(o->compress, "none") }, { "--reduce", or_default(o->reduce, "all-reduce") },
		{ "--schedule", or_default(o->schedule, "1f1b") }, { "--prune", or_default(o->prune, "none") },
		{ "--documents", or_default(o->documents, "none") },
	};
	int r = 0;

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(all); i++)
		r = check_word(c, &all[i], err);
	return r;
}

int bn_train_agree(struct rt_comm *c, const struct bn_train_options *o, struct gt_err *err)
{
	const struct number all[] = {
		{ "--tp", (double)o->tp }, { "--sp", o->sp }, { "--pp", (double)o->pp },
		{ "--microbatches", (double)o->microbatches }, { "--batch", (double)o->batch }, { "--accum", (double)o->accum },
		{ "--steps", (double)o->steps }, { "--warmup", (double)o->warmup }, { "--seq", (double)o->seq },
		{ "--layers", (double)o->layers }, { "--width", (double)o->width }, { "--heads", (double)o->heads },
		{ "--vocab", (double)o->vocab }, { "--size", (double)o->size }, { "--patch", (double)o->patch },
		{ "--seed", (double)o->seed }, { "--lr", o->lr }, { "--clip", o->clip_norm }, { "--balance", o->balance },
		{ "--compress-after", (double)o->compress_after }, { "--powersgd-rank", (double)o->powersgd_rank },
	};
	int r = check_words(c, o, err);

	for (size_t i = 0; !r && i < GT_ARRAY_SIZE(all); i++)
		r = check_number(c, &all[i], err);
	return r;
}
