/* SPDX-License-Identifier: Apache-2.0 */
/* Options and measurements of the stages of a pipeline. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "bench/train/stages.h"
#include "lib/cli.h"

/* ---- options ---- */

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

/* ---- measurements ---- */

static const char *const keys[] = { "stage", "in_flight", "window_bytes", "work_share", "span_s", "waited_s", "sent_bytes",
				    "updates" };

static int gather(struct rt_comm *c, double value, const char *key, json_t *ranks, double *ret_sum, struct gt_err *err)
{
	double of[RT_MAX_RANKS];
	int r = rt_comm_gather(c, value, of, err);

	if (r)
		return r;
	*ret_sum = 0;
	for (int i = 0; i < rt_comm_size(c); i++) {
		bool whole = of[i] >= 0 && of[i] < 1e15 && !(fabs(of[i] - floor(of[i])) > 0);

		json_object_set_new(json_array_get(ranks, (size_t)i), key,
				    whole ? json_integer((json_int_t)of[i]) : gt_json_real(of[i]));
		*ret_sum += of[i];
	}
	return 0;
}

/*
 * Returns the bubble that follows from counted work: a batch passes all stages once, and the longest stage then finishes
 * one microbatch after the other.
 */
static double planned_bubble(const json_t *ranks, double stages, double microbatches)
{
	double sum = 0, most = 0;
	json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank) {
		double work = json_number_value(json_object_get(rank, "work_share"));

		most = fmax(most, work);
		sum += work;
	}
	sum /= (double)json_array_size(ranks) / stages; /* mean time of one pipeline */
	return 1 - microbatches * (sum / stages) / (sum + (microbatches - 1) * most);
}

int bn_train_measure_stages(struct bn_training *r, struct gt_err *err)
{
	gt_auto_json *report = rt_program_report(r->program), *ranks = json_array();
	const json_t *own = json_object_get(report, "pipeline");
	double span = 0, waited = 0, updates = 0, sum, n = (double)r->o.pp, m = (double)r->o.microbatches;
	int status;

	if (!own)
		return 0;
	for (int i = 0; i < rt_comm_size(r->comm); i++)
		json_array_append_new(ranks, json_object());
	for (size_t i = 0; i < GT_ARRAY_SIZE(keys); i++) {
		status = gather(r->comm, gt_json_get_real(own, keys[i], NAN), keys[i], ranks, &sum, err);
		if (status)
			return status;
		span = gt_streq(keys[i], "span_s") ? sum : span;
		waited = gt_streq(keys[i], "waited_s") ? sum : waited;
		updates = gt_streq(keys[i], "updates") ? sum : updates;
	}
	status = gather(r->comm, (double)rt_program_planned_bytes(r->program), "planned_bytes", ranks, &sum, err);
	if (status)
		return status;
	status = gather(r->comm, (double)r->rss_bytes, "max_rss_bytes", ranks, &sum, err);
	if (status)
		return status;
	r->stages = json_pack("{s:I, s:s, s:I, s:o, s:o, s:o, s:O}", "stages", (json_int_t)r->o.pp, "schedule",
			      gt_streq(r->o.schedule, "gpipe") ? "gpipe" : "1f1b", "microbatches", (json_int_t)r->o.microbatches,
			      "bubble", gt_json_real(updates > 0 ? waited / span : NAN), "bubble_equal_stages",
			      gt_json_real((n - 1) / (m + n - 1)), "bubble_counted_work", gt_json_real(planned_bubble(ranks, n, m)),
			      "ranks", ranks);
	return 0;
}
