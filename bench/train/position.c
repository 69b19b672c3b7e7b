/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The position of a run in its data, stored in its checkpoints. It has the number of samples that all ranks together have read,
 * the number of all samples, and the seed of the shuffle. A resumed run continues with the next sample, even with other ranks,
 * batches or accumulation. Batches of documents have a random order, so a resumed run must divide documents into the same
 * batches.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "bench/train/run.h"
#include "lib/buf.h"

#define CONSUMED_MAX	(INT64_C(1) << 60)

/* Describes the batches of documents over all ranks: "64x16x301 128x8x77"; "" without documents. The caller frees it. */
static char *batch_shapes(const struct bn_training *r)
{
	const struct rt_length *k;
	int n = bn_train_data_shapes(&r->data, &k);
	gt_auto_buf b = { 0 };

	for (int i = 0; i < n; i++)
		gt_buf_printf(&b, "%s%" PRId64 "x%" PRIu64 "x%" PRIu64, i ? " " : "", k[i].width,
			      (uint64_t)k[i].rows * r->data_ranks, k[i].batches);
	return b.s ? gt_take(b.s) : gt_xstrdup("");
}

/* Converts updates to the unit of the position: samples, or batches of documents. */
static uint64_t position_units(const struct bn_training *r, uint64_t updates)
{
	return updates * r->o.accum * (r->o.documents ? 1 : r->all_rows);
}

void bn_train_note_position(const struct bn_training *r, uint64_t done)
{
	gt_auto_json *note = NULL;
	gt_autofree char *text = NULL, *cut = NULL;

	if (!r->data.train)
		return;
	cut = batch_shapes(r);
	note = json_pack("{s:{s:I, s:I, s:I, s:s}}", "data", "had", (json_int_t)(r->consumed + position_units(r, done)), "of",
			 (json_int_t)rt_loader_samples(r->data.train), "seed", (json_int_t)r->o.seed, "cut", cut);
	text = json_dumps(note, JSON_COMPACT);
	rt_set_note(r->program, text);
}

static int open_at(struct bn_training *r, uint64_t consumed, struct gt_err *err)
{
	bn_train_data_close(&r->data);
	r->consumed = consumed;
	return bn_train_data_open(&r->data, r->model, &r->o, r->rows, r->all_rows, r->first_row, consumed, err);
}

static int start_again(struct bn_training *r, int64_t then, uint64_t now, struct gt_err *err)
{
	snprintf(r->resumed, sizeof(r->resumed),
		 "the checkpoint was trained on %" PRId64 " samples, but these data have %" PRIu64 " or other batches: "
		 "this run starts with the first sample", then, now);
	return r->consumed ? open_at(r, 0, err) : 0;
}

/* Checks that the checkpoint's data are the data of this run. Other data start with the first sample. A position that
 * does not exist in this run's order is an error. */
static int check_data(struct bn_training *r, const json_t *saved, struct gt_err *err)
{
	gt_autofree char *cut = batch_shapes(r);
	const char *then = gt_json_get_str(saved, "cut", "");
	int64_t of = gt_json_get_int(saved, "of", 0), seed = gt_json_get_int(saved, "seed", 0);
	uint64_t now = rt_loader_samples(r->data.train);

	if (of != (int64_t)now || !*then != !*cut)
		return start_again(r, of, now, err);
	if (seed != (int64_t)r->o.seed)
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s read its samples in the order of --seed %" PRId64
				    ": with another seed this run would read some samples twice and skip others",
				    r->o.resume, seed);
	if (!gt_streq(then, cut))
		return gt_fail_exit(err, GT_EXIT_USAGE, EINVAL, "%s read documents in other batches: continue with the same "
				    "--batch, --ranks, --buckets and --token-budget", r->o.resume);
	return 0;
}

/* Reads the checkpoint's position. *ret_had: samples, or batches of documents, before this run. */
static int read_position(struct bn_training *r, json_t **ret, uint64_t *ret_consumed, struct gt_err *err)
{
	const char *text = rt_note(r->program);
	gt_auto_json *note = NULL;
	const json_t *data = NULL;
	int64_t consumed;

	if (text && gt_json_parse(text, strlen(text), r->o.resume, &note, NULL) == 0)
		data = json_object_get(note, "data");
	if (!json_is_object(data)) {
		*ret_consumed = position_units(r, r->ticket);
		if (r->ticket)
			snprintf(r->resumed, sizeof(r->resumed),
				 "the checkpoint does not contain its position in the data: this run assumes batches "
				 "like its own");
		return 0;
	}
	consumed = gt_json_get_int(data, "had", -1);
	if (consumed < 0 || consumed > CONSUMED_MAX)
		return gt_fail_exit(err, GT_EXIT_USAGE, EBADMSG, "%s has an impossible position of %" PRId64 " samples",
				    r->o.resume, consumed);
	*ret_consumed = (uint64_t)consumed;
	*ret = json_incref((json_t *)data);
	return 0;
}

int bn_train_open_data(struct bn_training *r, bool compiled, struct gt_err *err)
{
	gt_auto_json *saved = NULL;
	uint64_t consumed = 0;
	int status;

	if (!bn_train_data_wanted(r->model, &r->o) || (!compiled && !r->o.documents))
		return 0;
	status = compiled && r->o.resume ? read_position(r, &saved, &consumed, err) : 0;
	if (status)
		return status;
	status = consumed || !r->data.train ? open_at(r, consumed, err) : 0;
	if (status)
		return status;
	return saved ? check_data(r, saved, err) : 0;
}
